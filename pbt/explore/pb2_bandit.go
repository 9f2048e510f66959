package explore

// This file chooses hyperparameters by an upper confidence bound: the mean of one Gaussian process plus κ times the
// variance of another, see PB2.

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// normalised maps v from [low, high] to [0, 1]. It adds 1e-8 to the range as Ray Tune does, and subtracts halves,
// because the difference of two large numbers may overflow.
func normalised(v, low, high float64) float64 { return (v/2 - low/2) / (high/2 - low/2 + 1e-8/2) }

// bandit is a PB2 with what it has learned from a journal: it chooses the values of the greatest upper confidence
// bound.
type bandit struct {
	PB2
	learned learned
	// first and last are the least and greatest times and objectives of trials.
	first, last trial
	points      []point
	gains       []float64 // standardised
	// model predicts gains. It is nil if there are no trials or the fit is impossible.
	model *process
}

// newBandit fits the model.
func newBandit(p PB2, d learned) *bandit {
	b := &bandit{PB2: p, learned: d}
	for i, t := range d.trials {
		if i == 0 {
			b.first, b.last = t, t
		}
		b.first.time, b.last.time = min(b.first.time, t.time), max(b.last.time, t.time)
		b.first.score, b.last.score = min(b.first.score, t.score), max(b.last.score, t.score)
		b.gains = append(b.gains, t.gain)
	}
	if len(d.trials) == 0 {
		return b
	}
	standardise(b.gains)
	for _, t := range d.trials {
		b.points = append(b.points, b.point(t))
	}
	b.model = fit(b.points, b.gains)
	return b
}

// standardise makes the mean of y 0 and its standard deviation 1, as the process assumes a mean of 0, and clips at 2,
// so that one lucky interval does not rule the model. Values with a deviation of 1e-8 or less stay small, as in the
// original.
func standardise(y []float64) {
	mean, std := stat.PopMeanStdDev(y, nil)
	if !allFinite([]float64{mean, std}) { // numbers whose squares are too large
		greatest := max(slices.Max(y), -slices.Min(y))
		for i := range y {
			y[i] /= greatest
		}
		mean, std = stat.PopMeanStdDev(y, nil)
	}
	for i, v := range y {
		y[i] = min(max((v-mean)/(std+1e-8), -2), 2)
	}
}

// point is a trial as the model sees it: the objective at the beginning of the interval, then the hyperparameters
// scaled to their bounds, in order of the keys.
func (b *bandit) point(t trial) point {
	x := []float64{normalised(t.score, b.first.score, b.last.score)}
	for i, key := range b.Keys() {
		x = append(x, b.unit(key, t.values[i]))
	}
	return point{x: x, time: normalised(t.time, b.first.time, b.last.time)}
}

// varianceModel returns a process that also knows the pending values, as trials in the given context with a gain of 0.
// Its variance is small near them.
func (b *bandit) varianceModel(context trial) *process {
	if len(b.learned.pending) == 0 {
		return b.model
	}
	points, gains := slices.Clone(b.points), slices.Clone(b.gains)
	for _, values := range b.learned.pending {
		points = append(points, b.point(trial{time: context.time, score: context.score, values: values}))
		gains = append(gains, 0)
	}
	return fit(points, gains)
}

// bound returns the upper confidence bound at a point, and stores its gradient with respect to the features.
func (b *bandit) bound(at point, variances *process, gradient []float64) float64 {
	kappa := math.Sqrt(0.2 + max(math.Log(0.4*float64(len(b.points))), 0))
	clear(gradient)
	return kappa*variances.variance(at, kappa, gradient) + b.model.mean(at, 1, gradient)
}

// banditStarts is the number of random points from which the search for the greatest bound starts.
const banditStarts = 10

// Apply returns the values with the greatest upper confidence bound that L-BFGS finds from banditStarts random points.
// For each point it draws one number per key, in sorted order. The number of draws depends on the keys alone. If the
// source has no trial to learn from, the values are returned unchanged.
func (b *bandit) Apply(values map[string]float64, u Uniform) map[string]float64 {
	keys := b.Keys()
	starts := make([][]float64, banditStarts)
	for i := range starts {
		starts[i] = make([]float64, len(keys))
		for j := range keys {
			starts[i][j] = u.Float64()
		}
	}
	changed := maps.Clone(values)
	old, ok := vector(keys, values)
	if !ok {
		return changed
	}
	context := b.learned.base(old).latest
	if b.model == nil || context.values == nil {
		return changed
	}
	if variances := b.varianceModel(context); variances != nil {
		at := b.search(context, variances, starts)
		for i, key := range keys {
			changed[key] = b.at(key, at[i])
		}
	}
	return b.Constrain.apply(values, changed, b.BoundsOf)
}

// search returns the hyperparameters, scaled to 0 to 1, with the greatest bound in the context of a trial.
func (b *bandit) search(context trial, variances *process, starts [][]float64) (best []float64) {
	at := b.point(context)
	gradient := make([]float64, len(at.x))
	low, high := make([]float64, len(at.x)-1), slices.Repeat([]float64{1}, len(at.x)-1)
	greatest := math.Inf(-1)
	for _, start := range starts {
		place, bound := maximise(func(x, to []float64) float64 {
			copy(at.x[1:], x)
			v := b.bound(at, variances, gradient)
			copy(to, gradient[1:])
			return v
		}, start, low, high)
		if bound > greatest {
			best, greatest = place, bound
		}
	}
	return best
}
