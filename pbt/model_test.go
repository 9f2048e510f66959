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
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/internal/streams"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// world is a population drawn at random: options, and what fails in which member after how many environment steps.
type world struct {
	name   string
	adjust func(o *Options)
	faults map[int]map[int64]string // by member and the trainee's environment steps
}

// alternating replaces odd members and lets even ones mutate themselves, unless they have diverged: a process that
// cannot build a second trainee has no weights of them.
var alternating = each(func(m strategy.Status, _ strategy.Generation) strategy.Decision {
	switch {
	case m.Member%2 == 1:
		return strategy.Decision{Action: strategy.Replace, Mutate: true, Reason: "odd"}
	case m.Member == 0 || m.Diverged():
		return strategy.Decision{Action: strategy.Keep}
	}
	return strategy.Decision{Action: strategy.SelfMutate, Reason: "even"}
})

// rotating lets every member copy the next healthy one, which is replaced as well. Odd members do not mutate, and every
// third takes its own hyperparameters.
var rotating = each(func(m strategy.Status, g strategy.Generation) strategy.Decision {
	for i := range len(g.Members) - 1 {
		source := (m.Member + 1 + i) % len(g.Members)
		if g.Members[source].Healthy() {
			d := strategy.Decision{Action: strategy.Replace, Source: source, Mutate: m.Member%2 == 0, Reason: "next"}
			if m.Member%3 == 2 {
				d.From = strategy.HyperparametersOf(m.Member)
			}
			return d
		}
	}
	return strategy.Decision{Action: strategy.Keep}
})

// others lets replaced members mutate the hyperparameters of the member after them.
type others struct{ strategy.Strategy }

func (s others) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	decisions := s.Strategy.Decide(g, rng)
	for i := range decisions {
		decisions[i].From = strategy.HyperparametersOf((decisions[i].Member + 1) % len(g.Members))
	}
	return decisions
}

// randomWorld draws a world. Its number decides about the strategy and whether there are delays, so that a few worlds
// have every pair of them.
func randomWorld(n int, rng *rand.Rand) world {
	w := world{faults: make(map[int]map[int64]string)}
	members, total := 2+rng.IntN(5), int64(150+rng.IntN(250))
	ranking := strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001}
	rules := []strategy.Strategy{ranking, alternating, rotating, others{ranking}, strategy.DefaultQuantile()}
	rule, delays := rules[n%len(rules)], Delays{}
	if n%2 == 1 {
		delays = Delays{InitialDelay: rng.Int64N(120), StartAfter: 30 + rng.Int64N(120), SettleMutations: n%4 == 1}
	}
	var reference []int
	if rng.IntN(3) == 0 {
		reference = []int{rng.IntN(members)}
	}
	minimise, diversify, window, seed := rng.IntN(4) == 0, rng.IntN(4) == 0, rng.IntN(3), rng.Int64N(1000)
	rebuild, pb2 := rng.IntN(4) == 0, rng.IntN(4) == 0
	w.adjust = func(o *Options) {
		o.Members, o.TotalSteps, o.Strategy, o.Delays, o.Reference = members, total, rule, delays, reference
		o.Diversify, o.Seed = diversify, seed
		if minimise {
			o.Objective, o.Measure.Minimise = "loss", true
		}
		if window > 0 {
			o.Measure.Window, o.Measure.Reducer, o.ProgressSteps = 4, reducers[window], 10
		}
		if rebuild {
			o.Rebuild = []string{"discount_factor"}
		}
		if pb2 {
			rates := explore.Range{Low: 1e-4, High: 0.4, Log: true}
			o.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": rates}}
		}
	}
	// Member 0 stays sound, so that somebody is left to copy.
	for id := 1; id < members; id++ {
		if rng.IntN(3) == 0 {
			w.faults[id] = map[int64]string{1 + rng.Int64N(total-1): []string{"NaN", "error"}[rng.IntN(2)]}
		}
	}
	w.name = fmt.Sprintf("%d members, %T, %+v, rebuild %t, PB2 %t, faults %v", members, rule, delays, rebuild, pb2,
		w.faults)
	return w
}

// colony makes a colony of the world; before every environment step it calls hook.
func (w world) colony(hook func()) *colony {
	c := newColony(0)
	w.arm(c, hook)
	return c
}

