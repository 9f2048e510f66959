package explore

// This file chooses hyperparameters by an upper confidence bound. For values x at the next interval it is
//
// m(x) + κ·s(x)
//
// where m is the mean and s the standard deviation of the improvement that the Gaussian process of pb2_process.go
// predicts, and κ² = 0.2·ln(0.4·n) for n trials (0 where that is negative). A greater κ tries what is uncertain; it
// grows with n, slowly, so that the search never stops. The constants are those of the authors' program.

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// bandit is a PB2 that knows a journal: it chooses where the upper confidence bound is greatest.
type bandit struct {
	PB2
	learned learned
	// low and high are the least and greatest objective at the beginning of a trial.
	low, high float64
	// gains predicts improvements; doubts knows the pending trials too, which changes how sure it is but not its mean.
	gains, doubts *process
	// kappa is how many standard deviations the upper confidence bound lies above the mean.
	kappa float64
}

// newBandit fits the model. It is nil when that is numerically impossible.
func newBandit(p PB2, d learned) *bandit {
	b := &bandit{PB2: p, learned: d, low: math.Inf(1), high: math.Inf(-1)}
	gains := make([]float64, len(d.trials))
	for i, t := range d.trials {
		b.low, b.high = min(b.low, t.score), max(b.high, t.score)
		gains[i] = t.gain
	}
	standardise(gains)
	points := make([]point, len(d.trials))
	for i, t := range d.trials {
		points[i] = b.point(t)
	}
	// The kernel is fitted to finished trials only: pending ones have no gains.
	k, ok := fitKernel(points, gains)
	if !ok {
		return nil
	}
	b.gains = newProcess(k, points, gains)
	b.doubts = b.gains
	if len(d.pending) > 0 {
		// A process without observations has no mean, but its deviation is small near all its points. So two members
		// that choose in the same interval do not choose the same place.
		all := slices.Clone(points)
		for _, t := range d.pending {
			all = append(all, b.point(t))
		}
		b.doubts = newProcess(k, all, nil)
	}
	if b.gains == nil || b.doubts == nil {
		return nil
	}
	b.kappa = math.Sqrt(max(0.2*math.Log(0.4*float64(len(d.trials))), 0))
	return b
}

// standardise makes the mean of y 0 and its standard deviation 1, as the process assumes a mean of 0, and clips at 2,
// so that one lucky interval does not rule the model. Equal numbers become 0.
func standardise(y []float64) {
	greatest := 0.0
	for _, v := range y {
		greatest = max(greatest, math.Abs(v))
	}
	for i := range y {
		if greatest > 0 { // so that squares neither overflow nor vanish
			y[i] /= greatest
		}
	}
	mean, std := stat.PopMeanStdDev(y, nil)
	for i, v := range y {
		y[i] = min(max((v-mean)/(std+1e-8), -2), 2)
	}
}

// point is a trial as the model sees it: the hyperparameters scaled to their bounds, in order of the keys, then the
// objective at the beginning of the interval.
func (b *bandit) point(t trial) point {
	keys := b.Keys()
	x := make([]float64, len(keys)+1)
	for i, key := range keys {
		x[i] = b.unit(key, t.values[i])
	}
	if b.high > b.low {
		// Halves, since the difference of two large numbers may be too large. The best of today may be far above where
		// anyone has begun yet; further than this nothing is like it.
		x[len(keys)] = min(max((t.score/2-b.low/2)/(b.high/2-b.low/2), -1), 2)
	}
	return point{x: x, time: t.time}
}

// bound is the upper confidence bound at a point; see the top of the file. The mean comes from finished trials, the
// deviation from pending ones too.
func (b *bandit) bound(at point) float64 {
	return b.gains.mean(at) + b.kappa*b.doubts.deviation(at)
}

// The search for the greatest bound: so many random places, of which so many best are improved by steps that shrink.
const (
	banditPlaces  = 128
	banditStarts  = 4
	banditStep    = 0.1
	banditLeast   = 1e-3
	banditImprove = 100
)

// Apply draws banditPlaces times one number for each key, in sorted order, and returns the values with the greatest
// upper confidence bound that a search from there finds.
//
// The number of draws depends on the keys alone, and not on where the bound is great.
func (b *bandit) Apply(values map[string]float64, u Uniform) map[string]float64 {
	keys := b.Keys()
	old, ok := vector(keys, values)
	if !ok {
		return b.PB2.Apply(values, u)
	}
	// The values are for the coming interval, which begins at the objective of the weights that the member goes on
	// with.
	at := b.point(trial{time: b.learned.now + 1, score: b.learned.scoreOf(old), values: old})
	best := b.search(at, len(keys), u)
	changed := maps.Clone(values)
	for i, key := range keys {
		changed[key] = b.at(key, best.x[i])
	}
	return b.Constrain.apply(values, changed, b.BoundsOf)
}

// search returns a place with a great bound; it varies the first n features of the given one.
func (b *bandit) search(from point, n int, u Uniform) point {
	type place struct {
		at    point
		bound float64
	}
	// The values that the member has are a place too: it keeps them where nothing better is found.
	visit := func(at point) place { return place{at, b.bound(at)} }
	places := []place{visit(from)}
	for range banditPlaces {
		x := slices.Clone(from.x)
		for i := range n {
			x[i] = u.Float64()
		}
		places = append(places, visit(point{x: x, time: from.time}))
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.bound, a.bound) })
	best := places[0]
	// From each start take the best step along one feature until none is better, then halve the step. The bound has
	// several local maxima, hence several starts.
	for _, p := range places[:banditStarts] {
		for step, rounds := banditStep, 0; step > banditLeast && rounds < banditImprove; rounds++ {
			around := p
			for i := range n {
				for _, d := range []float64{-step, step} {
					x := slices.Clone(p.at.x)
					x[i] = min(max(x[i]+d, 0), 1)
					if q := visit(point{x: x, time: from.time}); q.bound > around.bound {
						around = q
					}
				}
			}
			if around.bound == p.bound {
				step /= 2
			}
			p = around
		}
		if p.bound > best.bound {
			best = p
		}
	}
	return best.at
}
