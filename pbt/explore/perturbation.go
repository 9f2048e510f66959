package explore

// This file holds Perturbation, Ray Tune's way to explore. It differs from Mutation: there is no rate, so every key
// changes at every decision, and the factors are two fixed numbers.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
)

// Perturbation is how Ray Tune's population based training explores: every key is resampled with a probability, else
// multiplied by one of two factors, or, where it has a list of choices, moved to a neighbour in the list.
//
// Beyond the original, values stay within bounds; whole numbers are rounded up or down at random, in proportion to what
// is cut off, and always move, so that they go both ways; and from an end of its list a value moves inwards. See
// Strict.
type Perturbation struct {
	// ResampleProbability is the probability that a key is resampled from its Sample or Choices. Ray Tune has 0.25; 0
	// is never. See [DefaultPerturbation].
	//
	// Larger values explore more widely and forget more of what the population has found; 0 only multiplies, so that
	// values creep away from good ones slowly.
	ResampleProbability float64
	// Factors are the two numbers to multiply by, each equally likely. Default (zero): 1.2 and 0.8.
	//
	// Factors further from 1 search faster and disturb more. 1.2 and 0.8 do not cancel out (0.96): values sink
	// slightly over many decisions; 1.25 and 0.8 do.
	Factors [2]float64
	// Parameters are the hyperparameters to explore, by name or pattern as in [Mutation]. Each has either Choices or
	// Sample. Min and Max are the bounds, by default those of Sample; Rule is nil or, for whole numbers, Integer, which
	// keeps multiples of Step. Default and ChangeRange are not looked at.
	Parameters map[string]Parameter
	// Constrain has the last word, as in Mutation (Ray Tune: custom_explore_fn).
	Constrain Constraint
	// Strict reproduces the original where it differs: there are no bounds; whole numbers are truncated, so that small
	// ones can go down but not up; and a value at an end of its list stays there half of the time.
	Strict bool
}

// DefaultPerturbation has Ray Tune's probability and factors for the given hyperparameters.
func DefaultPerturbation(parameters map[string]Parameter) Perturbation {
	return Perturbation{ResampleProbability: 0.25, Factors: [2]float64{1.2, 0.8}, Parameters: parameters}
}

// Keys are those of Parameters, sorted; patterns stay patterns.
func (p Perturbation) Keys() []string { return slices.Sorted(maps.Keys(p.Parameters)) }

// BoundsOf are a key's Min and Max or else those of its Sample. A key with Choices, and any key where Strict is set,
// has none.
func (p Perturbation) BoundsOf(key string) ([2]float64, bool) {
	q, ok := p.parameter(key)
	return [2]float64{q.Min, q.Max}, ok && q.bounded()
}

// parameter is what applies to a hyperparameter, with the bounds that hold for it.
func (p Perturbation) parameter(key string) (Parameter, bool) {
	q, closeness := lookup(p.Parameters, key)
	switch {
	case p.Strict || len(q.Choices) > 0:
		q.Min, q.Max = 0, 0
	case !q.bounded():
		q.Min, q.Max = q.Sample.Low, q.Sample.High
	}
	return q, closeness > 0
}

// Validate checks the perturbation against the hyperparameters there are.
func (p Perturbation) Validate(hyperparameters []string) error {
	p.Factors = cmp.Or(p.Factors, [2]float64{1.2, 0.8})
	if r := p.ResampleProbability; !(r >= 0 && r <= 1) {
		return fmt.Errorf("pbt: Perturbation.ResampleProbability is %v; give a probability from 0 to 1", r)
	}
	for _, f := range p.Factors {
		if !(f > 0) || math.IsInf(f, 1) {
			return fmt.Errorf("pbt: Perturbation.Factors are %v; give two numbers above 0, e.g. 1.2 and 0.8", p.Factors)
		}
	}
	for _, key := range p.Keys() {
		if err := checkKey("parameters", key, hyperparameters); err != nil {
			return err
		}
		q := p.Parameters[key]
		if q.Rule != nil && q.Rule != Integer {
			return fmt.Errorf("pbt: parameters.%s names rule %q; leave it empty, or give \"integer\" for whole numbers",
				key, q.Rule.Name())
		}
		err := q.check(traits(q.Rule))
		if err == nil && !q.sampled() {
			err = fmt.Errorf("there is neither sample nor choices; give the range or the list that values are drawn " +
				"from")
		}
		if err != nil {
			return fmt.Errorf("pbt: parameters.%s: %w", key, err)
		}
	}
	return nil
}

// Apply returns a changed copy. Keys are visited in sorted order. For each one number is drawn and, where it is not
// below ResampleProbability, a second: below one half it takes the first factor, or the choice before. For whole
// numbers (not where Strict is set) a third one rounds. Below ResampleProbability, and, without a second thought, where
// the value is none of the choices, one more number resamples the value.
func (p Perturbation) Apply(values map[string]float64, u Uniform) map[string]float64 {
	p.Factors = cmp.Or(p.Factors, [2]float64{1.2, 0.8})
	changed := maps.Clone(values)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		q, ok := p.parameter(key)
		if !ok {
			continue
		}
		if v := p.explore(q, values[key], u); number.Finite(v) {
			changed[key] = v
		}
	}
	return p.Constrain.apply(values, changed, p.BoundsOf)
}

// explore returns the new value of one key, by the draws that Apply describes. In strict mode choices at an end may
// stay and whole numbers are truncated, as in the original.
func (p Perturbation) explore(q Parameter, value float64, u Uniform) float64 {
	whole := q.Rule == Integer
	resample := u.Float64() < p.ResampleProbability
	if len(q.Choices) > 0 {
		at := slices.Index(q.Choices, value)
		switch {
		case resample || at < 0 || len(q.Choices) == 1 && !p.Strict:
			return q.Choices[index(u, len(q.Choices))]
		case !p.Strict:
			return neighbour(value, RuleInput{Uniform: u, Choices: q.Choices})
		case u.Float64() < 0.5:
			return q.Choices[max(at-1, 0)]
		default:
			return q.Choices[min(at+1, len(q.Choices)-1)]
		}
	}
	switch {
	case resample && whole && p.Strict:
		return math.Trunc(q.Sample.Draw(u))
	case resample:
		return q.inside(q.resample(u, whole), linear)
	}
	factor := p.Factors[0]
	if u.Float64() >= 0.5 {
		factor = p.Factors[1]
	}
	v := value * factor
	switch {
	case !whole:
		return q.inside(v, logScale)
	case p.Strict:
		return math.Trunc(v)
	case factor == 1:
		return q.inside(value, linear)
	default:
		// The size grows by a factor above 1; of a negative number that is downwards.
		up := factor > 1 == (value >= 0)
		return q.inside(moveWhole(value, v, q.step(), up, u), linear)
	}
}
