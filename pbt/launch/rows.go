package launch

import (
	"io"
	"strconv"

	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

// Row is one policy in the table of a population.
type Row struct {
	Policy int
	// Phase says what the policy does, in a word or two.
	Phase string
	// Beat is its last sign of life; nil where there was none.
	Beat *workspace.Heartbeat
	// Restarts is the number of times it was restarted after a failure, GPU the one it runs on; -1 for none. Both are
	// known to its launcher only.
	Restarts int
	GPU      string
	// Note is for people.
	Note string
}

// WriteTable writes rows as a table. Without launched it leaves out what only a launcher knows.
func WriteTable(w io.Writer, rows []Row, launched bool) error {
	header := []string{"policy", "phase", "iteration", "frame", "objective", "parent"}
	if launched {
		header = append(header, "restarts", "gpu")
	}
	header = append(header, "note")
	var cells [][]string
	for _, r := range rows {
		line := []string{strconv.Itoa(r.Policy), r.Phase, "-", "-", "-", "-"}
		if b := r.Beat; b != nil {
			line[2], line[3] = strconv.FormatInt(b.Iteration, 10), strconv.FormatInt(b.Steps, 10)
			if b.HasObjective {
				line[4] = strconv.FormatFloat(b.Objective, 'g', 6, 64)
			}
			if b.Parent >= 0 {
				line[5] = strconv.Itoa(b.Parent)
			}
		}
		if launched {
			gpu := r.GPU
			if gpu == "" {
				gpu = "-"
			}
			line = append(line, strconv.Itoa(r.Restarts), gpu)
		}
		cells = append(cells, append(line, r.Note))
	}
	return tracking.Table(w, header, cells)
}

// rows are the members as the launcher knows them.
func (r *runner) rows() []Row {
	rows := make([]Row, len(r.members))
	for i := range rows {
		seat, last := &r.schedule.seats[i], r.beats[i]
		row := Row{Policy: i, Phase: string(seat.state), Restarts: seat.restarts, Note: seat.note}
		row.Beat = last.beat
		switch seat.state {
		case ready:
			row.Phase = "waiting"
		case running:
			row.Phase = "starting"
			if last.beat != nil && last.seen.After(r.members[i].before) {
				row.Phase, row.Note = string(last.beat.Phase), last.beat.Note
			}
			if seat.gpu >= 0 {
				row.GPU = r.visible[seat.gpu]
			}
		}
		rows[i] = row
	}
	return rows
}
