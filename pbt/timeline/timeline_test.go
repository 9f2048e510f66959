package timeline_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

// walker walks one unit of its rate, and some luck, a step, four steps a timestep. It keeps a diary of the rates that
// its weights were trained with, which goes along with them.
type walker struct {
	x, rate float64
	steps   int64
	diary   []note
	source  *rand.PCG
	fail    error
}

type note struct {
	Steps int64
	Rate  float64
}

const timestep = 4

func newWalker(seed int64, rate float64) *walker {
	return &walker{rate: rate, source: rand.NewPCG(uint64(seed), 7)}
}

func (w *walker) Train(ctx context.Context, steps int64) error {
	rng := rand.New(w.source)
	for target := w.steps + steps; w.steps < target; w.steps += timestep {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.fail != nil {
			return w.fail
		}
		if n := len(w.diary); n == 0 || w.diary[n-1].Rate != w.rate {
			w.diary = append(w.diary, note{w.steps, w.rate})
		}
		w.x += timestep * (w.rate + rng.NormFloat64())
	}
	return nil
}

func (w *walker) Steps() int64                { return w.steps }
func (w *walker) Metrics() map[string]float64 { return map[string]float64{"way": w.x} }
func (w *walker) Hyperparameters() map[string]float64 {
	return map[string]float64{"rate": w.rate, "unused": 3}
}

func (w *walker) SetHyperparameters(values map[string]float64) error {
	if v, ok := values["rate"]; ok {
		w.rate = v
	}
	return nil
}

func (w *walker) Snapshot() (*checkpoint.Snapshot, error) {
	state, err := w.source.MarshalBinary()
	diary := make([]any, 0, 2*len(w.diary))
	for _, n := range w.diary {
		diary = append(diary, float64(n.Steps), n.Rate)
	}
	return &checkpoint.Snapshot{Values: map[string]any{"x": w.x, "steps": w.steps, "rng": hex.EncodeToString(state),
		"diary": diary}}, err
}

func (w *walker) Restore(s *checkpoint.Snapshot) error {
	x, err1 := s.Float("x")
	steps, err2 := s.Int("steps")
	text, err3 := s.Text("rng")
	state, err4 := hex.DecodeString(text)
	diary, ok := s.Values["diary"].([]any)
	if err := errors.Join(err1, err2, err3, err4); err != nil || !ok {
		return fmt.Errorf("walker: diary %v: %w", ok, err)
	}
	w.x, w.steps, w.diary = x, steps, nil
	for i := 0; i < len(diary); i += 2 {
		w.diary = append(w.diary, note{int64(diary[i].(float64)), diary[i+1].(float64)})
	}
	return w.source.UnmarshalBinary(state)
}

func (w *walker) Reseed(seed int64) error { w.source.Seed(uint64(seed), 7); return nil }
func (w *walker) Close() error            { return nil }

// population trains walkers of which some fail, and returns it with its history and its walkers.
func population(t *testing.T, seed, steps int64) (*pbt.Population, *pbt.Result, *journal.History) {
	t.Helper()
	built := 0
	p, err := pbt.New(pbt.Options{
		Members: 6, Objective: "way", IntervalSteps: 40, TotalSteps: steps, Seed: seed,
		Strategy: strategy.IsaacLab{ThresholdStd: 0.4, ThresholdAbs: 1},
		Explore:  explore.Mutation{Rate: 0.9, Rules: explore.Rules{"rate": explore.MutateFloat}},
		Sample:   map[string]explore.Range{"rate": {Low: 0.1, High: 1}},
		New: func(m pbt.Member) (pbt.Trainee, error) {
			built++
			w := newWalker(m.Seed, m.Hyperparameters["rate"])
			if m.ID == 4 && built <= 6 {
				w.fail = errors.New("stumbles")
			}
			return w, nil
		},
	})
	must.Do(t, err)
	t.Cleanup(func() { p.Close() })
	best := must.Get(p.Train(t.Context()))(t)
	h := must.Get(journal.NewHistory(p.Journal()))(t)
	return p, best, h
}

// diary is what a walker writes that is trained by a timeline.
func diary(s timeline.Timeline) []note {
	var notes []note
	for _, p := range s.Phases {
		rate := p.Hyperparameters["rate"]
		if n := len(notes); p.From < s.Steps && (n == 0 || notes[n-1].Rate != rate) {
			notes = append(notes, note{p.From, rate})
		}
	}
	return notes
}

