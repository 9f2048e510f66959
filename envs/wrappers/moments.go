package wrappers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Variant says whose rules a normalising wrapper follows where Gymnasium and Stable-Baselines3 differ, see
// [NormalizeObservationOptions] and [NormalizeRewardOptions].
type Variant string

// The variants.
const (
	// Gymnasium is Gymnasium's NormalizeObservation and NormalizeReward, which CleanRL uses.
	Gymnasium Variant = "gymnasium"
	// SB3 is Stable-Baselines3's VecNormalize.
	SB3 Variant = "sb3"
)

// defaultEpsilon is the default of Gymnasium and Stable-Baselines3.
const defaultEpsilon = 1e-8

// learning is what normalising wrappers have in common: running statistics and the settings.
type learning struct {
	moments
	epsilon float64
	variant Variant
	// frozen is true while nothing is learned.
	frozen bool
}

// newLearning checks the settings of a normalising wrapper and fills in the defaults. The moments are still to be made.
// who is the constructor's name, standard the default variant.
func newLearning(who string, epsilon float64, variant, standard Variant) (l learning, err error) {
	l.epsilon, l.variant = cmp.Or(epsilon, defaultEpsilon), cmp.Or(variant, standard)
	if !(l.epsilon > 0) || math.IsInf(l.epsilon, 0) {
		return l, fmt.Errorf("wrappers: %s: epsilon is %g; it must be finite and positive", who, l.epsilon)
	}
	if l.variant != Gymnasium && l.variant != SB3 {
		return l, fmt.Errorf("wrappers: %s: variant is %q; it must be %q or %q", who, l.variant, Gymnasium, SB3)
	}
	return l, nil
}

// Freeze stops learning, or goes on with it, and returns what was set before.
func (l *learning) Freeze(on bool) (was bool) {
	was, l.frozen = l.frozen, on
	return was
}

// moments are the running mean and variance of columns. They begin as in Gymnasium and Stable-Baselines3: mean 0,
// variance 1, count 1e-4. The first batch then replaces them almost entirely, and no division by 0 needs a special
// case.
type moments struct {
	// mean and variance have one number a column. The variance is that of the population (÷ n, not ÷ (n − 1)).
	mean, variance []float64
	// count is the number of rows merged, with the 1e-4 at the beginning.
	count float64
}

// newMoments returns the moments of width columns before anything is merged.
func newMoments(width int) moments {
	return moments{mean: make([]float64, width), variance: slices.Repeat([]float64{1}, width), count: 1e-4}
}

// merge adds n rows whose columns have the given means and population variances (Chan, Golub and LeVeque: Updating
// formulae and a pairwise algorithm for computing sample variances, 1979).
func (m *moments) merge(mean, variance []float64, n float64) {
	total := m.count + n
	for j := range m.mean {
		delta := mean[j] - m.mean[j]
		m.variance[j] = (m.variance[j]*m.count + variance[j]*n + delta*delta*m.count*n/total) / total
		m.mean[j] += delta * n / total
	}
	m.count = total
}

// clone returns a copy that shares no memory with m.
func (m *moments) clone() moments {
	return moments{mean: slices.Clone(m.mean), variance: slices.Clone(m.variance), count: m.count}
}

// The names of moments among the statistics of a wrapper.
const (
	statMean     = "mean"
	statVariance = "variance"
	statCount    = "count"
)

// statistics returns copies of the moments by name, as [envs.RunningStatistics] has them.
func (m *moments) statistics() map[string][]float64 {
	c := m.clone()
	return map[string][]float64{statMean: c.mean, statVariance: c.variance, statCount: {c.count}}
}

// read returns the moments in the statistics of the wrapper called name, or an error; m does not change. They must
// have as many columns as m, and be finite. also lists other names that are allowed, such as [envs.RunningSums].
func (m *moments) read(name string, statistics map[string][]float64, also ...string) (moments, error) {
	fail := func(format string, args ...any) (moments, error) {
		return moments{}, fmt.Errorf("wrappers: statistics of %s: %s", name, fmt.Sprintf(format, args...))
	}
	// Statistics come from files and from other members of a population, so every name, length and number is checked.
	for key, width := range map[string]int{statMean: len(m.mean), statVariance: len(m.mean), statCount: 1} {
		values, ok := statistics[key]
		if !ok {
			return fail("%q is missing", key)
		}
		if len(values) != width {
			return fail("%q has %d values, want %d", key, len(values), width)
		}
	}
	for key, values := range statistics {
		if key != statMean && key != statVariance && key != statCount && !slices.Contains(also, key) {
			return fail("%q is unknown", key)
		}
		for i, x := range values {
			if x-x != 0 || key == statVariance && x < 0 || key == statCount && x <= 0 {
				return fail("%q has %g at %d", key, x, i)
			}
		}
	}
	read := moments{mean: statistics[statMean], variance: statistics[statVariance], count: statistics[statCount][0]}
	return read.clone(), nil
}
