package pbt

import (
	"bytes"
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

	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// world is a population drawn at random: options, and what fails in which member after how many environment steps.
type world struct {
	name   string
	adjust func(o *Options)
	faults map[int]map[int64]string // by member and the trainee's environment steps
}

// randomWorld draws a world.
func randomWorld(rng *rand.Rand) world {
	w := world{faults: make(map[int]map[int64]string)}
	members, total := 2+rng.IntN(5), int64(150+rng.IntN(250))
	strategies := []strategy.Strategy{
		strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001}, strategy.DefaultQuantile(), alternating{},
		ownValues{strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001}},
	}
	kind, delays := rng.IntN(len(strategies)), Delays{}
	if rng.IntN(3) == 0 {
		delays = Delays{InitialDelay: int64(rng.IntN(120)), StartAfter: int64(rng.IntN(120)), SettleMutations: rng.IntN(2) == 0}
	}
	var reference []int
	if rng.IntN(3) == 0 {
		reference = []int{rng.IntN(members)}
	}
	minimise, diversify, window, rebuild, pb2, seed := rng.IntN(4) == 0, rng.IntN(3) == 0, rng.IntN(3), rng.IntN(4) == 0, rng.IntN(4) == 0, rng.Int64N(1000)
	w.adjust = func(o *Options) {
		o.Members, o.TotalSteps, o.Strategy, o.Delays, o.Reference = members, total, strategies[kind], delays, reference
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
			o.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.4, Log: true}}}
		}
	}
	// Member 0 stays sound, so that somebody is left to copy.
	for id := 1; id < members; id++ {
		if rng.IntN(3) == 0 {
			w.faults[id] = map[int64]string{1 + rng.Int64N(total-1): []string{"NaN", "error"}[rng.IntN(2)]}
		}
	}
	w.name = fmt.Sprintf("%d members, %T, %+v, rebuild %t, PB2 %t, faults %v", members, strategies[kind], delays, rebuild, pb2, w.faults)
	return w
}

// arm makes a colony of the world; before every environment step it calls hook.
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
// in one process, with and without interruptions and damage, and by members that know each other by a folder only, with
// interruptions, in turns, and in processes that cannot build a second trainee.
func TestOneLoop(t *testing.T) {
	t.Parallel()
	worlds := 12
	if testing.Short() {
		worlds = 4
	}
	for n := range worlds {
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		w := randomWorld(rng)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			t.Log(w.name)
			c := newColony(0)
			w.arm(c, func() {})
			c.opt.Parallel = 1 + rng.IntN(4)
			want := mustTrain(t, c.opt)
			if _, plain := want.opt.Explore.(explore.Mutation); plain && c.opt.Rebuild == nil && !c.opt.Diversify {
				w.compareReference(t, c.opt, want)
			}
			dir := t.TempDir()
			breaks := w.interrupted(t, dir, rng)
			compare(t, want, mustTrainIn(t, w, dir))
			runs := w.apart(t, rng, dir)
			t.Logf("%d replacements, %d interruptions, %d runs apart", len(kinds(want.Journal(), journal.Replace)), breaks, runs)
		})
	}
}

// mustTrainIn opens a population that was trained to its end.
func mustTrainIn(t *testing.T, w world, dir string) *Population {
	c := newColony(0)
	w.arm(c, func() {})
	c.opt.Directory = dir
	return mustTrain(t, c.opt)
}

// interrupted trains a population in a directory, and stops and continues it after random numbers of steps.
func (w world) interrupted(t *testing.T, dir string, rng *rand.Rand) (breaks int) {
	for ; ; breaks++ {
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(1 + rng.Int64N(1200))
		c := newColony(0)
		w.arm(c, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
		c.opt.Directory, c.opt.SaveSteps = dir, int64(rng.IntN(3)*17)
		p := mustNew(t, c.opt)
		if p.Recovered() != nil {
			t.Error(p.Recovered())
		}
		_, err := p.Train(ctx)
		cancel()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			return breaks
		}
		if !errors.Is(err, context.Canceled) || breaks > 200 {
			t.Fatal(err)
		}
	}
}

// apart trains the members each for itself over a folder, and compares the folder with that of one population.
func (w world) apart(t *testing.T, rng *rand.Rand, want string) int64 {
	dir, slice, restart := t.TempDir(), int64(rng.IntN(3)), rng.IntN(2) == 0
	var runs atomic.Int64
	workerHerd(t, dir, func(r *tribe) {
		w.arm(r.colony, func() {})
		r.opt.Asynchronous, r.cfg.Slice, r.cfg.RestartProcess = false, slice, restart
		r.board = folder(t, dir, r.opt.Members)
		r.cfg.Store = r.board
	}, func(ctx context.Context, id, run int, s *Population) error {
		runs.Add(1)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		left := 20 + rand.New(rand.NewPCG(uint64(id), uint64(run))).IntN(300)
		c := s.worker().m.trainee.(*climber)
		train := c.faults.train
		c.faults = &faults{train: func(m *climber) error {
			if left--; left == 0 {
				cancel()
			}
			return train(m)
		}}
		_, err := s.Train(ctx)
		return err
	})
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(readJournal(t, want)), lines(t, events)); d != "" {
		t.Errorf("apart, in turns of %d intervals, restarting %t: the journals differ: %s", slice, restart, d)
	}
	checkStates(t, dir, events)
	return runs.Load()
}

