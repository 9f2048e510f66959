package journal

import (
	"strings"
	"testing"
)

func TestReplayRefuses(t *testing.T) {
	run := Event{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 2}}
	start := func(id int) Event { return Event{Kind: Start, Member: id, Parent: -1} }
	at := func(kind Kind, member, parent int, iteration int64) Event {
		return Event{Kind: kind, Member: member, Parent: parent, Iteration: iteration, Steps: 10 * iteration}
	}
	for want, events := range map[string][]Event{
		"begins with the event":      {start(0)},
		"is of a population of 0":    {{Kind: Population, Run: &RunInfo{}}},
		"described twice":            {run, run},
		"starts twice":               {run, start(0), start(0)},
		"never started":              {run, at(Keep, 0, -1, 1)},
		"decided twice":              {run, start(0), at(Keep, 0, -1, 1), at(SelfMutate, 0, -1, 1)},
		"at iteration 2 with 20":     {run, start(0), at(Keep, 0, -1, 2), at(Keep, 0, -1, 1)},
		"replaced by itself":         {run, start(0), at(Replace, 0, 0, 1)},
		"member 1 is copied":         {run, start(0), at(Replace, 0, 1, 1)},
		"do not belong":              {run, start(2)},
		"trained to the end":         {run, start(0), at(Final, 0, -1, 1), at(Keep, 0, -1, 2)},
		"event 3 (keep, iteration 1": {run, start(0), at(Keep, 1, -1, 1)},
	} {
		if _, err := Replay(events); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	failed := []Event{run, start(0), start(1), at(Failed, 0, -1, 1), at(ApplyFailed, 0, 1, 1), at(ApplyFailed, 0, 1, 1)}
	if st, err := Replay(failed); err != nil || !st[0].Failed || st[0].Copies != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := Replay(append(failed, at(Replace, 0, 1, 1))); err != nil || st[0].Failed || st[0].Copies != 1 || st[0].Parent != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}
