package pbt

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// staged is a climber whose stage is fixed when it is built.
type staged struct {
	*climber
	stage  *float64
	strict bool // refuses by ErrRebuild instead of ignoring
}

func (s staged) Hyperparameters() map[string]float64 {
	h := s.climber.Hyperparameters()
	h["stage"] = *s.stage
	return h
}

func (s staged) SetHyperparameters(values map[string]float64) error {
	v, ok := values["stage"]
	if ok && v != *s.stage && s.strict {
		return fmt.Errorf("stage %v: %w", v, ErrRebuild)
	}
	rest := maps.Clone(values)
	delete(rest, "stage")
	return s.climber.SetHyperparameters(rest)
}

// newStaged has two members. What New returns after their first trainees is the error refuse, where that is set.
func newStaged(strict bool) (c *colony, refuse *error) {
	c, refuse = newColony(2), new(error)
	c.opt.TotalSteps, c.opt.Sample, c.opt.Explore = 200, nil, doubling("stage", "learning_rate")
	c.opt.Initial = []map[string]float64{{"stage": 16, "learning_rate": 0.01}}
	c.opt.New = func(m Member) (Trainee, error) {
		if len(c.built) >= 2 && *refuse != nil {
			return nil, *refuse
		}
		t, err := c.build(m)
		stage := m.Hyperparameters["stage"]
		return staged{t.(*climber), &stage, strict}, err
	}
	if !strict {
		c.opt.Rebuild = []string{"stage"}
	}
	return c, refuse
}

// TestRebuild: a hyperparameter that needs another trainee gets one, with the same weights and all else as it was. If
// the new trainee cannot be built or filled, the old one stays at work.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		for _, action := range []strategy.Action{strategy.SelfMutate, strategy.Replace} {
			for _, fails := range []string{"", "New", "Restore"} {
				t.Run(fmt.Sprint(strict, action, fails), func(t *testing.T) { checkRebuild(t, strict, action, fails) })
			}
		}
	}
	c, _ := newStaged(true)
	c.opt.Diversify, c.opt.Strategy = true, strategy.Never{}
	p := mustTrain(t, c.opt)
	for id, e := range kinds(p.Journal(), journal.Start) {
		h := p.Trainee(id).Hyperparameters()
		if h["stage"] == 16 || !maps.Equal(e.After, h) || e.Before["stage"] != 16 {
			t.Errorf("member %d begins with %v, the journal says %+v", id, h, e)
		}
	}
	if len(c.built) != 4 || c.built[0].closed+c.built[1].closed+c.built[2].closed != 2 {
		t.Errorf("%d trainees were built", len(c.built))
	}
}

