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

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// The rules of [PB2].
const (
	// RayPB2 is the rule of Ray Tune 2.60. The default.
	RayPB2 = "ray"
	// AuthorsPB2 is the rule of the authors' program.
	AuthorsPB2 = "authors"
)

// PB2 explores with a model of what the population has tried: Population Based Bandits (Parker-Holder, Nguyen,
// Roberts, "Provably Efficient Online Hyperparameter Optimization with Population-Based Bandits", 2020). A Gaussian
// process predicts the improvement of the objective per step in an interval. Its inputs are the hyperparameters, the
// objective at the interval's beginning, and time. The chosen values have the greatest upper confidence bound of the
// improvement, m + κ·v, where m is the mean and v the variance of the prediction. PB2 suits small populations, where
// random changes find little.
//
// The covariance of two intervals is σ²·exp(−d²/ℓ)·(1−ε)^(Δt/2). d is the distance between their hyperparameters and
// objectives, scaled to their ranges; Δt is the distance between their times, scaled to 0 to 1. L-BFGS fits σ², ℓ and
// ε by maximum likelihood, starting from 1, 1 and 0.1. Improvements are standardised and clipped at two standard
// deviations. A prediction is made for the time and the objective of the source's latest interval. The variance comes
// from a second process, which also knows the values given to other members in the same iteration, so that members
// that choose at the same time get different values.
//
// The two rules differ as follows, where n is the number of intervals:
//
//   - [RayPB2] has κ² = 0.2 + max(0, ln 0.4n). The process has no noise.
//   - [AuthorsPB2] has κ² = max(0, 0.2·ln 0.4n). The variance of the noise is fitted, too, and is added to v. The
//     length scale ℓ of the first process is at most 1.
//
// Before training, values are drawn uniformly within the bounds. During training, if the source has no interval to
// learn from, its values are kept.
type PB2 struct {
	// Bounds are the ranges to explore by hyperparameter, at least one. Those with Log set are modelled and drawn by
	// their logarithms.
	Bounds map[string]Range
	// Rule is [RayPB2] (the default, for "") or [AuthorsPB2].
	Rule string
	// Integers are those of the hyperparameters that are whole numbers; their bounds must be. Values are rounded.
	Integers []string
	// Rows is the greatest number of intervals that the model learns from, the latest ones. Default (0): 200. Ray Tune
	// and the authors choose one of 200, 210, ... by the likelihood.
	//
	// A larger number makes predictions more certain, and a choice slower by its cube. A smaller number makes a choice
	// faster, and drops old intervals entirely.
	Rows int
	// Constrain has the last word, as in [Mutation].
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
	if _, ok := banditRules[p.Rule]; !ok {
		return fmt.Errorf("pbt: PB2.Rule is %q; give %q (the default) or %q", p.Rule, RayPB2, AuthorsPB2)
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
	for _, key := range p.Integers {
		r, ok := p.Bounds[key]
		if !ok {
			return fmt.Errorf("pbt: PB2.Integers names hyperparameter %q, which PB2.Bounds does not have: %s", key,
				config.Among(key, p.Keys()))
		}
		if r.Low != math.Trunc(r.Low) || r.High != math.Trunc(r.High) {
			return fmt.Errorf("pbt: PB2.Bounds[%q] is from %v to %v; a hyperparameter in PB2.Integers needs whole "+
				"numbers", key, r.Low, r.High)
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
		return banditRules[p.Rule].scale(math.Log(v), math.Log(r.Low), math.Log(r.High))
	}
	return banditRules[p.Rule].scale(v, r.Low, r.High)
}

// at returns the value at a place from 0 to 1 between the bounds. It is the inverse of unit, up to the rounding of
// whole numbers.
func (p PB2) at(key string, unit float64) float64 {
	r := p.Bounds[key]
	v := r.Draw(fixed(unit))
	if slices.Contains(p.Integers, key) {
		v = math.Round(v)
	}
	return min(max(v, r.Low), r.High)
}

// fixed is a Uniform that always gives the same number.
type fixed float64

func (f fixed) Float64() float64 { return float64(f) }
