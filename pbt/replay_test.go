package pbt

import (
	"strings"
	"testing"
)

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
