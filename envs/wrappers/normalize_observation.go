package wrappers

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/spaces"
)

// NormalizeObservationOptions are the settings of [NewNormalizeObservation]. The zero value has the defaults: Epsilon
// 1e-8 and Variant [Gymnasium].
type NormalizeObservationOptions struct {
	// Epsilon is added to the variance before the square root, so that a column that never changes does not divide by
	// zero.
	//
	// A larger value shrinks columns that vary little, a smaller one lets columns through that change by hardly more
	// than rounding.
	Epsilon float64 `yaml:"epsilon" config:"gt=0"`
	// Variant says what is learned at the end of an episode: gymnasium learns from its last observation and then, as
	// another batch, from the next one's first, as CleanRL does; sb3 from the latter only, as Stable-Baselines3's
	// VecNormalize does.
	Variant Variant `yaml:"variant" config:"oneof=gymnasium|sb3"`
}

// NormalizeObservation subtracts the running mean from observations and divides them by the running standard
// deviation. Each column of the flat row has its own. Gymnasium's and Stable-Baselines3's wrappers do the same. All
// environments of the batch share the statistics. Every reset and step updates the statistics before it is normalised
// by them. The statistics are float64, the results float32. Final observations are normalised too; privileged states
// are left as they are.
//
// With one environment the numbers are those of Gymnasium's NormalizeObservation, with several and [SB3] those of
// VecNormalize. It is [envs.Stateful] if the environment inside is.
type NormalizeObservation struct {
	latest
	learning
	// rows are the rows of observations inside that are learned from next. They share memory with the step inside.
	rows [][]float32
	// batch holds the mean and variance of rows, before they are merged.
	batch moments
	// deviation is √(variance + epsilon) of each column.
	deviation []float64
}

// NewNormalizeObservation returns env with normalised observations. Its observation space must be a Box; that of the
// wrapper is a Box without limits.
func NewNormalizeObservation(env envs.Env, o NormalizeObservationOptions) (*NormalizeObservation, error) {
	l, err := newLearning("NewNormalizeObservation", o.Epsilon, o.Variant, Gymnasium)
	if err != nil {
		return nil, err
	}
	space, err := boxOf(env, "NewNormalizeObservation", "observation")
	if err != nil {
		return nil, err
	}
	w, set := space.Width(), env.Spaces()
	set.Observation = spaces.Unbounded(space.Shape...)
	l.moments = newMoments(w)
	return &NormalizeObservation{latest: newLatest(env, set), learning: l,
		rows: make([][]float32, 0, env.NumEnvs()), batch: newMoments(w), deviation: make([]float64, w)}, nil
}

// Reset resets the environment inside, learns from the first observations, and normalises them. The running statistics
// stay.
func (o *NormalizeObservation) Reset(seed int64) (*envs.Step, error) {
	s, err := o.within.Reset(seed)
	if err != nil {
		return nil, err
	}
	if err := o.checkFinite(s); err != nil {
		return nil, err
	}
	o.learn(s, func(int) []float32 { return s.Observations })
	return o.show(s, o.normalize), nil
}

// Step steps the environment inside, learns from its observations, and normalises them.
func (o *NormalizeObservation) Step(actions []float32) (*envs.Step, error) {
	s, err := o.within.Step(actions)
	if err != nil {
		return nil, err
	}
	// reached returns the rows that hold what the step led to: for an episode that ended, its last observation if
	// that is known and the variant learns from it.
	reached := func(i int) []float32 {
		switch {
		case !s.Ended(i) || o.variant != Gymnasium && !o.stays(s, i):
			return s.Observations
		case o.variant == Gymnasium && s.FinalKnown(i):
			return s.FinalObservations
		}
		return nil
	}
	// begun returns the rows that hold the first observation of the next episode, for episodes that ended. They are a
	// batch of their own, as with Gymnasium's wrapper, which learns in step and again in reset.
	begun := func(i int) []float32 {
		if s.Ended(i) && o.variant == Gymnasium && !o.stays(s, i) {
			return s.Observations
		}
		return nil
	}
	if err := o.checkFinite(s); err != nil {
		return nil, err
	}
	// Final observations are normalised between the two updates: they belong to the batch that was learned first.
	o.learn(s, reached)
	o.normalize(o.finals, s.FinalObservations)
	o.learn(s, begun)
	return o.show(s, o.normalize), nil
}

