package explore

// This file holds PB2, its settings and their checks. Of the work, pb2_data.go reads trials from the journal,
// pb2_process.go is the Gaussian process that learns from them, and pb2_bandit.go searches for the values with the
// best prospects.

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// PB2 explores with a model of what the population has tried: Population Based Bandits (Parker-Holder, Nguyen, Roberts,
// "Provably Efficient Online Hyperparameter Optimization with Population-Based Bandits", 2020). A Gaussian process
// predicts how much an interval improves the objective, per step, from the hyperparameters, the objective at the
// interval's beginning, and time; the values chosen are those where the upper confidence bound of the improvement is
// greatest. It suits small populations, where random changes find little.
//
// The kernel is a squared exponential over the hyperparameters (scaled to their bounds) and the objective at the
// beginning (scaled to those seen), times (1-ε)^(|Δt|/2) where Δt counts intervals, so that old intervals are
// forgotten. Length scale, ε and noise are those of the greatest likelihood on a grid. Improvements are standardised
// and clipped at two standard deviations. What other members were given in the same interval, and have not tried yet,
// counts as known when the model's doubt is computed, so that members given values at one time get different ones.
//
// Before [PB2.Fit] has seen enough, values are drawn uniformly within the bounds.
type PB2 struct {
	// Bounds are the ranges to explore by hyperparameter, at least one. Those with Log set are modelled and drawn by
	// their logarithms.
	Bounds map[string]Range
	// Integers are those of the hyperparameters that are whole numbers; their bounds must be. Values are rounded.
	Integers []string
	// Rows is the greatest number of intervals that the model knows, the latest ones. The time to choose grows with its
	// cube. Default (0): 1000.
	//
	// More rows make the model surer and slower; fewer make it cheaper and forget the distant past for good.
	Rows int
	// MinRows is the number of intervals below which values are drawn uniformly. Default (0): 4.
	//
	// A larger number tries more at random before it trusts the model; raise it with many hyperparameters, which few
	// points cannot cover.
	MinRows int
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
	if p.Rows < 0 || p.MinRows < 0 {
		return fmt.Errorf("pbt: PB2.Rows is %d and PB2.MinRows %d; give 0 or more", p.Rows, p.MinRows)
	}
	for _, key := range p.Keys() {
		r := p.Bounds[key]
		switch {
		case !slices.Contains(hyperparameters, key):
			return fmt.Errorf("pbt: PB2.Bounds names hyperparameter %q, which members do not have: %s", key,
				config.Among(key, hyperparameters))
		case !number.Finite(r.Low) || !number.Finite(r.High) || !(r.Low < r.High) || !number.Finite(r.High-r.Low):
			return fmt.Errorf("pbt: PB2.Bounds[%q] is from %v to %v; give two finite numbers in ascending order", key, r.Low,
				r.High)
		case r.Log && r.Low <= 0:
			return fmt.Errorf("pbt: PB2.Bounds[%q] is logarithmic from %v; Low must be above 0", key, r.Low)
		}
	}
	for _, key := range p.Integers {
		r, ok := p.Bounds[key]
		if !ok {
			return fmt.Errorf("pbt: PB2.Integers names hyperparameter %q, which PB2.Bounds does not have: %s", key,
				config.Among(key, p.Keys()))
		}
		if r.Low != math.Trunc(r.Low) || r.High != math.Trunc(r.High) {
			return fmt.Errorf("pbt: PB2.Bounds[%q] is from %v to %v; a hyperparameter in PB2.Integers needs whole numbers", key,
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

// Fit implements [Fitter]. The explorer that it returns chooses by a model of the events or, with fewer than MinRows
// intervals to learn from, draws uniformly. Fit itself draws no random numbers.
//
// An interval can be learned from when the objective is known and finite at its beginning and its end and the member
// did not fail. After a copy the objective at the beginning is the source's.
func (p PB2) Fit(events []journal.Event, _ *rand.Rand) Explorer {
	minRows, rows := p.MinRows, p.Rows
	if minRows == 0 {
		minRows = 4
	}
	if rows == 0 {
		rows = 1000
	}
	d := p.learn(events)
	if len(d.trials) < minRows || len(d.trials) == 0 {
		return p
	}
	// Old trials are correlated least with the present, so the latest are kept.
	if len(d.trials) > rows {
		d.trials = d.trials[len(d.trials)-rows:]
	}
	if m := newBandit(p, d); m != nil {
		return m
	}
	return p
}

// unit scales a value to 0 to 1 between its bounds, on the logarithm where Log is set, so that one length scale fits
// all hyperparameters.
func (p PB2) unit(key string, v float64) float64 {
	r := p.Bounds[key]
	v = min(max(v, r.Low), r.High)
	if r.Log {
		return (math.Log(v) - math.Log(r.Low)) / (math.Log(r.High) - math.Log(r.Low))
	}
	return (v - r.Low) / (r.High - r.Low)
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
