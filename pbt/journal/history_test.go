package journal

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// historyOf has copies {iteration, member, parent} in a population of three with intervals of 10 steps.
func historyOf(t *testing.T, iterations int64, copies ...[3]int) *History {
	events := []Event{{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 3, Objective: "o"}}}
	for i := int64(1); i <= iterations; i++ {
		for m := range 3 {
			e := Event{Kind: Keep, Iteration: i, Member: m, Parent: -1, Steps: 10 * i}
			for _, c := range copies {
				if int64(c[0]) == i && c[1] == m {
					e.Kind, e.Parent, e.ParentSteps = Replace, c[2], 10*i
				}
			}
			events = append(events, e)
		}
	}
	h := must.Get(NewHistory(events))(t)
	return h
}

func TestAncestry(t *testing.T) {
	for name, test := range map[string]struct {
		copies [][3]int
		want   []Ancestor
	}{
		"none": {nil, []Ancestor{{0, 0, 5, 0, 50}}},
		"two deep": {[][3]int{{1, 1, 2}, {3, 0, 1}}, []Ancestor{{2, 0, 1, 0, 10}, {1, 1, 3, 10, 30},
			{0, 3, 5, 30, 50}}},
		// What a source took over at the same interval's end, or later, is not handed on.
		"swap":  {[][3]int{{2, 0, 1}, {2, 1, 0}}, []Ancestor{{1, 0, 2, 0, 20}, {0, 2, 5, 20, 50}}},
		"later": {[][3]int{{2, 0, 1}, {3, 1, 2}}, []Ancestor{{1, 0, 2, 0, 20}, {0, 2, 5, 20, 50}}},
		"and back": {[][3]int{{1, 1, 0}, {2, 0, 1}}, []Ancestor{{0, 0, 1, 0, 10}, {1, 1, 2, 10, 20},
			{0, 2, 5, 20, 50}}},
		"at the end": {[][3]int{{5, 0, 2}}, []Ancestor{{2, 0, 5, 0, 50}, {0, 5, 5, 50, 50}}},
	} {
		must.Equal(t, name, test.want, must.Get(historyOf(t, 5, test.copies...).Ancestry(0))(t))
	}
}

func TestAncestryAt(t *testing.T) {
	h := historyOf(t, 5, [3]int{2, 0, 1}, [3]int{4, 0, 2})
	for iteration, want := range map[int64][]Ancestor{
		0: {{0, 0, 0, 0, 0}},
		2: {{0, 0, 2, 0, 20}}, // before the copy at its end
		4: {{1, 0, 2, 0, 20}, {0, 2, 4, 20, 40}},
		5: {{2, 0, 4, 0, 40}, {0, 4, 5, 40, 50}},
	} {
		must.Equal(t, fmt.Sprint("iteration ", iteration), want, must.Get(h.AncestryAt(0, iteration))(t))
	}
	must.Refused(h.AncestryAt(3, 1))(t)
	must.Refused(h.AncestryAt(0, 6))(t)
}

// Processes are not in step: records are copied after their owner has gone on, or ahead of who copies them.
func TestAncestryOfProcesses(t *testing.T) {
	replace := func(iteration int64, member, parent int, steps, parentSteps int64) Event {
		return Event{Kind: Replace, Iteration: iteration, Member: member, Parent: parent, Steps: steps,
			ParentSteps: parentSteps}
	}
	final := Event{Kind: Final, Iteration: 6, Member: 0, Parent: -1, Steps: 60}
	for name, c := range map[string]struct {
		events  []Event
		want    []Ancestor
		founder int // of the weights that the copy took over
	}{
		"what the owner takes over later is not handed on": {
			[]Event{
				replace(2, 1, 2, 20, 20), {Kind: Keep, Iteration: 3, Member: 1, Parent: -1, Steps: 30,
					HasObjective: true},
				replace(4, 1, 2, 40, 40), replace(5, 0, 1, 50, 30), final,
			},
			[]Ancestor{{2, 0, 2, 0, 20}, {1, 2, 3, 20, 30}, {0, 5, 6, 50, 60}},
			2,
		},
		"a circle, which is nonsense, has an end": {
			[]Event{replace(1, 0, 1, 10, 100), replace(1, 1, 0, 10, 100)},
			[]Ancestor{{0, 0, 1, 0, 100}, {1, 1, 1, 10, 100}, {0, 1, 1, 10, 10}},
			1,
		},
	} {
		run := Event{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 3}}
		h := must.Get(NewHistory(append([]Event{run}, c.events...)))(t)
		got, err := h.Ancestry(0)
		if d := cmp.Diff(c.want, got); err != nil || d != "" || h.Members[0].Copies[0].Founder != c.founder {
			t.Errorf("%s: founder %d, %v, %s", name, h.Members[0].Copies[0].Founder, err, d)
		}
	}
}

func TestHistoryBest(t *testing.T) {
	run := &RunInfo{Schema: 1, Members: 3, Objective: "o"}
	events := []Event{{Kind: Population, Member: -1, Parent: -1, Run: run}}
	for i, objectives := range [][3]float64{{1, 2, math.NaN()}, {5, 3, math.Inf(1)}, {4, 5, 5}} {
		for m, o := range objectives {
			events = append(events, Event{Kind: Keep, Iteration: int64(i) + 1, Member: m, Parent: -1, Objective: o,
				HasObjective: true})
		}
	}
	for minimise, want := range map[bool]float64{false: 5, true: 1} {
		run.Minimise = minimise
		h := must.Get(NewHistory(events))(t)
		if member, at, ok := h.Best(); !ok || member != 0 || at.Value != want {
			t.Errorf("minimise %v: member %d, %+v, %v", minimise, member, at, ok)
		}
	}
}
