package pbt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplayMatchesPopulation(t *testing.T) {
	c := newColony(6)
	c.opt.Diversify = true
	p := mustTrain(t, c.opt)
	standings, err := Replay(p.Journal())
	if err != nil {
		t.Fatal(err)
	}
	copies := make(map[int]int64)
	for _, e := range kinds(p.Journal(), EventReplace) {
		copies[e.Member]++
	}
	for i, row := range p.Table().Rows {
		st := standings[i]
		if st.Member != i || st.Steps != row.Steps || st.Parent != row.Parent || st.Copies != copies[i] || st.Objective != row.Objective || !st.HasObjective || !same(st.Hyperparameters, row.Hyperparameters) || !st.Final || st.Failed {
			t.Errorf("the journal replays to %+v, and the member is %+v", st, row)
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	run := Event{Kind: EventPopulation, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 2}}
	start := func(id int) Event { return Event{Kind: EventStart, Member: id, Parent: -1} }
	at := func(kind EventKind, member, parent int, iteration int64) Event {
		return Event{Kind: kind, Member: member, Parent: parent, Iteration: iteration, Steps: 10 * iteration}
	}
	for want, events := range map[string][]Event{
		"begins with the event":      {start(0)},
		"is of a population of 0":    {{Kind: EventPopulation, Run: &RunInfo{}}},
		"described twice":            {run, run},
		"starts twice":               {run, start(0), start(0)},
		"never started":              {run, at(EventKeep, 0, -1, 1)},
		"decided twice":              {run, start(0), at(EventKeep, 0, -1, 1), at(EventSelfMutate, 0, -1, 1)},
		"at iteration 2 with 20":     {run, start(0), at(EventKeep, 0, -1, 2), at(EventKeep, 0, -1, 1)},
		"replaced by itself":         {run, start(0), at(EventReplace, 0, 0, 1)},
		"member 1 is copied":         {run, start(0), at(EventReplace, 0, 1, 1)},
		"do not belong":              {run, start(2)},
		"trained to the end":         {run, start(0), at(EventFinal, 0, -1, 1), at(EventKeep, 0, -1, 2)},
		"event 3 (keep, iteration 1": {run, start(0), at(EventKeep, 1, -1, 1)},
	} {
		if _, err := Replay(events); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	failed := []Event{run, start(0), start(1), at(EventFailed, 0, -1, 1), at(EventApplyFailed, 0, 1, 1), at(EventApplyFailed, 0, 1, 1)}
	if st, err := Replay(failed); err != nil || !st[0].Failed || st[0].Copies != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := Replay(append(failed, at(EventReplace, 0, 1, 1))); err != nil || st[0].Failed || st[0].Copies != 1 || st[0].Parent != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestMergeJournals(t *testing.T) {
	want := mustTrain(t, newColony(3).opt).Journal()
	journals := make([][]Event, 3)
	for i := range journals {
		journals[i] = []Event{want[0]}
		for _, e := range want[1:] {
			if e.Member == i {
				journals[i] = append(journals[i], e)
			}
		}
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		got, err := MergeJournals(journals[order[0]], nil, journals[order[1]], journals[order[2]])
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
	if _, err := MergeJournals(journals[0], other); err == nil || !strings.Contains(err.Error(), "another population") {
		t.Errorf("the error is %v", err)
	}
	if _, err := MergeJournals(journals[0][1:]); err == nil || !strings.Contains(err.Error(), "give whole journals") {
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
			if err := os.WriteFile(filepath.Join(dir, name, JournalFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := ReadWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the workspace's journal differs: %s", d)
	}
	if _, err := ReadWorkspace(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no policy has a journal") {
		t.Errorf("the error is %v", err)
	}
}
