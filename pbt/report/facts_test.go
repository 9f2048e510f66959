package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// The state is read from the last events, and the best from the objectives: a higher or a lower one.
func TestStateAndBest(t *testing.T) {
	h := recorded(t, "small")
	hopeless := append(h.Events[:len(h.Events):len(h.Events)], journal.Event{Kind: journal.Hopeless, Iteration: 8,
		Parent: -1})
	for _, c := range []struct {
		events     []journal.Event
		minimise   bool
		state      string
		best, ever int
	}{
		{h.Events, false, "finished", 0, 0},
		{h.Events[:len(h.Events)-4], false, "in progress, 7 intervals ended", 3, 3},
		{hopeless, false, "given up: no healthy member was left", 0, 0},
		{h.Events, true, "finished", 2, 3},
	} {
		run := h.Run
		run.Minimise = c.minimise
		f := factsOf(t, append([]journal.Event{{Kind: journal.Population, Run: &run}}, c.events...))
		p := f.page
		if p.State != c.state || p.Best.Member != c.best || p.Ever.Member != c.ever {
			t.Errorf("%q, member %d, ever %d; want %q, %d, %d", p.State, p.Best.Member, p.Ever.Member, c.state, c.best,
				c.ever)
		}
		if last := f.ancestry[len(f.ancestry)-1]; last.Member != p.Best.Member {
			t.Errorf("the ancestry of %d ends with %d", p.Best.Member, last.Member)
		}
	}
}

func factsOf(t testing.TB, events []journal.Event) *facts {
	t.Helper()
	h := must.Get(journal.NewHistory(events))(t)
	return must.Get(gather(h))(t)
}

// Of a large population the lanes are those of the best and its ancestors, and sizes of lineages tell of all members.
func TestLineages(t *testing.T) {
	const n, best, source = 3 * maxLanes, 2, 5
	events := []journal.Event{{Kind: journal.Population, Run: &journal.RunInfo{Schema: journal.Schema, Members: n,
		Objective: "o", IntervalSteps: 10}}}
	for k := range int64(4) {
		for i := range n {
			e := journal.Event{Kind: journal.Keep, Iteration: k, Member: i, Parent: -1, Steps: 10 * k,
				Objective: float64(i), HasObjective: k > 0}
			switch {
			case k == 0:
				e.Kind = journal.Start
			case i < 4 && k == 2: // the members 0 to 3 take over what began with member 5
				e.Kind, e.Parent, e.ParentSteps = journal.Replace, source, 20
			case i == best && k == 3:
				e.Objective = 1e6
			}
			events = append(events, e)
		}
	}
	f := factsOf(t, events)
	drawn := func(member int) bool { return slices.Contains(f.lanes, member) }
	if f.page.Best.Member != best || !drawn(best) || !drawn(source) || drawn(6) || !drawn(n-1) ||
		len(f.lanes) != maxLanes {
		t.Errorf("the best is %d, lanes %v", f.page.Best.Member, f.lanes)
	}
	l := f.lineages()
	if d := cmp.Diff([]int{1, 1, 5, 5}, l.Lines[0].Members); d != "" || l.Lines[0].Founder != source || l.Every != 1 {
		t.Errorf("%+v: %s", l.Lines[0], d)
	}
}
