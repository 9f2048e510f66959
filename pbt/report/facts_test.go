package report

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// The facts of the journal that the golden page shows, counted by hand.
func TestFacts(t *testing.T) {
	f, err := gather(recorded(t, "small"))
	must.Do(t, err)
	if d := cmp.Diff([]Count{{"copies", 6}, {"mutations without a copy", 1}, {"failures", 1}, {"divergences", 1},
		{"rescues", 2}, {"decisions not applied", 1}, {"surviving lineages", 1}}, f.page.Counts); d != "" {
		t.Error(d)
	}
	want := []journal.Ancestor{{Member: 2, To: 2, ToSteps: 2000}, {Member: 3, From: 2, To: 4, FromSteps: 1500,
		ToSteps: 4000}, {Member: 2, From: 4, To: 5, FromSteps: 4000, ToSteps: 5000}, {Member: 1, From: 5, To: 6,
		FromSteps: 5000, ToSteps: 6000}, {Member: 0, From: 6, To: 8, FromSteps: 6000, ToSteps: 8000}}
	if d := cmp.Diff(want, f.ancestry); d != "" {
		t.Error(d)
	}
}

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
	h, err := journal.NewHistory(events)
	must.Do(t, err)
	f, err := gather(h)
	must.Do(t, err)
	return f
}

// What was copied begins at its source's objective, at the steps of the member that copied.
func TestCurvesOfCopies(t *testing.T) {
	f, err := gather(recorded(t, "small"))
	must.Do(t, err)
	lines, copies := f.panels()[0].Lines, 0
	i := 0
	for _, member := range f.lanes {
		for _, s := range f.courses[member] {
			line := lines[i]
			if i++; s.Parent < 0 {
				continue
			}
			copies++
			source := math.NaN()
			for _, p := range f.Members[s.Parent].Objective {
				if p.Steps == s.ParentSteps {
					source = p.Value
				}
			}
			if p := line.Points[0]; p != (XY{Number(s.From), Number(source)}) {
				t.Errorf("a copy of %v begins at %v", source, p)
			}
		}
	}
	if copies != f.page.Counts[0].N || i != len(lines) {
		t.Errorf("%d lines, %d of copies", len(lines), copies)
	}
}

// What the journal says of member 2, counted by hand.
func TestNetworks(t *testing.T) {
	f, err := gather(recorded(t, "evolving"))
	must.Do(t, err)
	var got []float64
	for _, p := range f.sizes[2] {
		got = append(got, float64(p.Iteration), p.Value)
	}
	if d := cmp.Diff([]float64{0, 16, 2, 96}, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]int{"": 0, "grown": 0, "policy 4→[64 64:elu] tanh, value 4→[32] tanh": 160,
		"4→[8] + 3→[16]→8→[4] relu": 28, "[9999999999]": 0,
		"policy 84×84×3→[16k8s4 24k3p1+2:elu]→64→gru[40 40]→[7] relu, value 4→[3] relu": 130} {
		if got := hiddenNodes(text); got != want {
			t.Errorf("%q has %d hidden nodes, want %d", text, got, want)
		}
	}
}

// A member that mutates itself at the very moment at which it is copied hands on what it had before.
func TestWayEndsBeforeTheDecision(t *testing.T) {
	events := []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2, Objective: "o",
			IntervalSteps: 10}},
		{Kind: journal.Start, Member: 0, Parent: -1, After: map[string]float64{"a": 1}},
		{Kind: journal.Start, Member: 1, Parent: -1, After: map[string]float64{"a": 2}},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 0, Parent: -1, Steps: 10, Objective: 5, HasObjective: true,
			Before: map[string]float64{"a": 1}, After: map[string]float64{"a": 7}},
		{Kind: journal.Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 10, ParentSteps: 10, Objective: 1,
			HasObjective: true,
			Before:       map[string]float64{"a": 2}, After: map[string]float64{"a": 1}},
		{Kind: journal.Final, Iteration: 2, Member: 0, Parent: -1, Steps: 20, Objective: 2, HasObjective: true,
			Before: map[string]float64{"a": 7}},
		{Kind: journal.Final, Iteration: 2, Member: 1, Parent: -1, Steps: 20, Objective: 9, HasObjective: true,
			Before: map[string]float64{"a": 1}},
	}
	f := factsOf(t, events)
	for _, a := range f.ancestry {
		for _, p := range f.within(f.find(a), f.Members[a.Member].Hyperparameters["a"], a.ToSteps) {
			if p.Value != 1 {
				t.Errorf("member %d handed on %v", a.Member, p)
			}
		}
	}
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
	for k := range 4 {
		sum := 0
		for _, line := range l.Lines {
			sum += line.Members[k]
		}
		if sum != n {
			t.Errorf("after interval %d %d members have a lineage", k, sum)
		}
	}
	if small := factsOf(t, events[:n+1]); small.lineages() == nil {
		t.Error("no sizes before the first interval's end")
	}
}
