package explore

// This file holds PB2, its settings and their checks. Of the work, pb2_data.go reads trials from the journal,
// pb2_process.go is the Gaussian process that learns from them, and pb2_bandit.go searches for the values with the
// best prospects.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// PB2 explores with a model of what the population has tried: Population Based Bandits (Parker-Holder, Nguyen,
// Roberts, "Provably Efficient Online Hyperparameter Optimization with Population-Based Bandits", 2020). A Gaussian
// process predicts the improvement of the objective per step in an interval. Its inputs are the hyperparameters, the
// objective at the interval's beginning, and time. The chosen values have the greatest upper confidence bound of the
// improvement, m + κ·v, where m is the mean and v the variance of the prediction, and κ² = 0.2 + max(0, ln 0.4n) for n
// intervals, as in Ray Tune 2.60. PB2 suits small populations, where random changes find little.
//
// The covariance of two intervals is σ²·exp(−d²/ℓ)·(1−ε)^(Δt/2). d is the distance between their hyperparameters and
// objectives, scaled to their ranges; Δt is the distance between their times, scaled to 0 to 1. L-BFGS fits σ², ℓ and
// ε by maximum likelihood, starting from 1, 1 and 0.1. Improvements are standardised and clipped at two standard
// deviations. A prediction is made for the time and the objective of the source's latest interval. The variance comes
// from a second process, which also knows the values given to other members in the same iteration, so that members
// that choose at the same time get different values.
//
// Before training, values are drawn uniformly within the bounds. During training, if the source has no interval to
// learn from, its values are kept.
type PB2 struct {
	// Bounds are the ranges to explore by hyperparameter, at least one. Those with Log set are modelled and drawn by
	// their logarithms.
	Bounds map[string]Range
	// Rows is the greatest number of intervals that the model learns from, the latest ones. Default (0): 200. Ray Tune
	// chooses one of 200, 210, ... by the likelihood.
	//
	// A larger number makes predictions more certain, and a choice slower by its cube. A smaller number makes a choice
	// faster, and drops old intervals entirely.
	Rows int
	// Constrain has the last word, as in [Mutation]. It rounds the hyperparameters that are whole numbers.
	Constrain Constraint
}

// Keys are those of Bounds, sorted.
func (p PB2) Keys() []string { return slices.Sorted(maps.Keys(p.Bounds)) }

// BoundsOf are those in Bounds.
func (p PB2) BoundsOf(key string) ([2]float64, bool) {
	r, ok := p.Bounds[key]
	return [2]float64{r.Low, r.High}, ok
}

// Validate checks the bounds, and that members have those hyperparameters.
func (p PB2) Validate(hyperparameters []string) error {
	if len(p.Bounds) == 0 {
		return fmt.Errorf("pbt: PB2.Bounds is empty; give the range of at least one hyperparameter")
	}
	if p.Rows < 0 {
		return fmt.Errorf("pbt: PB2.Rows is %d; give 0 or more", p.Rows)
	}
	for _, key := range p.Keys() {
		r := p.Bounds[key]
		if err := checkKey("PB2.Bounds", key, hyperparameters); err != nil {
			return err
		}
		if err := r.Check(); err != nil {
			return fmt.Errorf("pbt: PB2.Bounds[%q] %w", key, err)
		}
		if r.Low == r.High || !number.Finite(r.High-r.Low) {
			return fmt.Errorf("pbt: PB2.Bounds[%q] is from %v to %v; give two finite numbers in ascending order", key,
				r.Low, r.High)
		}
	}
	return nil
}

// Apply draws one number for each key in Bounds, in sorted order, uniformly within its bounds.
func (p PB2) Apply(values map[string]float64, u Uniform) map[string]float64 {
	changed := maps.Clone(values)
	for _, key := range p.Keys() {
		if _, ok := values[key]; ok {
			changed[key] = p.at(key, u.Float64())
		}
	}
	return p.Constrain.apply(values, changed, p.BoundsOf)
}

// Fit implements [Fitter]. Before training there are no events, and the explorer that Fit returns draws uniformly.
// Otherwise the explorer chooses by a model of the events. Fit itself draws no random numbers.
//
// An interval can be learned from when the objective is known and finite at its beginning and its end and the member
// did not fail. After a copy the objective at the beginning is the source's.
func (p PB2) Fit(events []journal.Event, _ *rand.Rand) Explorer {
	if len(events) == 0 {
		return p
	}
	d := p.learn(events)
	// Old trials are correlated least with the present, so the latest are kept.
	d.trials = d.trials[max(0, len(d.trials)-cmp.Or(p.Rows, 200)):]
	return newBandit(p, d)
}

// unit scales a value to 0 to 1 between its bounds, on the logarithm where Log is set, so that one length scale fits
// all hyperparameters.
func (p PB2) unit(key string, v float64) float64 {
	r := p.Bounds[key]
	v = min(max(v, r.Low), r.High)
	if r.Log {
		return normalised(math.Log(v), math.Log(r.Low), math.Log(r.High))
	}
	return normalised(v, r.Low, r.High)
}

// at returns the value at a place from 0 to 1 between the bounds. It is the inverse of unit.
func (p PB2) at(key string, unit float64) float64 {
	r := p.Bounds[key]
	return min(max(r.Draw(fixed(unit)), r.Low), r.High)
}

// fixed is a Uniform that always gives the same number.
type fixed float64

func (f fixed) Float64() float64 { return float64(f) }
