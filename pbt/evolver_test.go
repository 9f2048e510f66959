package pbt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// grown is a climber whose shape is a number that only New can set: it takes a snapshot of no other shape.
type grown struct {
	*climber
	size int64
}

func (g grown) Snapshot() (*checkpoint.Snapshot, error) {
	s, err := g.climber.Snapshot()
	if err == nil {
		s.Values["architectures"] = map[string]any{"policy": g.size}
	}
	return s, err
}

func (g grown) Restore(s *checkpoint.Snapshot) error {
	size, err := s.Int("architectures", "policy")
	if err != nil {
		return err
	}
	if size != g.size {
		return fmt.Errorf("a snapshot of size %d for %d", size, g.size)
	}
	return g.climber.Restore(s)
}

// breeder grows a snapshot, moves its learning rate, or does nothing, in turn by chance.
type breeder struct {
	fault func(in Candidate) error
	chain string // what is always done, where not empty
}

func (b breeder) Evolve(in Candidate, rng *rand.Rand) (Candidate, string, error) {
	if b.fault != nil {
		if err := b.fault(in); err != nil {
			return Candidate{}, "", err
		}
	}
	out := in
	what := []string{"grow", "learning_rate", "none"}[rng.IntN(3)]
	if b.chain != "" {
		what = b.chain
	}
	switch what {
	case "grow":
		size, err := in.Snapshot.Int("architectures", "policy")
		if err != nil {
			return out, "", err
		}
		s := *in.Snapshot
		s.Values = maps.Clone(s.Values)
		s.Values["architectures"] = map[string]any{"policy": size + 1}
		out.Snapshot = &s
	case "learning_rate":
		out.Hyperparameters = maps.Clone(in.Hyperparameters)
		out.Hyperparameters["learning_rate"] *= 0.5 + rng.Float64()
	}
	return out, what, nil
}

func (b breeder) Validate(hyperparameters []string) error {
	if !slices.Contains(hyperparameters, "learning_rate") {
		return errors.New("breeder: no learning rate")
	}
	return nil
}

func (breeder) Keys() []string { return []string{"learning_rate"} }

func (breeder) Architecture(s *checkpoint.Snapshot) string {
	size, _ := s.Int("architectures", "policy")
	return fmt.Sprint("size ", size)
}

func newBreed(members int, b breeder) *colony {
	c := newColony(members)
	c.opt.Explore, c.opt.Evolve = nil, b
	c.opt.New = func(m Member) (Trainee, error) {
		t := newClimber(m, c.faults)
		c.built = append(c.built, t)
		g := grown{t, 1}
		if m.Restoring != nil {
			var err error
			if g.size, err = m.Restoring.Int("architectures", "policy"); err != nil {
				return nil, err
			}
		}
		return g, nil
	}
	return c
}

func TestEvolverTakesThePlaceOfMutation(t *testing.T) {
	c := newBreed(5, breeder{})
	c.opt.Diversify, c.opt.Reference = true, []int{3}
	p := mustTrain(t, c.opt)
	sizes, done := map[int]string{}, map[string]int{}
	for _, e := range p.Journal() {
		switch e.Kind {
		case journal.Start:
			sizes[e.Member] = e.Architecture
			if (e.Mutation == "") != (e.Member == 3) || e.Member == 3 && e.Architecture != "size 1" {
				t.Errorf("member %d starts as %+v", e.Member, e)
			}
		case journal.Keep:
			if e.Mutation != "" || e.Architecture != sizes[e.Member] {
				t.Errorf("kept, and yet %+v", e)
			}
		case journal.Replace, journal.SelfMutate:
			done[e.Mutation]++
			before := sizes[e.Member]
			if e.Kind == journal.Replace {
				before = "" // the source's at that time
			}
			grows := e.Mutation == "grow"
			if before != "" && grows == (before == e.Architecture) {
				t.Errorf("%s led from %s to %s", e.Mutation, before, e.Architecture)
			}
			if e.Member == 3 && (e.Mutation != "" || e.Kind == journal.SelfMutate) {
				t.Errorf("a reference member was mutated: %+v", e)
			}
			sizes[e.Member] = e.Architecture
		}
	}
	for id, want := range sizes {
		if got := fmt.Sprint("size ", p.Trainee(id).(grown).size); got != want {
			t.Errorf("member %d is of %s, the journal says %s", id, got, want)
		}
	}
	if done["grow"] < 2 || done["learning_rate"] < 2 || done["none"] < 1 {
		t.Errorf("only %v was done: this shows little", done)
	}
	if want := []string{"learning_rate"}; !slices.Equal(p.Table().Keys, want) {
		t.Errorf("tuned are %v, want %v", p.Table().Keys, want)
	}
}

