package report

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// learner goes towards 100 at a pace that depends on its rate and, with time, wants ever smaller ones.
type learner struct {
	rng            *rand.Rand
	level          float64
	steps          int64
	rate, discount float64
	failAt, nanAt  int64
	lossy          bool
}

func (l *learner) Train(_ context.Context, steps int64) error {
	for range steps / 10 {
		l.steps += 10
		if l.failAt > 0 && l.steps >= l.failAt {
			return errors.New("the robot fell <over> & broke")
		}
		want := 1e-2 * math.Pow(10, -2*l.level/100)
		d := math.Log10(l.rate / want)
		l.level += (100 - l.level) * 0.004 * math.Exp(-d*d) * l.discount
	}
	return nil
}

func (l *learner) figure() float64 {
	if l.nanAt > 0 && l.steps >= l.nanAt {
		return math.NaN()
	}
	v := l.level + 1.5*l.rng.NormFloat64()
	if l.lossy {
		return 1000 * math.Exp(-v/20)
	}
	return v
}

func (l *learner) Steps() int64 { return l.steps }
func (l *learner) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": l.figure()}
}
func (l *learner) Close() error { return nil }
func (l *learner) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": l.rate, "discount_factor": l.discount, "entropy_loss_scale": 0}
}

func (l *learner) SetHyperparameters(values map[string]float64) error {
	if v, ok := values["learning_rate"]; ok {
		l.rate = v
	}
	if v, ok := values["discount_factor"]; ok {
		l.discount = v
	}
	return nil
}

func (l *learner) Snapshot() (*checkpoint.Snapshot, error) {
	return &checkpoint.Snapshot{Values: map[string]any{"level": l.level, "steps": l.steps}}, nil
}

func (l *learner) Restore(s *checkpoint.Snapshot) (err error) {
	if l.level, err = s.Float("level"); err != nil {
		return err
	}
	l.steps, err = s.Int("steps")
	l.failAt, l.nanAt = 0, 0
	return err
}

// scene of a test: what population to train.
type setup struct {
	members, intervals int
	seed               int64
	strategy           strategy.Strategy
	failing            map[int]int64 // by member, the step
	diverging          map[int]int64
	minimise           bool
	stopAfter          int // intervals; 0 for none
}

// train returns the journal of a population.
func (s setup) train(t testing.TB) []journal.Event {
	t.Helper()
	if s.strategy == nil {
		s.strategy = strategy.IsaacLab{ThresholdStd: 0.8, ThresholdAbs: 1}
	}
	built := make(map[int]bool)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := pbt.New(pbt.Options{
		Members: s.members, Objective: "episode.return", IntervalSteps: 1000, TotalSteps: int64(s.intervals) * 1000, Seed: s.seed,
		Strategy: s.strategy, Measure: pbt.Measure{Minimise: s.minimise}, Parallel: 1,
		Explore: explore.Mutation{Rate: 0.7, Rules: explore.Rules{"learning_rate": explore.MutateFloat, "discount_factor": explore.MutateDiscount}},
		Sample:  map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-2, Log: true}, "discount_factor": {Low: 0.9, High: 0.995}},
		New: func(m pbt.Member) (pbt.Trainee, error) {
			l := &learner{rng: rand.New(rand.NewPCG(uint64(m.Seed), 3)), rate: 1e-3, discount: 0.99, lossy: s.minimise}
			if !built[m.ID] {
				built[m.ID] = true
				l.failAt, l.nanAt = s.failing[m.ID], s.diverging[m.ID]
			}
			return l, nil
		},
		Progress: func(u pbt.Update) {
			if s.stopAfter > 0 && u.Event == nil && u.Iteration > int64(s.stopAfter) {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Train(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, pbt.ErrNoHealthyMember) {
		t.Fatal(err)
	}
	return p.Journal()
}

func historyOf(t testing.TB, events []journal.Event) *journal.History {
	t.Helper()
	h, err := journal.NewHistory(events)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// eight members with everything that can happen.
func eight() setup {
	return setup{members: 8, intervals: 20, seed: 4, failing: map[int]int64{6: 1500}, diverging: map[int]int64{2: 9000}}
}