// compareReference holds a population against the plain algorithm: train all, rank, copy, mutate.
func (w world) compareReference(t *testing.T, o Options, p *Population) {
	t.Helper()
	o = o.withDefaults().clone()
	f := &faults{}
	c := &colony{faults: f, opt: o}
	w.arm(c, func() {})
	members := make([]*climber, o.Members)
	status := make([]strategy.Status, o.Members)
	readings := make([][]float64, o.Members)
	var want []string
	note := func(iteration int64, id int, kind any, parent int, after map[string]float64) {
		text, _ := json.Marshal(after)
		want = append(want, fmt.Sprintf("%d %d %v %d %s", iteration, id, kind, parent, text))
	}
	for id := range members {
		members[id] = newClimber(Member{ID: id, Seed: seed(o.Seed, streamSeed, int64(id))}, f)
		_ = members[id].SetHyperparameters(o.initial(id))
		status[id] = strategy.Status{Member: id}
	}
	read := func(id int) {
		figure := members[id].Metrics()[o.Objective]
		readings[id] = append(readings[id], figure)
		if n := o.Measure.Window; n > 0 {
			figure = o.Measure.Reducer.reduce(readings[id][max(0, len(readings[id])-n):], o.Measure.Minimise)
		}
		s := &status[id]
		s.Objective, s.HasObjective = o.Measure.signed(figure), true
		if !math.IsNaN(figure) && !math.IsInf(figure, 0) && (!s.HasPeak || s.Objective > s.Peak) {
			s.Peak, s.HasPeak = s.Objective, true
		}
	}
	for k := int64(1); k <= o.lastIteration(); k++ {
		for id, m := range members {
			s := &status[id]
			for s.Steps < o.target(k) && !s.Failed {
				end := o.pause(k, s.Steps)
				err := guarded(func() error { return m.Train(t.Context(), 1) })
				if s.Failed = err != nil; s.Failed {
					*s = strategy.Status{Member: id, Steps: s.Steps, SinceCopy: s.SinceCopy, SinceChange: s.SinceChange, Failed: true}
					break
				}
				s.Steps, s.SinceCopy, s.SinceChange, s.WeightSteps = s.Steps+1, s.SinceCopy+1, s.SinceChange+1, s.WeightSteps+1
				if s.Steps == end {
					read(id)
				}
			}
			s.Iteration, s.Hyperparameters = k, m.Hyperparameters()
		}
		if k == o.lastIteration() {
			break
		}
		decisions, err := o.decide(strategy.Generation{Iteration: k, Members: status}, stream(o.Seed, streamDecide, k))
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(status)
		for i := range before {
			before[i].Hyperparameters = maps.Clone(status[i].Hyperparameters)
		}
		sources := make([]climber, len(members))
		for i, m := range members {
			sources[i] = *m
			state, _ := m.source.MarshalBinary()
			sources[i].source = rand.NewPCG(0, 0)
			_ = sources[i].source.UnmarshalBinary(state)
		}
		for id, d := range decisions {
			s, m := &status[id], members[id]
			values := before[id].Hyperparameters
			if d.Action == strategy.Replace {
				values = before[d.Origin()].Hyperparameters
				snapshot, _ := sources[d.Source].Snapshot()
				if s.Failed {
					m = newClimber(Member{ID: id}, f)
					members[id] = m
				}
				_ = m.Restore(snapshot)
				_ = m.Reseed(seed(o.Seed, streamReseed, k, int64(id)))
				*s = strategy.Status{Member: id, Steps: s.Steps, WeightSteps: before[d.Source].WeightSteps}
				readings[id] = nil
			}
			if d.Action == strategy.SelfMutate {
				s.SinceChange = 0
			}
			if d.Action == strategy.SelfMutate || d.Action == strategy.Replace && d.Mutate {
				values = o.explore(k, id, values, nil)
			}
			var after map[string]float64
			if d.Action != strategy.Keep {
				_ = m.SetHyperparameters(values)
				after = m.Hyperparameters()
			}
			s.Peak, s.HasPeak = 0, false
			note(k, id, d.Action, map[bool]int{true: d.Source, false: -1}[d.Action == strategy.Replace], after)
		}
	}
	var got []string
	for _, e := range p.Journal() {
		switch e.Kind {
		case journal.Keep, journal.Replace, journal.SelfMutate, journal.ApplyFailed:
			text, _ := json.Marshal(e.After)
			got = append(got, fmt.Sprintf("%d %d %v %d %s", e.Iteration, e.Member, e.Kind, e.Parent, text))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the plain algorithm decides otherwise: %s", d)
	}
	for id, m := range members {
		if have := p.Trainee(id).(*climber); status[id].Failed == false && !bytes.Equal(fmt.Append(nil, m.x), fmt.Append(nil, have.x)) {
			t.Errorf("member %d has weights %v, by the plain algorithm %v", id, have.x, m.x)
		}
	}
	standings, err := journalcheck.Replay(p.Journal())
	if err != nil || len(standings) != o.Members {
		t.Errorf("the journal replays to %v, %v", standings, err)
	}
}

// ownValues lets replaced members mutate their own hyperparameters.
type ownValues struct{ strategy.Strategy }

func (s ownValues) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	decisions := s.Strategy.Decide(g, rng)
	for i := range decisions {
		decisions[i].From = strategy.HyperparametersOf(decisions[i].Member)
	}
	return decisions
}