// checkRebuild lets member 1 change its stage at the first interval's end.
func checkRebuild(t *testing.T, strict bool, action strategy.Action, fails string) {
	c, refuse := newStaged(strict)
	c.opt.Strategy = decided{{Member: 1, Action: action, Mutate: true, Reason: "test"}}
	wrong := errors.New("no such stage")
	from, working := 1, 1 // the member whose weights member 1 goes on with, and the trainee
	switch {
	case fails == "New":
		*refuse = wrong
	case fails == "Restore":
		c.faults.restore = func(m *climber) error {
			if len(c.built) == 3 && m == c.built[2] {
				return wrong
			}
			return nil
		}
	case action == strategy.Replace:
		from, working = 0, 2
	default:
		working = 2
	}
	before, after := c.atEnd(from), climber{}
	c.faults.train = func(m *climber) error {
		if len(c.built) > working && m == c.built[working] && m.steps == 50 {
			after = *m
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	if before.x != after.x || after.steps != 50 {
		t.Errorf("the weights were %v and are %v", before.x, after.x)
	}
	h := p.Trainee(1).Hyperparameters()
	if p.Trainee(1).(staged).climber != c.built[working] {
		t.Error("another trainee is at work")
	}
	for i, m := range c.built {
		want := map[bool]int{true: 1}[i > 0 && i != working]
		must.Is(t, m.closed, want, "how often trainee %d was closed", i)
	}
	if fails != "" {
		if e := kinds(p.Journal(), journal.ApplyFailed); len(e) != 1 || e[0].Rebuilt || e[0].After != nil ||
			!strings.Contains(e[0].Cause, "no such stage") || h["stage"] != 16 || after.rate != 0.01 {
			t.Errorf("it has %v; the journal says %+v", h, e)
		}
		return
	}
	e := kinds(p.Journal(), journal.Kind(action))[0]
	if !e.Rebuilt || e.After["stage"] == 16 || e.After["learning_rate"] != after.rate || !maps.Equal(e.After, h) {
		t.Errorf("it has %v; the journal says %+v", h, e)
	}
}

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
	fault func() error
	chain string // what is always done, where not empty
}

func (b breeder) Evolve(in Candidate, rng *rand.Rand) (Candidate, string, error) {
	if b.fault != nil {
		if err := b.fault(); err != nil {
			return Candidate{}, "", err
		}
	}
	out := in
	what := []string{"grow", "learning_rate", "none"}[rng.IntN(3)]
	if b.chain != "" {
		what = b.chain
	}
	switch what {
	case "nothing":
		return Candidate{}, "", nil
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

func (breeder) Validate(hyperparameters []string) error {
	if !slices.Contains(hyperparameters, "learning_rate") {
		return errors.New("pbt: breeder: no learning rate")
	}
	return nil
}

func (breeder) Keys() []string { return []string{"learning_rate"} }

func (breeder) Architecture(s *checkpoint.Snapshot) string {
	size, _ := s.Int("architectures", "policy")
	return fmt.Sprint("size ", size)
}

// breed lets a colony evolve.
func (c *colony) breed(b breeder) *colony {
	c.opt.Explore, c.opt.Evolve = nil, b
	c.opt.New = func(m Member) (Trainee, error) {
		t, err := c.build(m)
		g := grown{t.(*climber), 1}
		if m.Restoring != nil {
			g.size, err = m.Restoring.Int("architectures", "policy")
		}
		return g, err
	}
	return c
}

// TestEvolver: an evolver takes the place of the mutation, and the journal says what it did to which architecture. An
// evolving population that is stopped and continued ends as one that was not, members of all sizes included.
func TestEvolver(t *testing.T) {
	t.Parallel()
	build := func(stop func()) *colony {
		c := newColony(5).breed(breeder{})
		c.opt.Diversify, c.opt.Reference, c.opt.ProgressSteps = true, []int{3}, 20
		c.opt.Progress = func(Update) { stop() }
		return c
	}
	p := mustTrain(t, build(func() {}).opt)
	sizes, done := map[int]string{}, map[string]int{}
	for _, e := range p.Journal() {
		if e.Kind == journal.Population || e.Kind == journal.Final {
			continue
		}
		changed := e.Kind == journal.Start || e.Kind == journal.Replace || e.Kind == journal.SelfMutate
		if mutated := e.Mutation != ""; mutated != (changed && e.Member != 3) {
			t.Errorf("members but the reference are mutated when they change, and yet %+v", e)
		}
		if own := sizes[e.Member]; e.Kind == journal.SelfMutate && (e.Mutation == "grow") == (own == e.Architecture) ||
			e.Kind == journal.Keep && own != e.Architecture {
			t.Errorf("%s led from %s to %+v", e.Mutation, own, e)
		}
		done[e.Mutation]++
		sizes[e.Member] = e.Architecture
	}
	for id, want := range sizes {
		if got := fmt.Sprint("size ", p.Trainee(id).(grown).size); got != want {
			t.Errorf("member %d is of %s, the journal says %s", id, got, want)
		}
	}
	if done["grow"] < 2 || done["learning_rate"] < 2 || done["none"] < 1 {
		t.Errorf("only %v was done: this shows little", done)
	}
	must.Same(t, p.Table().Keys, []string{"learning_rate"}, "the table's columns")
	got, breaks := interrupted(t, func() int64 { return 19 }, build)
	if compare(t, p, got); breaks < 3 {
		t.Errorf("only %d interruptions", breaks)
	}
}