// A timeline has what the weights' own diary has, and training by it writes the same diary again. The weights come
// again bit by bit if nobody replaced them.
func TestExtractAndTrain(t *testing.T) {
	changes, untouched := 0, 0
	for seed := range int64(20) {
		p, best, h := population(t, seed, []int64{500, 120}[seed%2])
		check := func(w *walker, s timeline.Timeline) (replayed *walker) {
			must.Equal(t, "the diary", w.diary, diary(s))
			must.Is(t, s.Steps, w.steps, "seed %d: steps", seed)
			replayed = newWalker(s.Seed, 99)
			play(t, replayed, s)
			must.Equal(t, "the diary written again", w.diary, replayed.diary)
			changes += len(s.Phases) - 1
			return replayed
		}
		for id := range 6 {
			w := p.Trainee(id).(*walker)
			replayed := check(w, must.Get(timeline.Extract(h, id))(t))
			if len(h.Members[id].Copies) == 0 {
				untouched++
				must.Is(t, replayed.x, w.x, "seed %d, member %d: the weight", seed, id)
			}
		}
		w := newWalker(0, 0)
		must.Do(t, w.Restore(best.Snapshot))
		check(w, must.Get(timeline.ExtractAt(h, best.Member, best.Iteration))(t))
	}
	if changes < 20 || untouched < 10 {
		t.Errorf("%d changes, and %d members that nobody replaced: the test shows little", changes, untouched)
	}
}

// play trains by a timeline.
func play(t *testing.T, w pbt.Trainee, s timeline.Timeline) {
	t.Helper()
	for w.Steps() < s.Steps {
		must.Do(t, s.Apply(w))
		must.Do(t, w.Train(t.Context(), timestep))
	}
}

func course() timeline.Timeline {
	return timeline.Timeline{Objective: "way", Member: 2, Seed: 5, Steps: 100, Phases: []timeline.Phase{
		{From: 0, Member: 1, Hyperparameters: map[string]float64{"rate": 0.5}},
		{From: 40, Member: 1, Hyperparameters: map[string]float64{"rate": 0.25}},
		{From: 80, Member: 2, Hyperparameters: map[string]float64{"rate": 0.125}},
	}}
}

// The architectures go along with the weights, as edits of a source do that come at the moment of copying.
func TestArchitectures(t *testing.T) {
	values := map[string]float64{"rate": 1}
	h, err := journal.NewHistory([]journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2,
			Tuned: []string{"rate"}}},
		{Kind: journal.Start, Member: 0, Parent: -1, After: values, Architecture: "a"},
		{Kind: journal.Start, Member: 1, Parent: -1, After: values, Architecture: "b"},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 0, Parent: -1, Steps: 10, Before: values, After: values,
			Architecture: "of 0 alone", Mutation: "head.add_layer"},
		{Kind: journal.Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 15, ParentSteps: 10, Before: values,
			After: values, Architecture: "a, edited", Mutation: "head.add_layer"},
		{Kind: journal.SelfMutate, Iteration: 2, Member: 1, Parent: -1, Steps: 25, Before: values, After: values,
			Architecture: "a, edited"},
		{Kind: journal.Final, Iteration: 3, Member: 1, Parent: -1, Steps: 30, Before: values},
	})
	must.Do(t, err)
	s := must.Get(timeline.Extract(h, 1))(t)
	if d := cmp.Diff([]string{"a", "a, edited"}, s.Architectures()); d != "" {
		t.Error(d)
	}
	// The weights have 10 steps at the copy, at which member 1 has 15.
	var from []int64
	for _, p := range s.Phases {
		from = append(from, p.From)
	}
	if !cmp.Equal(from, []int64{0, 10, 20}) || s.Steps != 25 {
		t.Errorf("phases from %d, %d steps", from, s.Steps)
	}
}

func TestRejects(t *testing.T) {
	for name, change := range map[string]func(s *timeline.Timeline){
		"no phases":    func(s *timeline.Timeline) { s.Phases = nil },
		"out of order": func(s *timeline.Timeline) { s.Phases[2].From = 40 },
		"short":        func(s *timeline.Timeline) { s.Steps = 79 },
	} {
		s := course()
		change(&s)
		must.RefuseAs(t, name, s.Validate())
	}
	s := course()
	must.Do(t, s.Check(newWalker(1, 1)))
	s.Phases[1].Hyperparameters["rat"] = 1
	must.Refuse(t, s.Check(newWalker(1, 1)), "rat")

	_, _, h := population(t, 1, 500)
	must.Refused(timeline.Extract(h, 6))(t)
	must.Refused(timeline.ExtractAt(h, 0, 99))(t)
	h.Events = slices.DeleteFunc(h.Events, func(e journal.Event) bool { return e.Kind == journal.Start })
	must.Refused(timeline.Extract(h, 0))(t)
}
