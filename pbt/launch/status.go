package launch

// This file makes the table of a population: for Run, and from the folder alone for gorl-pbt status, whatever started
// the members.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

// DefaultSilence is the time without a heartbeat after which Status reports a member as silent. It is some ten default
// heartbeats, so that one slow write does not count as a failure.
const DefaultSilence = time.Minute

// Status returns the state of a population's members from its folder alone, on any machine that sees the folder. A
// member that trains or waits is silent if its last heartbeat is older than silence. Status writes nothing. A folder
// without a population is an error.
func Status(dir string, silence time.Duration) ([]Row, error) {
	store, err := openStatus(dir)
	if err != nil {
		return nil, err
	}
	return status(store.View, silence)
}

// Follow returns a function that returns the rows of Status again and again, for programs that look often: it reads
// heartbeats alone, and only those that have changed. Several goroutines may call it.
func Follow(dir string, silence time.Duration) func() ([]Row, error) {
	var mu sync.Mutex
	var store *workspace.Folder
	return func() ([]Row, error) {
		mu.Lock()
		defer mu.Unlock()
		n, err := countMembers(dir)
		if err == nil && (store == nil || store.Members() != n) { // members may have come
			store, err = openStatus(dir)
		}
		if err != nil {
			return nil, err
		}
		return status(store.Heartbeats, silence)
	}
}

// openStatus opens a population's folder for reading.
func openStatus(dir string) (*workspace.Folder, error) {
	n, err := countMembers(dir)
	if err != nil {
		return nil, err
	}
	store, err := workspace.OpenFolder(dir, n, workspace.FolderOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return store, nil
}

// countMembers returns the number of members in a population's folder, from its file or from the folders 000, 001, ...
func countMembers(dir string) (int, error) {
	f, err := ReadFile(filepath.Join(dir, ConfigFile))
	if err == nil {
		return f.Launcher.NumPolicies, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	// Without the file the members were started one by one.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("launch: %w", err)
	}
	n := 0
	for _, e := range entries {
		if i, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && e.Name() == fmt.Sprintf("%03d", i) && i >= 0 &&
			i < maxMembers {
			n = max(n, i+1)
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("launch: %s holds neither %s nor folders of members (000, 001, …); give a "+
			"population's folder", dir, ConfigFile)
	}
	return n, nil
}

// status returns a row for every member of what look sees.
func status(look func() (workspace.View, error), silence time.Duration) ([]Row, error) {
	view, err := look()
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	rows := make([]Row, len(view.Members))
	for i, p := range view.Members {
		rows[i] = statusRow(p, view.Now.Sub(p.Seen), silence)
	}
	return rows, nil
}

// statusRow returns the row of a member whose heartbeat was written age ago. The note names damaged files, because the
// member ignores them.
func statusRow(p workspace.MemberView, age, silence time.Duration) Row {
	row := Row{Member: p.Member, Phase: "not started", Beat: p.Heartbeat}
	var notes []string
	if b := p.Heartbeat; b != nil {
		row.Phase = string(b.Phase)
		// A finished or stopped member writes no heartbeats.
		if age > silence && (b.Phase == workspace.Training || b.Phase == workspace.Waiting) {
			row.Phase = "silent"
			notes = append(notes, fmt.Sprintf("%s when last seen %v ago", b.Phase, age.Round(time.Second)))
		}
		if b.Note != "" {
			notes = append(notes, b.Note)
		}
	}
	for _, err := range p.Damaged {
		notes = append(notes, err.Error())
	}
	row.Note = strings.Join(notes, "; ")
	return row
}

// Row is one member in the table of a population.
type Row struct {
	// Member is the member's number, from 0.
	Member int
	// Phase is what the member does, in a word or two.
	Phase string
	// Beat is the last heartbeat; nil if there was none.
	Beat *workspace.Heartbeat
	// Restarts is the number of restarts after failures, and GPU the names of the member's GPUs. Only a launcher knows
	// them.
	Restarts int
	GPU      string
	// Note is a remark for users.
	Note string
}

// WriteTable writes rows as a table. launched adds the columns that only a launcher knows.
func WriteTable(w io.Writer, rows []Row, launched bool) error {
	header := []string{"member", "phase", "iteration", "environment steps", "objective", "parent"}
	if launched {
		header = append(header, "restarts", "gpu")
	}
	header = append(header, "note")
	var cells [][]string
	for _, r := range rows {
		line := []string{fmt.Sprint(r.Member), r.Phase, "-", "-", "-", "-"}
		if b := r.Beat; b != nil {
			line[2], line[3] = fmt.Sprint(b.Iteration), fmt.Sprint(b.Steps)
			if b.HasObjective {
				line[4] = fmt.Sprintf("%.6g", b.Objective)
			}
			if b.Parent >= 0 {
				line[5] = fmt.Sprint(b.Parent)
			}
		}
		if launched {
			line = append(line, fmt.Sprint(r.Restarts), cmp.Or(r.GPU, "-"))
		}
		cells = append(cells, append(line, r.Note))
	}
	return tracking.Table(w, header, cells)
}

// look reads the heartbeats and records the progress of the members. A heartbeat that cannot be read keeps its old
// value, because shared file systems fail occasionally and an old heartbeat only delays the table.
func (r *runner) look() {
	view, err := r.store.Heartbeats()
	if err != nil {
		return
	}
	for _, p := range view.Members {
		if b := p.Heartbeat; b != nil {
			r.members[p.Member].beat, r.members[p.Member].seen = b, p.Seen
			r.turns.beat(p.Member, progress{b.Steps, b.Iteration})
		}
	}
}

// rows returns the members as the launcher sees them. A running member without a heartbeat since its start is starting.
func (r *runner) rows() []Row {
	rows := make([]Row, len(r.members))
	for i := range rows {
		seat, last := &r.turns.seats[i], &r.members[i]
		// A waiting member shows its last heartbeat, because it continues there.
		row := Row{Member: i, Phase: string(seat.state), Beat: last.beat, Restarts: seat.restarts, Note: seat.note}
		switch seat.state {
		case ready:
			row.Phase = "waiting"
		case running:
			row.Phase = "starting"
			if last.beat != nil && last.seen.After(last.before) {
				row.Phase, row.Note = string(last.beat.Phase), last.beat.Note
			}
			row.GPU = r.gpus(seat.gpus)
		}
		rows[i] = row
	}
	return rows
}
