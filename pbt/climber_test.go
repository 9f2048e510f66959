package pbt

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// climber minimises a quadratic by gradient descent with noisy gradients. Great learning rates come down fast and
// stay high on the noise; above 2/curvature they diverge; small ones crawl. Its snapshots hold the learning rate,
// as an optimizer's do, so that a population that set hyperparameters before weights would lose them.
type climber struct {
	id       int
	x        [4]float64
	steps    int64
	rate     float64
	discount float64
	hidden   float64 // a weight that the objective does not show
	source   *rand.PCG
	rng      *rand.Rand

	faults *faults
	closed int
}

// faults are what a test makes go wrong, and what it watches.
type faults struct {
	train    func(c *climber) error // before every step
	restore  func(c *climber) error
	set      func(c *climber, values map[string]float64) error
	snapshot func(c *climber) error
	running  atomic.Int64
	greatest atomic.Int64
}

// letOthersRun is a fault that is none: a step during which other members may begin theirs.
func letOthersRun(*climber) error {
	for range 50 {
		runtime.Gosched()
	}
	return nil
}

func newClimber(m Member, f *faults) *climber {
	c := &climber{id: m.ID, x: [4]float64{3, -2, 1, 4}, rate: 0.01, discount: 0.99, faults: f}
	c.source = rand.NewPCG(uint64(m.Seed), 1)
	c.rng = rand.New(c.source)
	return c
}

func (c *climber) Train(ctx context.Context, steps int64) error {
	n := c.faults.running.Add(1)
	defer c.faults.running.Add(-1)
	for g := c.faults.greatest.Load(); n > g && !c.faults.greatest.CompareAndSwap(g, n); g = c.faults.greatest.Load() {
	}
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.faults.train != nil {
			if err := c.faults.train(c); err != nil {
				return err
			}
		}
		for i := range c.x {
			gradient := float64(i+1)*c.x[i] + c.rng.NormFloat64()
			c.x[i] -= c.rate * gradient
		}
		c.steps++
	}
	return nil
}

func (c *climber) objective() float64 {
	loss := 0.0
	for i, x := range c.x {
		loss += float64(i+1) * x * x / 2
	}
	return -loss
}

func (c *climber) Steps() int64 { return c.steps }

func (c *climber) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": c.objective(), "loss": -c.objective()}
}

func (c *climber) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": c.rate, "discount_factor": c.discount}
}

func (c *climber) SetHyperparameters(values map[string]float64) error {
	if c.faults.set != nil {
		if err := c.faults.set(c, values); err != nil {
			return err
		}
	}
	for key := range values {
		if key != "learning_rate" && key != "discount_factor" {
			return fmt.Errorf("climber: no hyperparameter %q", key)
		}
	}
	if v, ok := values["learning_rate"]; ok {
		c.rate = v
	}
	if v, ok := values["discount_factor"]; ok {
		c.discount = v
	}
	return nil
}

func (c *climber) Snapshot() (*checkpoint.Snapshot, error) {
	if c.faults.snapshot != nil {
		if err := c.faults.snapshot(c); err != nil {
			return nil, err
		}
	}
	state, err := c.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var x []byte
	for _, v := range c.x {
		x = binary.LittleEndian.AppendUint64(x, math.Float64bits(v))
	}
	return &checkpoint.Snapshot{
		Arrays: map[string]checkpoint.Array{"parameters": {DType: checkpoint.F64, Shape: []int64{4}, Data: x},
			"hidden": checkpoint.ArrayFloat64([]int64{1}, []float64{c.hidden})},
		Values: map[string]any{"steps": c.steps, "learning_rate": c.rate, "random": hex.EncodeToString(state)},
	}, nil
}

func (c *climber) Restore(s *checkpoint.Snapshot) error {
	if c.faults.restore != nil {
		if err := c.faults.restore(c); err != nil {
			return err
		}
	}
	x, err := s.Float64s("parameters", 4)
	hidden, err5 := s.Float64s("hidden", 1)
	steps, err1 := s.Int("steps")
	rate, err2 := s.Float("learning_rate")
	text, err3 := s.Text("random")
	state, err4 := hex.DecodeString(text)
	if err := errors.Join(err, err1, err2, err3, err4, err5); err != nil {
		return err
	}
	if err := c.source.UnmarshalBinary(state); err != nil {
		return err
	}
	copy(c.x[:], x)
	c.steps, c.rate, c.hidden = steps, rate, hidden[0]
	return nil
}

// Reseed implements Reseeder.
func (c *climber) Reseed(seed int64) error {
	c.source.Seed(uint64(seed), 1)
	return nil
}

func (c *climber) Close() error {
	c.closed++
	return nil
}

// colony is a population of climbers and what a test needs to look at it.
type colony struct {
	faults *faults
	built  []*climber
	opt    Options
}

// newColony has options to change before making populations of it.
func newColony(members int) *colony {
	c := &colony{faults: &faults{}}
	c.opt = Options{
		Members: members, Objective: "episode.return", IntervalSteps: 50, TotalSteps: 500, Seed: 11,
		Strategy: strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001},
		Explore: explore.Mutation{Rate: 0.8, Bounds: map[string][2]float64{"learning_rate": {1e-5, 0.4}},
			Rules: explore.Rules{"learning_rate": explore.MutateFloat, "discount_factor": explore.MutateDiscount}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.3, Log: true}},
		New:    c.build,
	}
	return c
}

func (c *colony) build(m Member) (Trainee, error) {
	t := newClimber(m, c.faults)
	c.built = append(c.built, t)
	return t, nil
}

// rates makes the members begin with these learning rates.
func (c *colony) rates(rates ...float64) {
	c.opt.Initial = nil
	for _, r := range rates {
		c.opt.Initial = append(c.opt.Initial, map[string]float64{"learning_rate": r})
	}
}

// at calls f before step n of the trainee that member id began with.
func (c *colony) at(id int, n int64, f func(m *climber) error) {
	before := c.faults.train
	c.faults.train = func(m *climber) error {
		if m == c.built[id] && m.steps == n {
			if err := f(m); err != nil {
				return err
			}
		}
		if before != nil {
			return before(m)
		}
		return nil
	}
}

// diverge makes members' parameters NaN in their step n.
func (c *colony) diverge(n int64, members ...int) {
	for _, id := range members {
		c.at(id, n, func(m *climber) error { m.x[1] = math.NaN(); return nil })
	}
}

// divergeUnseen makes the hidden weight of members infinite in their step n.
func (c *colony) divergeUnseen(n int64, members ...int) {
	for _, id := range members {
		c.at(id, n, func(m *climber) error { m.hidden = math.Inf(-1); return nil })
	}
}

// atEnd returns, once the population has trained, the trainee that member id had at the first interval's end.
func (c *colony) atEnd(id int) *climber {
	found := new(climber)
	c.opt.Progress = func(u Update) {
		if u.Event == nil && u.Iteration == 1 && u.Status.Member == id && u.Status.Steps == c.opt.IntervalSteps {
			*found = *c.built[id]
		}
	}
	return found
}

// decided gives fixed decisions at the first interval's end, and keeps everyone later.
type decided []strategy.Decision

func (d decided) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	if g.Iteration > 1 {
		return nil
	}
	return d
}

// each makes a strategy of a decision about one member.
type each func(m strategy.Status, g strategy.Generation) strategy.Decision

func (f each) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members {
		d := f(m, g)
		d.Member = m.Member
		decisions = append(decisions, d)
	}
	return decisions
}
