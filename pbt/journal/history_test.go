package journal

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	h, err := NewHistory(events)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAncestry(t *testing.T) {
	for name, test := range map[string]struct {
		copies [][3]int
		want   []Ancestor
	}{
		"none":     {nil, []Ancestor{{0, 0, 5, 0, 50}}},
		"others'":  {[][3]int{{2, 1, 2}}, []Ancestor{{0, 0, 5, 0, 50}}},
		"one":      {[][3]int{{2, 0, 1}}, []Ancestor{{1, 0, 2, 0, 20}, {0, 2, 5, 20, 50}}},
		"two deep": {[][3]int{{1, 1, 2}, {3, 0, 1}}, []Ancestor{{2, 0, 1, 0, 10}, {1, 1, 3, 10, 30}, {0, 3, 5, 30, 50}}},
		// What a source took over at the same interval's end, or later, is not handed on.
		"swap":       {[][3]int{{2, 0, 1}, {2, 1, 0}}, []Ancestor{{1, 0, 2, 0, 20}, {0, 2, 5, 20, 50}}},
		"later":      {[][3]int{{2, 0, 1}, {3, 1, 2}}, []Ancestor{{1, 0, 2, 0, 20}, {0, 2, 5, 20, 50}}},
		"and back":   {[][3]int{{1, 1, 0}, {2, 0, 1}}, []Ancestor{{0, 0, 1, 0, 10}, {1, 1, 2, 10, 20}, {0, 2, 5, 20, 50}}},
		"at the end": {[][3]int{{5, 0, 2}}, []Ancestor{{2, 0, 5, 0, 50}, {0, 5, 5, 50, 50}}},
	} {
		got, err := historyOf(t, 5, test.copies...).Ancestry(0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := historyOf(t, 1).Ancestry(3); err == nil {
		t.Error("a member that does not exist has an ancestry")
	}
}

func TestAncestryAt(t *testing.T) {
	h := historyOf(t, 5, [3]int{2, 0, 1}, [3]int{4, 0, 2})
	for iteration, want := range map[int64][]Ancestor{
		0: {{0, 0, 0, 0, 0}},
		2: {{0, 0, 2, 0, 20}}, // before the copy at its end
		3: {{1, 0, 2, 0, 20}, {0, 2, 3, 20, 30}},
		4: {{1, 0, 2, 0, 20}, {0, 2, 4, 20, 40}},
		5: {{2, 0, 4, 0, 40}, {0, 4, 5, 40, 50}},
	} {
		got, err := h.AncestryAt(0, iteration)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("iteration %d: %s", iteration, d)
		}
	}
	for _, wrong := range [][2]int64{{3, 1}, {-1, 1}, {0, 6}, {0, -1}} {
		if _, err := h.AncestryAt(int(wrong[0]), wrong[1]); err == nil {
			t.Errorf("member %d has an ancestry at %d", wrong[0], wrong[1])
		}
	}
}

// A slow member's record can be copied after its owner has gone on: what the owner takes over later is not handed on.
func TestAncestryOfRecords(t *testing.T) {
	events := []Event{{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 3, Objective: "o"}},
		{Kind: Replace, Iteration: 2, Member: 1, Parent: 2, Steps: 20, ParentSteps: 20},
		{Kind: Keep, Iteration: 3, Member: 1, Parent: -1, Steps: 30, HasObjective: true},
		{Kind: Replace, Iteration: 4, Member: 1, Parent: 2, Steps: 40, ParentSteps: 40},
		{Kind: Replace, Iteration: 5, Member: 0, Parent: 1, Steps: 50, ParentSteps: 30},
		{Kind: Final, Iteration: 6, Member: 0, Parent: -1, Steps: 60},
	}
	h, err := NewHistory(events)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Ancestry(0)
	if err != nil {
		t.Fatal(err)
	}
	want := []Ancestor{{2, 0, 2, 0, 20}, {1, 2, 3, 20, 30}, {0, 5, 6, 50, 60}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if founder := h.Members[0].Copies[0].Founder; founder != 2 {
		t.Errorf("the founder is %d, want 2", founder)
	}
}

// A member that is lost can be given the record of one that is ahead of it.
func TestAncestryOfNewerRecords(t *testing.T) {
	events := []Event{{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 3, Objective: "o"}},
		{Kind: Replace, Iteration: 2, Member: 0, Parent: 1, Steps: 15, ParentSteps: 50},
		{Kind: Replace, Iteration: 4, Member: 1, Parent: 2, Steps: 40, ParentSteps: 40},
		{Kind: Final, Iteration: 6, Member: 0, Parent: -1, Steps: 60},
	}
	h, err := NewHistory(events)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Ancestry(0)
	if err != nil {
		t.Fatal(err)
	}
	want := []Ancestor{{2, 0, 4, 0, 40}, {1, 4, 2, 40, 50}, {0, 2, 6, 15, 60}}
	if d := cmp.Diff(want, got); d != "" || h.Members[0].Copies[0].Founder != 2 {
		t.Errorf("founder %d; %s", h.Members[0].Copies[0].Founder, d)
	}
}

// Two members cannot both descend from what the other became: such a journal is nonsense, but it must have an end.
func TestAncestryInACircle(t *testing.T) {
	h, err := NewHistory([]Event{{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 2}},
		{Kind: Replace, Iteration: 1, Member: 0, Parent: 1, Steps: 10, ParentSteps: 100},
		{Kind: Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 10, ParentSteps: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ancestry, err := h.Ancestry(0); err != nil || len(ancestry) != 3 {
		t.Errorf("%+v, %v", ancestry, err)
	}
}

func TestHistoryBest(t *testing.T) {
	run := &RunInfo{Schema: 1, Members: 3, Objective: "o"}
	events := []Event{{Kind: Population, Member: -1, Parent: -1, Run: run}}
	for i, objectives := range [][3]float64{{1, 2, math.NaN()}, {5, 3, math.Inf(1)}, {4, 5, 5}} {
		for m, o := range objectives {
			events = append(events, Event{Kind: Keep, Iteration: int64(i) + 1, Member: m, Parent: -1, Objective: o, HasObjective: true})
		}
	}
	for _, test := range []struct {
		minimise bool
		member   int
		value    float64
	}{{false, 0, 5}, {true, 0, 1}} {
		run.Minimise = test.minimise
		h, err := NewHistory(events)
		if err != nil {
			t.Fatal(err)
		}
		if member, at, ok := h.Best(); !ok || member != test.member || at.Value != test.value {
			t.Errorf("minimise %v: member %d, %+v, %v", test.minimise, member, at, ok)
		}
	}
	h, err := NewHistory(events[:4])
	if err != nil {
		t.Fatal(err)
	}
	h.Members = h.Members[2:]
	if _, _, ok := h.Best(); ok {
		t.Error("a member that diverged is the best")
	}
}

func TestHistoryOfSomethingElse(t *testing.T) {
	events := sampleEvents()
	for _, wrong := range [][]Event{nil, events[1:], append(events[:2:2], events[0]), append(events[:1:1], Event{Kind: Keep, Member: 2, Parent: -1}), append(events[:1:1], Event{Kind: Replace, Member: 1, Parent: 2})} {
		if _, err := NewHistory(wrong); err == nil {
			t.Errorf("%+v has a history", wrong)
		}
	}
}
