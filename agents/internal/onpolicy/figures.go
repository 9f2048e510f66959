package onpolicy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Tracker averages values by tag until they are read. Loss figures of several updates between two reads become one
// mean.
type Tracker struct {
	sum   map[string]float64
	count map[string]int
}

// NewTracker returns an empty tracker.
func NewTracker() *Tracker { return &Tracker{sum: map[string]float64{}, count: map[string]int{}} }

// Add tracks one value.
func (t *Tracker) Add(tag string, value float64) {
	t.sum[tag] += value
	t.count[tag]++
}

// Drain calls f with the mean of every tag, in sorted order, and forgets them.
func (t *Tracker) Drain(f func(tag string, value float64)) {
	for _, tag := range slices.Sorted(maps.Keys(t.sum)) {
		f(tag, t.sum[tag]/float64(t.count[tag]))
	}
	clear(t.sum)
	clear(t.count)
}

// Tracked calls f for every value tracked since the last call, by tag in sorted order, and forgets them.
func (c *Core) Tracked(f func(tag string, value float64)) { c.Figures.Drain(f) }

// NoteStdDev keeps the mean standard deviation of a continuous policy's actions, for Track. It stays on the device
// until then.
func (c *Core) NoteStdDev(s *tensor.Scope, e models.Evaluation) {
	if e.StdDev.T != nil && s.Err() == nil {
		c.hasStdDev = true
		s.Copy(c.stdDev, s.Mean(e.StdDev))
	}
}

// Track tracks an update's figures: the means of a meter, the standard deviation, and the learning rate where a
// schedule changes it.
func (c *Core) Track(means map[string]float64) error {
	off := map[string]bool{"Loss / Entropy loss": c.Config.EntropyLossScale == 0, "Loss / Bounds loss": c.Config.BoundsLossScale == 0}
	for tag, x := range means {
		if !off[tag] {
			c.Figures.Add(tag, x)
		}
	}
	if c.hasStdDev {
		x, err := tensor.Item(c.stdDev)
		if err != nil {
			return err
		}
		c.Figures.Add("Policy / Standard deviation", x)
	}
	if c.Scheduler != nil {
		c.Figures.Add("Learning / Learning rate", c.LearningRate())
	}
	return nil
}

// Meter adds up scalars on the device over the minibatches of an update. Reading one waits for the device, so all are
// read once, at the update's end.
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

// EpochMean returns the mean of the named scalar since EpochMean was last called, and waits for the device. A name that
// the meter does not have is a programming error and panics.
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

// Means returns each scalar's sum divided by count (0: by the number of minibatches), by name. A mean that is not
// finite is a DivergedError of the named agent.
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
			return nil, &agents.DivergedError{Agent: agent,
				Detail: fmt.Sprintf("%s is %g after %d minibatches", m.names[i], x, m.count)}
		}
		out[m.names[i]] = x / float64(count)
	}
	return out, nil
}