func (w world) arm(c *colony, hook func()) {
	w.adjust(&c.opt)
	c.faults.train = func(m *climber) error {
		hook()
		switch w.faults[m.id][m.steps] {
		case "NaN":
			m.x[1] = math.NaN()
		case "error":
			return errors.New("the simulator is gone")
		}
		return nil
	}
}

// TestOneLoop: however a population of members that wait for each other is trained, it comes to the same. It is trained
// by the plain algorithm, in one process, with and without interruptions, and by members that know each other by a
// folder only, with interruptions, in turns, and in processes that cannot build a second trainee.
func TestOneLoop(t *testing.T) {
	t.Parallel()
	worlds := 20
	if testing.Short() {
		worlds = 5
	}
	for n := range worlds {
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		w := randomWorld(n, rng)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			t.Log(w.name)
			c := w.colony(func() {})
			c.opt.Parallel = 1 + rng.IntN(4)
			want := mustTrain(t, c.opt)
			if g := c.faults.greatest.Load(); g > int64(c.opt.Parallel) {
				t.Errorf("%d members trained at a time, want at most %d", g, c.opt.Parallel)
			}
			if _, plain := want.opt.Explore.(explore.Mutation); plain && !c.opt.Diversify {
				w.compareReference(t, c.opt, want)
			}
			got, breaks := interrupted(t, func() int64 { return 1 + rng.Int64N(1200) }, func(stop func()) *colony {
				c := w.colony(stop)
				c.opt.SaveSteps = int64(rng.IntN(3) * 17)
				return c
			})
			compare(t, want, got)
			runs := w.apart(t, rng, want)
			t.Logf("%d replacements, %d interruptions, %d runs apart", len(kinds(want.Journal(), journal.Replace)),
				breaks, runs)
		})
	}
}

// apart trains the members each for itself over a folder, and compares their journals with that of one population.
func (w world) apart(t *testing.T, rng *rand.Rand, want *Population) int64 {
	dir, slice, restart := t.TempDir(), int64(rng.IntN(3)), rng.IntN(2) == 0
	var runs atomic.Int64
	trainApart(t, dir, func(r *processes) {
		w.arm(r.colony, func() {})
		r.cfg.Slice, r.cfg.RestartProcess = slice, restart
	}, func(ctx context.Context, id, run int, c *colony, s *Population) error {
		runs.Add(1)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		left := 20 + rand.New(rand.NewPCG(uint64(id), uint64(run))).IntN(300)
		train := c.faults.train
		joined(s).m.trainee.(*climber).faults = &faults{train: func(m *climber) error {
			if left--; left == 0 {
				cancel()
			}
			return train(m)
		}}
		_, err := s.Train(ctx)
		return err
	})
	compareWorkspace(t, want, dir)
	return runs.Load()
}

// reference is the plain algorithm: train all, rank, copy, mutate.
type reference struct {
	Options
	members  []*climber
	status   []strategy.Status
	readings [][]float64
	events   []string
}

// compareReference holds a population against the plain algorithm.
func (w world) compareReference(t *testing.T, o Options, p *Population) {
	t.Helper()
	c := &colony{faults: &faults{}, opt: o.withDefaults().clone()}
	w.arm(c, func() {})
	r := &reference{Options: c.opt, readings: make([][]float64, o.Members)}
	for id := range o.Members {
		m := newClimber(Member{ID: id, Seed: streams.Seed(o.Seed, streams.MemberSeed, int64(id))}, c.faults)
		_ = m.SetHyperparameters(r.initial(id))
		r.members, r.status = append(r.members, m), append(r.status, strategy.Status{Member: id})
	}
	for k := int64(1); k <= r.lastIteration(); k++ {
		for id := range r.members {
			r.train(t.Context(), id, k)
		}
		if k < r.lastIteration() {
			r.decide(t, k)
		}
	}
	var got []string
	for _, e := range p.Journal() {
		switch e.Kind {
		case journal.Keep, journal.Replace, journal.SelfMutate, journal.ApplyFailed:
			got = append(got, line(e.Iteration, e.Member, e.Kind, e.Parent, e.After))
		}
	}
	must.Equal(t, "the decisions (want: the plain algorithm's)", r.events, got)
	for id, s := range r.status {
		m := p.Generation().Members[id]
		if have := p.Trainee(id).(*climber); !s.Failed && !cmp.Equal(r.members[id].x, have.x, cmpopts.EquateNaNs()) {
			t.Errorf("member %d has weights %v, by the plain algorithm %v", id, have.x, r.members[id].x)
		}
		if m.Steps != s.Steps || m.SinceCopy != s.SinceCopy || m.SinceChange != s.SinceChange ||
			m.WeightSteps != s.WeightSteps || m.Failed != s.Failed ||
			!maps.Equal(m.Hyperparameters, s.Hyperparameters) ||
			!s.Failed && !cmp.Equal(m.Scores, s.Scores, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()) {
			t.Errorf("member %d ended as %+v, by the plain algorithm as %+v", id, m, s)
		}
	}
	if standings, err := journalcheck.Replay(p.Journal()); err != nil || len(standings) != o.Members {
		t.Errorf("the journal replays to %v, %v", standings, err)
	}
}