// An evolving population that is stopped and continued ends as one that was not, members of all sizes included.
func TestEvolvingPopulationResumes(t *testing.T) {
	run := func(every int) *Population {
		dir := t.TempDir()
		for breaks := 0; ; breaks++ {
			c := newBreed(4, breeder{})
			c.opt.Directory, c.opt.ProgressSteps, c.opt.Diversify = dir, 20, true
			ctx, cancel := context.WithCancel(t.Context())
			left := every
			c.opt.Progress = func(Update) {
				if left--; left == 0 {
					cancel()
				}
			}
			p := mustNew(t, c.opt)
			_, err := p.Train(ctx)
			cancel()
			if err == nil {
				if every > 0 && breaks < 3 {
					t.Errorf("only %d interruptions", breaks)
				}
				return p
			}
			if !errors.Is(err, context.Canceled) || breaks > 500 {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := run(-1)
	for _, every := range []int{3, 19} {
		compare(t, want, run(every))
	}
}

// Whatever goes wrong with an evolution leaves the member as it was, and is in the journal.
func TestEvolutionThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(c *colony)
		want string
	}{
		"error":       {func(c *colony) { c.opt.Evolve = breeder{fault: func(Candidate) error { return errors.New("barren") }} }, "barren"},
		"panic":       {func(c *colony) { c.opt.Evolve = breeder{fault: func(Candidate) error { panic("barren") }} }, "panic: barren"},
		"no snapshot": {func(c *colony) { c.opt.Evolve = barren{} }, "returned no snapshot"},
		"New": {func(c *colony) {
			build := c.opt.New
			c.opt.New = func(m Member) (Trainee, error) {
				if m.Restoring != nil {
					return nil, errors.New("too big")
				}
				return build(m)
			}
		}, "building it anew: too big"},
		"restore": {func(c *colony) {
			c.faults.restore = func(m *climber) error {
				if m.steps == 0 { // one just built
					return errors.New("does not fit")
				}
				return nil
			}
		}, "does not fit"},
	} {
		for _, action := range []strategy.Action{strategy.Replace, strategy.SelfMutate} {
			t.Run(name+" "+string(action), func(t *testing.T) {
				c := newBreed(2, breeder{chain: "grow"})
				test.set(c)
				c.opt.Strategy = decided{{Member: 0, Action: strategy.Keep}, {Member: 1, Action: action, Source: 0, Mutate: true, Reason: "test"}}
				c.opt.TotalSteps = 100
				p := mustNew(t, c.opt)
				before := p.Trainee(1)
				if _, err := p.Train(t.Context()); err != nil {
					t.Fatal(err)
				}
				failed := kinds(p.Journal(), journal.ApplyFailed)
				if len(failed) != 1 || !strings.Contains(failed[0].Cause, test.want) || failed[0].Mutation != "" || failed[0].Rebuilt || failed[0].After != nil || failed[0].Architecture != "" && failed[0].Architecture != "size 1" {
					t.Errorf("the journal has %+v, want %q", failed, test.want)
				}
				if p.Trainee(1) != before || p.workers()[1].m.failure != "" || p.workers()[1].m.steps != 100 {
					t.Errorf("the member did not go on as it was: %+v", p.workers()[1].m)
				}
			})
		}
	}
}

type barren struct{ breeder }

func (barren) Evolve(Candidate, *rand.Rand) (Candidate, string, error) { return Candidate{}, "", nil }

func TestScores(t *testing.T) {
	c := newColony(3)
	c.opt.Measure.Minimise, c.opt.Objective = true, "loss"
	c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 0, Mutate: true}}
	c.opt.Directory, c.opt.TotalSteps = t.TempDir(), 250
	want := make([][]float64, 3)
	var last int64
	c.opt.Progress = func(u Update) {
		if e := u.Event; e != nil && (e.Kind == journal.Keep || e.Kind == journal.Replace || e.Kind == journal.Final) {
			want[e.Member] = append(want[e.Member], -e.Objective)
			if e.Kind == journal.Replace {
				want[2] = slices.Clone(want[0]) // events are in order of members
			}
			last = e.Iteration
		}
	}
	p := mustTrain(t, c.opt)
	check := func(p *Population) {
		t.Helper()
		for _, m := range p.Generation().Members {
			if d := cmp.Diff(want[m.Member], m.Scores); d != "" {
				t.Errorf("member %d: %s", m.Member, d)
			}
		}
	}
	check(p)
	if last != 5 || len(want[2]) != 5 {
		t.Fatalf("%d intervals, scores %v", last, want)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	c.opt.Progress = nil
	check(mustTrain(t, c.opt)) // it ends again, and does not count twice
}

func TestScoresAreBounded(t *testing.T) {
	m := &member{measured: measured{objective: 1, hasObjective: true}}
	for i := range int64(300) {
		m.objective = float64(i)
		m.score(i + 1)
	}
	if n := len(m.scores); n != 100 || m.scores[0] != 200 || m.scores[99] != 299 {
		t.Errorf("%d scores, from %v to %v", n, m.scores[0], m.scores[n-1])
	}
	m.diverged = "weights"
	m.score(301)
	if !math.IsNaN(m.scores[99]) {
		t.Error("a diverged member has a score")
	}
}

