package pbt

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestHistory(t *testing.T) {
	c := newColony(4)
	c.faults.train = func(m *climber) error {
		if m.id == 3 && m == c.built[3] && m.steps == 60 {
			panic("oh")
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	h, err := journal.NewHistory(p.Journal())
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Members) != 4 || h.Run.Objective != "episode.return" || len(h.Members[3].Failures) != 1 {
		t.Errorf("the history is %+v", h)
	}
	copies := 0
	for id, track := range h.Members {
		if track.Steps != 500 || track.Iteration != 10 || len(track.Objective) < 9 {
			t.Errorf("member %d: %d steps, iteration %d, %d objectives", id, track.Steps, track.Iteration, len(track.Objective))
		}
		points := track.Hyperparameters["learning_rate"]
		if last := points[len(points)-1]; last.Value != p.Generation().Members[id].Hyperparameters["learning_rate"] {
			t.Errorf("member %d: the last learning rate is %v", id, last)
		}
		copies += len(track.Copies)
		ancestry, err := h.Ancestry(id)
		if err != nil {
			t.Fatal(err)
		}
		founder := id
		if n := len(track.Copies); n > 0 {
			founder = track.Copies[n-1].Founder
		}
		if ancestry[0].Member != founder {
			t.Errorf("member %d: founder %d, ancestry %+v", id, founder, ancestry)
		}
		for i := range ancestry[1:] {
			if ancestry[i].To != ancestry[i+1].From {
				t.Errorf("member %d: a gap in %+v", id, ancestry)
			}
		}
	}
	if want := len(kinds(p.Journal(), journal.Replace)); copies != want || want == 0 {
		t.Errorf("%d copies, want %d", copies, want)
	}
}

func TestTable(t *testing.T) {
	c := newColony(3)
	c.poison(499, 2)
	c.opt.TotalSteps = 500
	p := mustTrain(t, c.opt)
	table := p.Table()
	if d := cmp.Diff([]string{"discount_factor", "learning_rate"}, table.Keys); d != "" {
		t.Error(d)
	}
	table.Rows[0].Parent, table.Rows[1].Failed = 2, true
	table.Rows[0].Hyperparameters = nil
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"member parent environment steps episode.return discount_factor learning_rate", "", "0 2 500", "failed", "NaN"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q in it", i, got, want)
		}
	}
	c.opt.Explore, c.opt.Sample = explore.Mutation{}, nil
	if keys := mustNew(t, c.opt).Table().Keys; len(keys) != 2 {
		t.Errorf("without tuned hyperparameters the keys are %v", keys)
	}
}

func TestReplayMatchesPopulation(t *testing.T) {
	c := newColony(6)
	c.opt.Diversify = true
	p := mustTrain(t, c.opt)
	standings, err := journalcheck.Replay(p.Journal())
	if err != nil {
		t.Fatal(err)
	}
	copies := make(map[int]int64)
	for _, e := range kinds(p.Journal(), journal.Replace) {
		copies[e.Member]++
	}
	for i, row := range p.Table().Rows {
		st := standings[i]
		if st.Member != i || st.Steps != row.Steps || st.Parent != row.Parent || st.Copies != copies[i] || st.Objective != row.Objective || !st.HasObjective || !same(st.Hyperparameters, row.Hyperparameters) || !st.Final || st.Failed {
			t.Errorf("the journal replays to %+v, and the member is %+v", st, row)
		}
	}
}

func TestMergeJournals(t *testing.T) {
	want := mustTrain(t, newColony(3).opt).Journal()
	journals := make([][]journal.Event, 3)
	for i := range journals {
		journals[i] = []journal.Event{want[0]}
		for _, e := range want[1:] {
			if e.Member == i {
				journals[i] = append(journals[i], e)
			}
		}
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		got, err := journal.Merge(journals[order[0]], nil, journals[order[1]], journals[order[2]])
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the merged journal differs: %s", d)
		}
	}
	other := slices.Clone(journals[1])
	run := *other[0].Run
	run.Seed++
	other[0].Run = &run
	if _, err := journal.Merge(journals[0], other); err == nil || !strings.Contains(err.Error(), "another population") {
		t.Errorf("the error is %v", err)
	}
	if _, err := journal.Merge(journals[0][1:]); err == nil || !strings.Contains(err.Error(), "give whole journals") {
		t.Errorf("the error is %v", err)
	}

	dir := t.TempDir()
	for i, name := range []string{"000", "001", "002", "best", "1234"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			text := lines(t, journals[i])
			if i == 2 {
				text += `{"event":"keep","iter` // being written
			}
			if err := os.WriteFile(filepath.Join(dir, name, journal.File), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the workspace's journal differs: %s", d)
	}
	if _, err := journal.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no member has a journal") {
		t.Errorf("the error is %v", err)
	}
}
