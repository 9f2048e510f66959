package launch

// This file is what Run knows of its members by their heartbeats, and the rows of the table that it shows.

import (
	"strings"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// beat is a member's last heartbeat and when it was written, by the folder's clock.
type beat struct {
	beat *workspace.Heartbeat
	seen time.Time
}

// heartbeats reads the last heartbeats of all members. One that cannot be read just now stays as it was: a shared file
// system fails now and then, and an old heartbeat only makes the table late.
func heartbeats(store workspace.Store, last []beat) {
	view, err := store.View()
	if err != nil {
		return
	}
	for _, p := range view.Members {
		if p.Heartbeat != nil {
			last[p.Member] = beat{p.Heartbeat, p.Seen}
		}
	}
}

// look reads the heartbeats, and tells the schedule how far each member has trained.
func (r *runner) look() {
	heartbeats(r.store, r.beats)
	for i, b := range r.beats {
		if b.beat != nil {
			r.schedule.beat(i, progress{b.beat.Steps, b.beat.Iteration})
		}
	}
}

// rows are the members as the launcher knows them. A running member whose last heartbeat is older than its process is
// still starting: the heartbeat is that of an earlier turn.
func (r *runner) rows() []Row {
	rows := make([]Row, len(r.members))
	for i := range rows {
		seat, last := &r.schedule.seats[i], r.beats[i]
		row := Row{Member: i, Phase: string(seat.state), Restarts: seat.restarts, Note: seat.note}
		// The figures are those of the last heartbeat even if the member waits: it is where it will continue.
		row.Beat = last.beat
		switch seat.state {
		case ready:
			row.Phase = "waiting"
		case running:
			row.Phase = "starting"
			if last.beat != nil && last.seen.After(r.members[i].before) {
				row.Phase, row.Note = string(last.beat.Phase), last.beat.Note
			}
			var names []string
			for _, gpu := range seat.gpus {
				names = append(names, r.visible[gpu])
			}
			row.GPU = strings.Join(names, ",")
		}
		rows[i] = row
	}
	return rows
}
