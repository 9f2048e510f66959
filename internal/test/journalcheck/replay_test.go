package journalcheck

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestReplayRefuses(t *testing.T) {
	run := journal.Event{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2}}
	start := func(id int) journal.Event { return journal.Event{Kind: journal.Start, Member: id, Parent: -1} }
	at := func(kind journal.Kind, member, parent int, iteration int64) journal.Event {
		return journal.Event{Kind: kind, Member: member, Parent: parent, Iteration: iteration, Steps: 10 * iteration}
	}
	for want, events := range map[string][]journal.Event{
		"begins with the event":      {start(0)},
		"is of a population of 0":    {{Kind: journal.Population, Run: &journal.RunInfo{}}},
		"described twice":            {run, run},
		"starts twice":               {run, start(0), start(0)},
		"never started":              {run, at(journal.Keep, 0, -1, 1)},
		"decided twice":              {run, start(0), at(journal.Keep, 0, -1, 1), at(journal.SelfMutate, 0, -1, 1)},
		"at iteration 2 with 20":     {run, start(0), at(journal.Keep, 0, -1, 2), at(journal.Keep, 0, -1, 1)},
		"replaced by itself":         {run, start(0), at(journal.Replace, 0, 0, 1)},
		"member 1 is copied":         {run, start(0), at(journal.Replace, 0, 1, 1)},
		"do not belong":              {run, start(2)},
		"trained to the end":         {run, start(0), at(journal.Final, 0, -1, 1), at(journal.Keep, 0, -1, 2)},
		"event 3 (keep, iteration 1": {run, start(0), at(journal.Keep, 1, -1, 1)},
	} {
		if _, err := Replay(events); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	failed := []journal.Event{run, start(0), start(1), at(journal.Failed, 0, -1, 1), at(journal.ApplyFailed, 0, 1, 1),
		at(journal.ApplyFailed, 0, 1, 1)}
	if st, err := Replay(failed); err != nil || !st[0].Failed || st[0].Copies != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := Replay(append(failed, at(journal.Replace, 0, 1, 1))); err != nil || st[0].Failed ||
		st[0].Copies != 1 || st[0].Parent != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}
