package onpolicy

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// namedOptimizer is an optimizer with its moments as they were when an update began.
type namedOptimizer struct {
	name string
	*tensor.Optimizer
	avg, avgSq tensor.Tensor
	steps      int64
}

// Begin remembers parameters, moments and whatever else an update changes, so that Rollback can undo one that diverges
// or is cancelled. What it remembers lives as long as scope s.
func (c *Core) Begin(s *tensor.Scope) {
	s.Copy(c.backup, c.Flat.Values)
	for i := range c.optimizers {
		o := &c.optimizers[i]
		s.Copy(o.avg, o.ExpAvg)
		s.Copy(o.avgSq, o.ExpAvgSq)
		o.steps = o.Steps
	}
	c.remember(s)
}

// Rollback undoes what happened since Begin: the agent stands as it did, its random sequences included.
func (c *Core) Rollback() {
	s := tensor.NoGrad()
	defer s.Close()
	s.Copy(c.Flat.Values, c.backup)
	for _, o := range c.optimizers {
		s.Copy(o.ExpAvg, o.avg)
		s.Copy(o.ExpAvgSq, o.avgSq)
		o.Steps = o.steps
	}
	c.forget(s)
}

// CheckParameters refuses parameters that the last steps of an update have made infinite or no numbers.
func (c *Core) CheckParameters(s *tensor.Scope) error {
	sum := s.Sum(c.Flat.Values)
	if err := s.Err(); err != nil {
		return err
	}
	x, err := tensor.Item(sum)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("the sum of all parameters is %g", x)}
	}
	return err
}

// Minimise makes one optimizer step down the gradient of loss.
func (c *Core) Minimise(s *tensor.Scope, loss tensor.Tensor) {
	c.Flat.ZeroGrad(s)
	s.Backward(loss)
	c.Optimizer.ClipGrad(s)
	c.Optimizer.Step(s)
}

// TooFar reports whether the divergence kl of a minibatch exceeds kl_threshold. Only then does it wait for the device.
func (c *Core) TooFar(s *tensor.Scope, kl tensor.Tensor) (bool, error) {
	if c.Config.KLThreshold <= 0 {
		return false, nil
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	x, err := tensor.Item(kl)
	if err != nil {
		return false, err
	}
	c.seenKL = append(c.seenKL, x)
	return x > c.Config.KLThreshold, nil
}

// Schedule ends a learning epoch. A schedule that looks at the divergence steps once an epoch, by the mean over its
// minibatches (the one that stopped it included); others once an update (skrl 2.0: once an epoch, too).
func (c *Core) Schedule(meter *Meter, lastEpoch bool) {
	defer func() { c.seenKL = c.seenKL[:0] }()
	if c.Scheduler == nil {
		return
	}
	switch {
	case c.Scheduler.UsesKL():
		c.Scheduler.Step(c.epochKL(meter))
	case c.Config.Skrl() || lastEpoch:
		c.Scheduler.Step(math.NaN())
	}
	c.ApplyRates()
}

func (c *Core) epochKL(meter *Meter) float64 {
	if len(c.seenKL) == 0 {
		kl, err := meter.EpochMean("Policy / KL divergence")
		if err != nil {
			return math.NaN()
		}
		return kl
	}
	sum := 0.0
	for _, x := range c.seenKL {
		sum += x
	}
	return sum / float64(len(c.seenKL))
}

// NoteStdDev remembers the mean standard deviation of a continuous policy, for Track.
func (c *Core) NoteStdDev(s *tensor.Scope, e models.Evaluation) {
	if e.StdDev.T != nil && s.Err() == nil {
		c.hasStdDev = true
		s.Copy(c.stdDev, s.Mean(e.StdDev))
	}
}

// Track hands out an update's figures: the means of a meter, the standard deviation, the learning rate.
func (c *Core) Track(means map[string]float64) error {
	for tag, x := range means {
		if tag != "Loss / Entropy loss" || c.Config.EntropyLossScale != 0 {
			c.Tracked.Add(tag, x)
		}
	}
	if c.hasStdDev {
		x, err := tensor.Item(c.stdDev)
		if err != nil {
			return err
		}
		c.Tracked.Add("Policy / Standard deviation", x)
	}
	if c.Scheduler != nil {
		c.Tracked.Add("Learning / Learning rate", c.LearningRate())
	}
	return nil
}

// Finish ends an update: the scalers learn from the rollout, which is then forgotten.
func (c *Core) Finish(s *tensor.Scope) error {
	if !c.Config.Skrl() {
		c.ObservationScaler.Update(s, c.Rollout.Rows("observations"))
		if c.spaces.State.Width() > 0 {
			c.StateScaler.Update(s, c.Rollout.Rows("states"))
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	c.Updates++
	c.Rollout.Clear()
	return nil
}

// Meter accumulates scalars on the device over an update; they are read once, at its end.
type Meter struct {
	names  []string
	sum    tensor.Tensor // float64: losses of minibatches often cancel
	count  int
	before []float64 // sums at the last epoch's end
	last   int
}

// NewMeter returns a meter of the named scalars in scope s.
func NewMeter(s *tensor.Scope, names ...string) *Meter {
	return &Meter{names: names, sum: s.Full(tensor.Float64, 0, int64(len(names))), before: make([]float64, len(names))}
}

// Add adds one minibatch's scalars, in the order of the names.
func (m *Meter) Add(s *tensor.Scope, values ...tensor.Tensor) {
	if len(values) != len(m.names) {
		panic(fmt.Sprintf("onpolicy: %d values for %d meters", len(values), len(m.names)))
	}
	s.Tally(m.sum, values...)
	m.count++
}

// Count is the number of minibatches added.
func (m *Meter) Count() int { return m.count }

// EpochMean reads scalar name's mean since the last call of EpochMean for it. It waits for the device.
func (m *Meter) EpochMean(name string) (float64, error) {
	sums, err := tensor.Float64s(m.sum)
	if err != nil {
		return 0, err
	}
	for i, n := range m.names {
		if n == name {
			mean := (sums[i] - m.before[i]) / float64(m.count-m.last)
			copy(m.before, sums)
			m.last = m.count
			return mean, nil
		}
	}
	panic("onpolicy: no meter is named " + name)
}

// Means reads every scalar's sum divided by count (0: by the number of minibatches), and refuses what is not finite.
func (m *Meter) Means(agent string, count int) (map[string]float64, error) {
	sums, err := tensor.Float64s(m.sum)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		count = max(1, m.count)
	}
	out := make(map[string]float64, len(sums))
	for i, x := range sums {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, &agents.DivergedError{Agent: agent, Detail: fmt.Sprintf("%s is %g after %d minibatches", m.names[i], x, m.count)}
		}
		out[m.names[i]] = x / float64(count)
	}
	return out, nil
}