func line(iteration int64, id int, kind any, parent int, after map[string]float64) string {
	text, _ := json.Marshal(after)
	return fmt.Sprintf("%d %d %v %d %s", iteration, id, kind, parent, text)
}

// train trains a member step by step to the end of interval k, and reads its objective where a population pauses.
func (r *reference) train(ctx context.Context, id int, k int64) {
	m, s := r.members[id], &r.status[id]
	for s.Steps < r.target(k) && !s.Failed {
		end := r.pause(k, s.Steps)
		if guarded(func() error { return m.Train(ctx, 1) }) != nil {
			*s = strategy.Status{Member: id, Steps: s.Steps, SinceCopy: s.SinceCopy, SinceChange: s.SinceChange,
				WeightSteps: s.WeightSteps, Failed: true}
			break
		}
		s.Steps, s.SinceCopy, s.SinceChange, s.WeightSteps = s.Steps+1, s.SinceCopy+1, s.SinceChange+1, s.WeightSteps+1
		if s.Steps < end {
			continue
		}
		figure := m.Metrics()[r.Objective]
		r.readings[id] = append(r.readings[id], figure)
		if n := r.Measure.Window; n > 0 {
			figure = r.Measure.Reducer.reduce(r.readings[id][max(0, len(r.readings[id])-n):], r.Measure.Minimise)
		}
		s.Objective, s.HasObjective = r.Measure.signed(figure), true
		if number.Finite(figure) && (!s.HasPeak || s.Objective > s.Peak) {
			s.Peak, s.HasPeak = s.Objective, true
		}
	}
	s.Iteration, s.Hyperparameters = k, m.Hyperparameters()
	if s.HasObjective && !s.Failed {
		s.Scores = append(s.Scores, s.Objective)
	}
}

// decide decides at the end of interval k, and applies the decisions to the members as they were before.
func (r *reference) decide(t *testing.T, k int64) {
	g := strategy.Generation{Iteration: k, Members: r.status}
	asked := must.Get(strategy.Ask(r.Strategy, g, streams.New(r.Seed, streams.Decide, k)))(t)
	decisions := strategy.Settle(asked, g, r.Delays, r.Reference)
	before := strategy.Generation{Members: r.status}.Clone().Members
	sources := make([]climber, len(r.members))
	for i, m := range r.members {
		sources[i] = *m
		source := *m.source
		sources[i].source = &source
	}
	for id, d := range decisions {
		s, m, values, parent := &r.status[id], r.members[id], before[id].Hyperparameters, -1
		if d.Action == strategy.Replace {
			values, parent = before[d.Origin()].Hyperparameters, d.Source
			snapshot, _ := sources[d.Source].Snapshot()
			if s.Failed {
				m = newClimber(Member{ID: id}, m.faults)
				r.members[id] = m
			}
			_ = m.Restore(snapshot)
			_ = m.Reseed(streams.Seed(r.Seed, streams.Reseed, k, int64(id)))
			*s = strategy.Status{Member: id, Steps: s.Steps, WeightSteps: before[d.Source].WeightSteps,
				Scores: slices.Clone(before[d.Source].Scores)}
			r.readings[id] = nil
		}
		if d.Action == strategy.SelfMutate {
			s.SinceChange = 0
		}
		if d.Action == strategy.SelfMutate || d.Action == strategy.Replace && d.Mutate {
			c, _, _ := r.mutate(Candidate{Member: id, Iteration: k, Hyperparameters: values}, nil)
			values = c.Hyperparameters
		}
		var after map[string]float64
		if d.Action != strategy.Keep {
			_ = m.SetHyperparameters(values)
			after = m.Hyperparameters()
		}
		s.Peak, s.HasPeak = 0, false
		r.events = append(r.events, line(k, id, d.Action, parent, after))
	}
}