// checkFinite returns an error if a row that would be learned from holds NaN or an infinity. One such number would
// make the mean NaN for ever.
func (o *NormalizeObservation) checkFinite(s *envs.Step) error {
	if o.frozen {
		return nil
	}
	w := len(o.mean)
	if err := number.CheckRows(s.Observations, w, nil); err != nil {
		return fmt.Errorf("wrappers: normalize_observation: observations: %w", err)
	}
	if o.variant != Gymnasium || s.FinalObservations == nil {
		return nil
	}
	unread := make([]bool, len(s.Terminated))
	for i := range unread {
		unread[i] = !s.FinalKnown(i)
	}
	if err := number.CheckRows(s.FinalObservations, w, unread); err != nil {
		return fmt.Errorf("wrappers: normalize_observation: final observations: %w", err)
	}
	return nil
}

// stays reports whether environment i, whose episode ended, still shows its last observation. That is so for
// simulators that reset in their next step. Observations then hold nothing of the next episode to learn from: its
// first observation comes with that step.
func (o *NormalizeObservation) stays(s *envs.Step, i int) bool {
	w := len(o.mean)
	return s.FinalKnown(i) && slices.Equal(s.Observations[i*w:(i+1)*w], s.FinalObservations[i*w:(i+1)*w])
}

// learn merges a batch into the statistics. For environment i it takes row i of the rows (N, O) that of(i) returns,
// or none if of(i) is nil. It does nothing while frozen.
func (o *NormalizeObservation) learn(s *envs.Step, of func(i int) []float32) {
	if o.frozen {
		return
	}
	w := len(o.mean)
	o.rows = o.rows[:0]
	for i := range len(s.Observations) / w {
		if rows := of(i); rows != nil {
			o.rows = append(o.rows, rows[i*w:(i+1)*w])
		}
	}
	n := float64(len(o.rows))
	if n == 0 {
		return
	}
	for j := range w {
		// Two passes, mean first: sums of squares would lose the variance of columns with a large mean.
		mean, variance := 0.0, 0.0
		for _, row := range o.rows {
			mean += float64(row[j])
		}
		mean /= n
		for _, row := range o.rows {
			d := float64(row[j]) - mean
			variance += d * d
		}
		o.batch.mean[j], o.batch.variance[j] = mean, variance/n
	}
	o.merge(o.batch.mean, o.batch.variance, n)
}

// normalize writes the normalised rows (N, O) into out, by the present statistics.
func (o *NormalizeObservation) normalize(out, rows []float32) {
	for j, v := range o.variance {
		o.deviation[j] = math.Sqrt(v + o.epsilon)
	}
	w := len(o.mean)
	for i, x := range rows {
		out[i] = float32((float64(x) - o.mean[i%w]) / o.deviation[i%w])
	}
}

// Observe returns the present observations normalised by the present statistics, and learns nothing from them.
func (o *NormalizeObservation) Observe() (*envs.Step, error) {
	s, err := o.present("normalize_observation")
	if err != nil {
		return nil, err
	}
	return o.show(s, o.normalize), nil
}

// StatisticsName is "normalize_observation".
func (o *NormalizeObservation) StatisticsName() string { return "normalize_observation" }

// Statistics returns the running "mean" and "variance" of each column and the "count" of rows behind them.
func (o *NormalizeObservation) Statistics() map[string][]float64 { return o.statistics() }

// SetStatistics puts back what Statistics returned, all or (on an error) nothing.
func (o *NormalizeObservation) SetStatistics(statistics map[string][]float64) error {
	m, err := o.read(o.StatisticsName(), statistics)
	if err == nil {
		o.moments = m
	}
	return err
}

// ObservationTransform is the normalisation by the present statistics.
func (o *NormalizeObservation) ObservationTransform() envs.ObservationTransform {
	m := o.clone()
	return envs.ObservationTransform{Mean: m.mean, Variance: m.variance, Epsilon: o.epsilon}
}

// observationHeader begins a saved state. Its number changes with the format.
const observationHeader = "gorl normalized observation 1"

// MarshalState returns the running statistics and the state of the environment inside.
func (o *NormalizeObservation) MarshalState() ([]byte, error) {
	return marshal(o.stateful(), observationHeader, func(e *statecodec.Encoder) {
		e.Int(len(o.mean))
		for j := range o.mean {
			e.Numbers(o.mean[j], o.variance[j])
		}
		e.Float(o.count)
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (o *NormalizeObservation) RestoreState(b []byte) error {
	m := newMoments(len(o.mean))
	err := restore(o.stateful(), observationHeader, b, func(d *statecodec.Decoder) {
		if got := d.Int(); got != len(m.mean) {
			d.Fail("it is of %d columns, here are %d", got, len(m.mean))
		}
		for j := range m.mean {
			m.mean[j], m.variance[j] = d.Float(), d.Float()
			if m.variance[j] < 0 {
				d.Fail("the variance of column %d is %g", j, m.variance[j])
			}
		}
		if m.count = d.Float(); m.count <= 0 {
			d.Fail("the count is %g", m.count)
		}
	})
	if err == nil {
		o.moments = m
	}
	return err
}
