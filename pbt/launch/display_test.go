package launch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

func exampleRows() []Row {
	return []Row{
		{Member: 0, Phase: "training", Beat: &workspace.Heartbeat{Iteration: 3, Steps: 1200, Objective: -7.25, HasObjective: true, Parent: 2}, GPU: "1", Note: "leader"},
		{Member: 1, Phase: "waiting", Restarts: 2, Note: "exit status 1; restart 2 of 5 in 4s"},
		{Member: 2, Phase: "finished", Beat: &workspace.Heartbeat{Iteration: 9, Steps: 5000, Parent: -1}},
	}
}

const exampleTable = `member  phase     iteration  environment steps  objective  parent  restarts  gpu  note
──────  ────────  ─────────  ─────────────────  ─────────  ──────  ────────  ───  ───────────────────────────────────
     0  training          3               1200      -7.25       2         0    1  leader
     1  waiting           -                  -          -       -         2    -  exit status 1; restart 2 of 5 in 4s
     2  finished          9               5000          -       -         0    -
`

func TestPages(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	p := &pages{w: &out, launched: true, every: time.Minute, now: func() time.Time { return now }}
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
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScreenKeepsWithinTheTerminal(t *testing.T) {
	var out bytes.Buffer
	width, height := 40, 4
	s := &screen{w: &out, launched: true, size: func() (int, int, error) { return width, height, nil }}
	s.show(exampleRows())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[2], "… and 3 more") {
		t.Errorf("on %d lines it shows\n%s\nwant two lines of the table and how many are left", height, out.String())
	}
	for _, line := range lines {
		if n := len([]rune(strings.TrimPrefix(line, "\x1b[J"))); n >= width {
			t.Errorf("a line of %d columns on a terminal of %d: %q", n, width, line)
		}
	}
	out.Reset()
	width, height = 200, 50
	s.event("member 1: started")
	if got := out.String(); !strings.HasPrefix(got, "\x1b[3A\r\x1b[J") || !strings.Contains(got, " member 1: started\nmember  phase") {
		t.Errorf("an event draws %q, want the old table's three lines replaced by the event and the new table", got)
	}
	out.Reset()
	width, height = 20, 3
	s.end(exampleRows())
	if got := out.String(); got != "\x1b[5A\r\x1b[J"+exampleTable {
		t.Errorf("the end draws %q, want the whole table", got)
	}
}

func TestStatusOfAFolder(t *testing.T) {
	dir := t.TempDir()
	board, err := workspace.OpenFolder(dir, 3, workspace.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for member, phase := range []workspace.Phase{workspace.Training, workspace.Finished} {
		seat, err := board.Join(t.Context(), member)
		if err != nil {
			t.Fatal(err)
		}
		if err := seat.Beat(workspace.Heartbeat{Member: member, Phase: phase, Iteration: 2, Steps: 50, Parent: -1, Note: "leader"}); err != nil {
			t.Fatal(err)
		}
		if err := seat.Release(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := Status(dir, time.Hour)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows (%v), want those of the two folders", len(rows), err)
	}
	if rows[0].Phase != "training" || rows[1].Phase != "finished" || rows[0].Note != "leader" {
		t.Errorf("rows %+v", rows)
	}
	if _, err := Status(t.TempDir(), time.Hour); err == nil || !strings.Contains(err.Error(), "give a population's folder") {
		t.Errorf("error %v, want that it is no population's folder", err)
	}

	view, err := board.View()
	if err != nil {
		t.Fatal(err)
	}
	if row := statusRow(view.Members[0], 2*time.Minute, time.Minute); row.Phase != "silent" || row.Note != "training when last seen 2m0s ago; leader" {
		t.Errorf("after two minutes it is %q (%s), want silent", row.Phase, row.Note)
	}
	if row := statusRow(view.Members[1], 2*time.Minute, time.Minute); row.Phase != "finished" {
		t.Errorf("who has finished is %q", row.Phase)
	}
	if row := statusRow(view.Members[2], 0, time.Minute); row.Phase != "not started" {
		t.Errorf("who never started is %q", row.Phase)
	}

	f, _ := population(t, "", "train=1")
	if _, err := f.Install(); err != nil {
		t.Fatal(err)
	}
	if rows, err = Status(f.Dir(), time.Hour); err != nil || len(rows) != 3 {
		t.Errorf("%d rows (%v), want as many as the file has members", len(rows), err)
	}
}
