package launch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

func exampleRows() []Row {
	return []Row{
		{Member: 0, Phase: "training", Beat: &workspace.Heartbeat{Iteration: 3, Steps: 1200, Objective: -7.25,
			HasObjective: true, Parent: 2}, GPU: "1", Note: "leader"},
		{Member: 1, Phase: "waiting", Restarts: 2, Note: "leader"},
	}
}

const exampleTable = `member  phase     iteration  environment steps  objective  parent  restarts  gpu  note
──────  ────────  ─────────  ─────────────────  ─────────  ──────  ────────  ───  ──────
     0  training          3               1200      -7.25       2         0    1  leader
     1  waiting           -                  -          -       -         2    -  leader
`

func TestPages(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	p := &pages{w: &out, every: time.Minute, now: func() time.Time { return now }}
	rows := exampleRows()
	p.show(rows)
	p.event("member 0: started")
	if got := out.String(); got != "12:00:00 member 0: started\n" {
		t.Errorf("at first it shows\n%s\nwant the event alone", got)
	}
	for range 3 { // the table is shown once, as it does not change
		now = now.Add(61 * time.Second)
		p.show(rows)
	}
	rows[0].Note = "underperformer"
	p.show(rows) // too early
	p.end(exampleRows())
	want := "12:00:00 member 0: started\n\n" + exampleTable + "\n\n" + exampleTable + "\n"
	must.Equal(t, "the pages", want, out.String())
}

func TestStatusOfAFolder(t *testing.T) {
	f := population(t, "", "")
	must.Get(f.Install())(t)
	board := must.Get(workspace.OpenFolder(f.Dir(), 3, workspace.FolderOptions{}))(t)
	for member, phase := range []workspace.Phase{workspace.Training, workspace.Finished} {
		seat := must.Get(board.Join(t.Context(), member))(t)
		h := workspace.Heartbeat{Member: member, Phase: phase, Iteration: 2, Steps: 50, Parent: -1, Note: "leader"}
		must.Do(t, errors.Join(seat.Beat(h), seat.Release()))
	}
	check := func(silence time.Duration, want ...string) {
		t.Helper()
		var got []string
		for _, r := range must.Get(Status(f.Dir(), silence))(t) {
			got = append(got, r.Phase)
		}
		must.Equal(t, "the phases", want, got)
	}
	check(time.Hour, "training", "finished", "not started")
	check(time.Nanosecond, "silent", "finished", "not started")
	// Without the file the folders of members count.
	must.Do(t, os.Remove(filepath.Join(f.Dir(), ConfigFile)))
	check(time.Hour, "training", "finished")
	must.Refused(Status(t.TempDir(), time.Hour))(t, "give a population's folder")
}
