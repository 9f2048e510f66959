package onpolicy

import (
	"cmp"
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
	notes []string
}

// NewTracker returns an empty tracker.
func NewTracker() *Tracker { return &Tracker{sum: map[string]float64{}, count: map[string]int{}} }

// Add tracks one value.
func (t *Tracker) Add(tag string, value float64) {
	t.sum[tag] += value
	t.count[tag]++
}

// Note keeps a text for the user until Notes is called.
func (t *Tracker) Note(text string) { t.notes = append(t.notes, text) }

// Notes calls f with every text since the last call, and forgets them.
func (t *Tracker) Notes(f func(text string)) {
	for _, text := range t.notes {
		f(text)
	}
	t.notes = nil
}

// Drain calls f with the mean of every tag, in sorted order, and forgets them.
func (t *Tracker) Drain(f func(tag string, value float64)) {
	for _, tag := range slices.Sorted(maps.Keys(t.sum)) {
		f(tag, t.sum[tag]/float64(t.count[tag]))
	}
	clear(t.sum)
	clear(t.count)
}

// NoteStdDev keeps the mean standard deviation of a continuous policy's actions, for Conclude. It stays on the device
// until then.
func (c *Learner) NoteStdDev(s *tensor.Scope, e models.Evaluation) {
	if e.StdDev.T != nil && s.Err() == nil {
		c.hasStdDev = true
		s.Copy(c.stdDev, s.Mean(e.StdDev))
	}
}

// Conclude ends the learning of an update. The observation scalers learn, and one read from the device brings all
// figures and the scalers' statistics (see outlierCheck). Conclude tracks the figures: the means of the meter, the
// scalars in more, the standard deviation, and the learning rate. A mean is its sum divided by count (0: by the
// number of minibatches). Conclude returns a DivergedError if a mean or the sum of all parameters is not finite: one
// operation shows whether any parameter is infinite or NaN.
func (c *Learner) Conclude(s *tensor.Scope, m *Meter, count int, more map[string]tensor.Tensor) error {
	c.learnScales(s)
	names := slices.Sorted(maps.Keys(more))
	scalars := []tensor.Tensor{s.Sum(c.Flat.Values)}
	for _, name := range names {
		scalars = append(scalars, more[name])
	}
	if c.hasStdDev {
		scalars, names = append(scalars, c.stdDev), append(names, "Policy / Standard deviation")
	}
	if c.Group.Several() {
		for r := range c.Group.Size() {
			scalars = append(scalars, s.Select(c.flags, 0, int64(r)))
		}
	}
	own := s.Full(tensor.Float64, 0, int64(len(scalars)))
	s.Tally(own, scalars...)
	all := s.Cat(0, slices.Concat([]tensor.Tensor{m.sum, own}, c.allStatistics(), c.statistics)...)
	if err := s.Err(); err != nil {
		return err
	}
	read, err := tensor.Float64s(all)
	if err != nil {
		return err
	}
	sums, x, statistics := read[:len(m.names)], read[len(m.names):], read[len(m.names)+len(scalars):]
	if err := c.checkFlags(x[1+len(names) : len(scalars)]); err != nil {
		return err
	}
	for i, name := range m.names {
		if sum := sums[i]; math.IsNaN(sum) || math.IsInf(sum, 0) {
			return &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("%s is %g after %d minibatches", name, sum,
				m.count)}
		}
	}
	if sum := x[0]; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("the sum of all parameters is %g", sum)}
	}
	if err := c.outliers.check(statistics[:len(statistics)/2], statistics[len(statistics)/2:],
		c.rewards); err != nil {
		return err
	}
	off := map[string]bool{"Loss / Entropy loss": c.Config.EntropyLossScale == 0,
		"Loss / Bounds loss": c.Config.BoundsLossScale == 0}
	for i, tag := range m.names {
		if !off[tag] {
			c.Figures.Add(tag, sums[i]/float64(cmp.Or(count, max(1, m.count))))
		}
	}
	for i, tag := range names {
		c.Figures.Add(tag, x[1+i])
	}
	c.Figures.Add("Learning / Learning rate", c.LearningRate())
	return nil
}

// Meter adds up scalars on the device over the minibatches of an update. Reading one waits for the device, so all are
// read once, at the update's end (Conclude).
type Meter struct {
	names  []string
	sum    tensor.Tensor // float64: losses of minibatches often cancel
	count  int
	before []float64 // sums at the last epoch's end
	last   int
}

// Figure is a scalar of a minibatch and the tag that it is tracked by.
type Figure struct {
	Tag   string
	Value *tensor.Tensor
}

// NewFigure returns the figure of a scalar that may still be computed.
func NewFigure(tag string, value *tensor.Tensor) Figure { return Figure{tag, value} }

// NewMeter returns a meter of the given figures in scope s. Their values are not read.
func NewMeter(s *tensor.Scope, figures []Figure) *Meter {
	m := &Meter{sum: s.Full(tensor.Float64, 0, int64(len(figures))), before: make([]float64, len(figures))}
	for _, f := range figures {
		m.names = append(m.names, f.Tag)
	}
	return m
}

// Add adds one minibatch's figures, in the order that NewMeter was given.
func (m *Meter) Add(s *tensor.Scope, figures []Figure) {
	values := make([]tensor.Tensor, len(m.names))
	for i, f := range figures {
		values[i] = *f.Value
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
	i := slices.Index(m.names, name)
	if i < 0 {
		panic("onpolicy: no meter is named " + name)
	}
	mean := (sums[i] - m.before[i]) / float64(m.count-m.last)
	copy(m.before, sums)
	m.last = m.count
	return mean, nil
}
