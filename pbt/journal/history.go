package journal

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
)

// History is a journal sorted by member.
type History struct {
	// Run describes the population.
	Run RunInfo
	// Members are in order of their numbers.
	Members []Track
	// Events are those of the journal after its first, in the journal's order.
	Events []Event
}

// Track is one member's course through training.
type Track struct {
	// Member is the member's number.
	Member int
	// Objective has a point for every interval end at which it was known; it may be NaN or infinite.
	Objective []Point
	// Hyperparameters are those before training, and at every interval end those before and after the decision.
	Hyperparameters map[string][]Point
	// Copies are the weights that the member took over, in order.
	Copies []Copy
	// Failures are the interval ends at which its training had failed.
	Failures []Point
	// Iteration and Steps are the last known.
	Iteration, Steps int64
}

// Point is a value at the end of an interval, after Steps of the member's own environment steps.
type Point struct {
	Iteration, Steps int64
	Value            float64
}

// Copy is one replacement: the member was given the weights of Parent.
type Copy struct {
	Iteration   int64
	Parent      int
	Steps       int64 // the member's own
	ParentSteps int64
	Objective   float64 // the member's before; NaN where unknown
	Cause       string
	// Founder is the member in which the copied weights began, before any copies.
	Founder int
}

// Ancestor is a stretch of one member's training that present weights, perhaps another member's, went through.
type Ancestor struct {
	Member int `json:"member"`
	// From and To are the member's iterations: the stretch is after From, up to and with To. Steps likewise.
	From      int64 `json:"from"`
	To        int64 `json:"to"`
	FromSteps int64 `json:"from_steps"`
	ToSteps   int64 `json:"to_steps"`
}

// NewHistory sorts a journal's events by member. It is an error if the first event is not the one that describes the
// population, or where an event names a member that the population does not have.
func NewHistory(events []Event) (*History, error) {
	if len(events) == 0 || events[0].Run == nil {
		return nil, errors.New("pbt: a history begins with the event that describes the population; give the whole " +
			"journal")
	}
	h := &History{Run: *events[0].Run, Events: slices.Clone(events[1:])}
	if h.Run.Members < 1 || h.Run.Members > MaxMembers {
		return nil, fmt.Errorf("pbt: the journal is of a population of %d; there can be 1 to %d", h.Run.Members,
			MaxMembers)
	}
	for i, e := range events[1:] {
		if e.Run != nil || e.Member < 0 || e.Member >= h.Run.Members || e.Parent >= h.Run.Members {
			return nil, fmt.Errorf("pbt: event %d (%s, member %d, parent %d) does not belong to a population of %d",
				i+2, e.Kind, e.Member, e.Parent, h.Run.Members)
		}
		for len(h.Members) <= max(e.Member, e.Parent) {
			h.Members = append(h.Members, Track{Member: len(h.Members), Hyperparameters: make(map[string][]Point)})
		}
		h.Members[e.Member].add(e)
	}
	h.found()
	return h, nil
}

// found sets Copy.Founder of all copies. It follows each copy back, from a source to the source's own last copy before,
// to a copy whose founder is known or a member that had copied nothing. Every copy is visited once.
func (h *History) found() {
	known := make(map[*Copy]bool)
	for i := range h.Members {
		for j := range h.Members[i].Copies {
			var chain []*Copy
			founder := i
			for c := &h.Members[i].Copies[j]; c != nil; c = h.Members[c.Parent].source(c.ParentSteps) {
				if founder = c.Parent; known[c] {
					founder = c.Founder
					break
				}
				known[c], c.Founder = true, c.Parent // ends a chain that a contradictory journal leads in a circle
				chain = append(chain, c)
			}
			for _, c := range chain {
				c.Founder = founder
			}
		}
	}
}

func (t *Track) add(e Event) {
	t.Iteration, t.Steps = max(t.Iteration, e.Iteration), max(t.Steps, e.Steps)
	point := func(v float64) Point { return Point{Iteration: e.Iteration, Steps: e.Steps, Value: v} }
	for _, values := range []map[string]float64{e.Before, e.After} {
		for key, v := range values {
			t.Hyperparameters[key] = append(t.Hyperparameters[key], point(v))
		}
	}
	objective := math.NaN()
	if e.HasObjective {
		objective = e.Objective
		t.Objective = append(t.Objective, point(objective))
	}
	switch e.Kind {
	case Failed:
		t.Failures = append(t.Failures, point(math.NaN()))
	case Replace:
		t.Copies = append(t.Copies, Copy{Iteration: e.Iteration, Parent: e.Parent, Steps: e.Steps,
			ParentSteps: e.ParentSteps,
			Objective:   objective, Cause: e.Cause})
	}
}

