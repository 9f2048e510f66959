package journalcheck

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestReplayRefuses(t *testing.T) {
	run := journal.Event{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2}}
	start := func(id int) journal.Event { return journal.Event{Kind: journal.Start, Member: id, Parent: -1} }
	at := func(kind journal.Kind, member, parent int, iteration int64) journal.Event {
		return journal.Event{Kind: kind, Member: member, Parent: parent, Iteration: iteration, Steps: 10 * iteration}
	}
	for want, events := range map[string][]journal.Event{
		"begins with the event": {start(0)},
		"never started":         {run, at(journal.Keep, 0, -1, 1)},
		"decided twice":         {run, start(0), at(journal.Keep, 0, -1, 1), at(journal.SelfMutate, 0, -1, 1)},
		"replaced by itself":    {run, start(0), at(journal.Replace, 0, 0, 1)},
		"member 1 is copied":    {run, start(0), at(journal.Replace, 0, 1, 1)},
		"trained to the end":    {run, start(0), at(journal.Final, 0, -1, 1), at(journal.Keep, 0, -1, 2)},
	} {
		must.Refused(Replay(events))(t, want)
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