func TestTarget(t *testing.T) {
	worst := func(p *Population) float64 {
		low := math.Inf(1)
		for _, m := range p.Generation().Members {
			s := m.Scores[max(0, len(m.Scores)-10):]
			sum := 0.0
			for _, x := range s {
				sum += x
			}
			low = min(low, sum/float64(len(s)))
		}
		return low
	}
	target := -0.6
	c := newColony(4)
	c.opt.Directory, c.opt.TotalSteps = t.TempDir(), 5000
	c.opt.Target = &Target{target, 3}
	p := mustTrain(t, c.opt)
	end := p.Iteration()
	if end < 4 || end >= 100 || worst(p) < target {
		t.Errorf("stopped after %d intervals with a mean of at least %v, target %v", end, worst(p), target)
	}
	if n := len(kinds(p.Journal(), journal.Final)); n != 4 {
		t.Errorf("%d members ended", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustTrain(t, c.opt)
	if again.Iteration() != end {
		t.Errorf("continued to interval %d", again.Iteration())
	}
	c.opt.Directory, c.opt.Target.Generations = t.TempDir(), end+2
	if late := mustTrain(t, c.opt); late.Iteration() != end+2 {
		t.Errorf("stopped after %d intervals, want %d", late.Iteration(), end+2)
	}
}

func TestOthersHyperparameters(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = decided{{Member: 0, Action: strategy.SelfMutate}, {Member: 2, Action: strategy.Replace, Source: 1, From: strategy.HyperparametersOf(0)}}
	c.opt.TotalSteps = 100
	p := mustTrain(t, c.opt)
	before := kinds(p.Journal(), journal.SelfMutate)[0].Before
	if got := kinds(p.Journal(), journal.Replace)[0].After; !maps.Equal(got, before) {
		t.Errorf("handed on were %v, want those of member 0 before it mutated, %v", got, before)
	}
	for _, wrong := range []strategy.Decision{
		{Member: 2, Action: strategy.Replace, Source: 1, From: strategy.HyperparametersOf(3)},
		{Member: 2, Action: strategy.Replace, Source: 1, From: strategy.HyperparametersOf(-1)},
	} {
		c := newColony(3)
		c.opt.Strategy = decided{wrong}
		if _, err := mustNew(t, c.opt).Train(t.Context()); err == nil || !strings.Contains(err.Error(), "From must be a member") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestEvolverContradictions(t *testing.T) {
	target, nothing := 1.0, math.NaN()
	for name, set := range map[string]func(o *Options){
		"Evolve and Explore both":          func(o *Options) { o.Explore = newColony(2).opt.Explore },
		"pbt: Evolve and Explore both say": func(o *Options) { o.Explore = explore.Perturbation{} },
		"breeder: no learning rate": func(o *Options) {
			build := o.New
			o.Sample, o.New = nil, func(m Member) (Trainee, error) {
				g, err := build(m)
				return nameless{g}, err
			}
		},
		"Figure:NaN":     func(o *Options) { o.Target = &Target{Figure: nothing} },
		"Generations:-1": func(o *Options) { o.Target = &Target{target, -1} },
	} {
		c := newBreed(2, breeder{})
		set(&c.opt)
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

type nameless struct{ Trainee }

func (nameless) Hyperparameters() map[string]float64 { return nil }

func TestEventOfEvolution(t *testing.T) {
	e := journal.Event{Kind: journal.Replace, Iteration: 2, Member: 1, Parent: 0, Steps: 5, ParentSteps: 6, Mutation: "head.add_layer", Architecture: "4→[64 64]", Rebuilt: true}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back journal.Event
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, back); d != "" {
		t.Error(d)
	}
	if data, err = json.Marshal(journal.Event{Kind: journal.Keep, Parent: -1}); err != nil || strings.Contains(string(data), "architecture") || strings.Contains(string(data), "mutation") {
		t.Errorf("%s, %v", data, err)
	}
}

func TestOnInterval(t *testing.T) {
	c := newColony(3)
	c.opt.TotalSteps = 175
	var seen []int64
	c.opt.OnInterval = func(p *Population) error {
		g := p.Generation()
		seen = append(seen, g.Members[0].Steps)
		if p.Best() == nil || p.Trainee(2) == nil {
			t.Error("there is no best, or no trainee")
		}
		return nil
	}
	mustTrain(t, c.opt)
	if !slices.Equal(seen, []int64{50, 100, 150, 175}) {
		t.Errorf("called after %v steps", seen)
	}
	c.opt.OnInterval = func(*Population) error { return errors.New("the disk is full") }
	if _, err := mustNew(t, c.opt).Train(t.Context()); err == nil || !strings.Contains(err.Error(), "OnInterval: the disk is full") {
		t.Error(err)
	}
}

type forFour struct{ strategy.Never }

func (forFour) ValidateMembers(members int) error {
	if members != 4 {
		return errors.New("four members, please")
	}
	return nil
}

func TestStrategyKnowsItsPopulation(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = forFour{}
	if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), "four members") {
		t.Error(err)
	}
	c = newColony(4)
	c.opt.Strategy = forFour{}
	mustNew(t, c.opt)
}