// Best returns the member with the best objective at any interval's end, and that objective; of equals the earliest,
// then the lowest number. ok is false if no finite objective is known.
func (h *History) Best() (member int, at Point, ok bool) {
	for _, t := range h.Members {
		for _, p := range t.Objective {
			better := p.Value > at.Value
			if h.Run.Minimise {
				better = p.Value < at.Value
			}
			if number.Finite(p.Value) && (!ok || better || p.Value == at.Value && p.Iteration < at.Iteration) {
				member, at, ok = t.Member, p, true
			}
		}
	}
	return member, at, ok
}

// Tuned returns the hyperparameters of the journal that the population tunes, in the population's order. If there are
// none, it returns all hyperparameters of the journal, sorted.
func (h *History) Tuned() []string {
	has := make(map[string]bool)
	for _, t := range h.Members {
		for key := range t.Hyperparameters {
			has[key] = true
		}
	}
	keys := slices.DeleteFunc(slices.Clone(h.Run.Tuned), func(key string) bool { return !has[key] })
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(has))
	}
	return keys
}

// Ancestry returns the stretches of training that the member's present weights went through, oldest first. The last
// stretch is the member's own.
func (h *History) Ancestry(member int) ([]Ancestor, error) {
	if member < 0 || member >= len(h.Members) {
		return nil, fmt.Errorf("pbt: the journal knows nothing of member %d; members are 0 to %d", member,
			len(h.Members)-1)
	}
	t := h.Members[member]
	return h.ancestry(Ancestor{Member: member, To: t.Iteration, ToSteps: t.Steps}, t.Iteration+1), nil
}

// AncestryAt returns the same for the weights that the member had at the end of an interval, before the decision there.
func (h *History) AncestryAt(member int, iteration int64) ([]Ancestor, error) {
	if member < 0 || member >= len(h.Members) || iteration < 0 || iteration > h.Members[member].Iteration {
		return nil, fmt.Errorf("pbt: the journal has no interval %d of member %d", iteration, member)
	}
	stretch := Ancestor{Member: member, To: iteration}
	for _, e := range h.Events {
		if e.Member == member && e.Iteration <= iteration {
			stretch.ToSteps = max(stretch.ToSteps, e.Steps)
		}
	}
	return h.ancestry(stretch, iteration), nil
}

// ancestry follows copies back from a stretch: first the member's own copies before an iteration, then those of the
// source, then of the source's source.
func (h *History) ancestry(stretch Ancestor, before int64) []Ancestor {
	copied := h.Members[stretch.Member].lastCopy(func(c Copy) bool { return c.Iteration < before })
	var ancestry []Ancestor
	// A contradictory journal could lead in a circle.
	for seen := make(map[*Copy]bool); copied != nil &&
		!seen[copied]; copied = h.Members[stretch.Member].source(stretch.ToSteps) {
		seen[copied] = true
		stretch.From, stretch.FromSteps = copied.Iteration, copied.Steps
		ancestry = append(ancestry, stretch)
		stretch = Ancestor{Member: copied.Parent, To: h.Members[copied.Parent].iteration(*copied),
			ToSteps: copied.ParentSteps}
	}
	ancestry = append(ancestry, stretch)
	slices.Reverse(ancestry)
	return ancestry
}

// source returns the copy that the member's weights came from when they were themselves copied, after a number of its
// own environment steps; nil for none. A copy that the member made at that moment, or later while peers still read
// its older record, is not among the ancestors.
func (t *Track) source(steps int64) *Copy {
	return t.lastCopy(func(c Copy) bool { return c.Steps < steps })
}

// lastCopy returns the last copy that match accepts, nil for none.
func (t *Track) lastCopy(match func(c Copy) bool) *Copy {
	for i, c := range slices.Backward(t.Copies) {
		if match(c) {
			return &t.Copies[i]
		}
	}
	return nil
}

// iteration returns the interval of this member at whose end it was copied. Members of a population of processes are
// not in step, so the interval is found by the number of steps; the copying member's interval is the fallback.
func (t *Track) iteration(c Copy) int64 {
	for _, p := range slices.Backward(t.Objective) {
		if p.Steps == c.ParentSteps {
			return p.Iteration
		}
	}
	return c.Iteration
}

// ReadHistory reads the history of a population's folder or of a journal, see [Read]. A journal without events is an
// error.
func ReadHistory(path string) (*History, error) {
	events, err := Read(path)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("pbt: the journal in %s is empty: the population has not begun to train", path)
	}
	return NewHistory(events)
}
