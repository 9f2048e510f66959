package explore

// This file holds Parameter, which describes one hyperparameter for Mutation and Perturbation: the values that it can
// have, how a value that leaves its bounds comes back, and how it is resampled. Distances are measured as a rule
// changes the value: 0.001 to 0.002 is as far as 0.01 to 0.02 for a learning rate, and 0.9 to 0.99 as far as 0.99 to
// 0.999 for a discount.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
)

// Parameter says how one hyperparameter is explored. All values are float64: of truth values 0 and 1, of integers whole
// numbers, of categories whatever number stands for them.
type Parameter struct {
	// Rule changes the value. Default: the key's in Mutation.Rules, if any. A [Perturbation] takes only Integer, for
	// whole numbers.
	Rule Rule
	// Min and Max are the least and greatest value. Both zero: the key's in Mutation.Bounds, or none. An infinity
	// leaves one side open.
	Min, Max float64
	// Outside says how a value that a rule moves out of the bounds is brought back. Default OutsideClamp.
	Outside Outside
	// ChangeRange are the least and greatest factor of change of this key. Default (zero): Mutation.ChangeRange.
	ChangeRange [2]float64
	// Step is, for rule integer, what the value stays a multiple of (default 1); for additive, the greatest change
	// (default: a tenth of Max-Min); for perturb_batch_size the length of a rollout. Other rules have none.
	Step float64
	// Choices are the values that the key can have, for the rules categorical and neighbour (next to each other means
	// next to each other here), and to draw from by Mutation.Resample.
	Choices []float64
	// Sample is the range from which Mutation.Resample draws. Zero: Choices, or nothing is resampled. Whole numbers
	// stay whole, each equally likely unless the range is logarithmic.
	Sample Range
	// Default is what Mutation.Reset puts back, e.g. new(0.99). nil: nothing.
	Default *float64
}

// Range is an interval to draw from. The yaml tags are its keys in files.
type Range struct {
	// Low and High are the least and greatest value.
	Low  float64 `yaml:"low"`
	High float64 `yaml:"high"`
	// Log draws uniformly between the logarithms; Low must be above 0.
	Log bool `yaml:"log"`
}

// Draw returns a value between Low and High, from one number.
func (r Range) Draw(u Uniform) float64 {
	x := u.Float64()
	if r.Log {
		return min(max(math.Exp(math.Log(r.Low)+x*(math.Log(r.High)-math.Log(r.Low))), r.Low), r.High)
	}
	return r.Low + x*(r.High-r.Low)
}

// Check returns an error that says what is wrong with the range, to follow its name, and what to give.
func (r Range) Check() error {
	switch {
	case !number.Finite(r.Low) || !number.Finite(r.High) || r.Low > r.High:
		return fmt.Errorf("is from %v to %v; give two finite numbers in ascending order", r.Low, r.High)
	case r.Log && r.Low <= 0:
		return fmt.Errorf("is logarithmic from %v; its low end must be above 0", r.Low)
	}
	return nil
}

// Outside says how a value outside its bounds is brought back.
type Outside string

const (
	// OutsideClamp takes the bound.
	OutsideClamp Outside = "clamp"
	// OutsideReflect takes as much of the way back inside as the value lies outside, as a mirror at the bound would, so
	// that values do not pile up there. It measures as the rule does: the logarithm of the value for rules that
	// multiply (of one minus the value for those of discounts), where it and the bounds are positive; else the value
	// itself.
	OutsideReflect Outside = "reflect"
)

// bounded reports whether the parameter has bounds; both zero mean none.
func (p Parameter) bounded() bool { return p.Min != 0 || p.Max != 0 }

// sampled reports whether there is something to resample a value from.
func (p Parameter) sampled() bool { return p.Sample != Range{} || len(p.Choices) > 0 }

// Draw returns a value of the parameter's Sample or Choices, by one number: whole numbers where the rule is one of
// these.
func (p Parameter) Draw(u Uniform) float64 { return p.resample(u, traits(p.Rule).whole) }

// resample draws a new value by one number from u. Whole numbers are drawn as multiples of the step, counted so
// that both ends are as likely as the rest; rounding a number from the range would give the ends half. Logarithmic
// ones are rounded, as equal chances are not wanted there.
func (p Parameter) resample(u Uniform, whole bool) float64 {
	switch r := p.Sample; {
	case r == Range{}:
		return p.Choices[index(u, len(p.Choices))]
	case !whole:
		return r.Draw(u)
	default:
		low, high := math.Ceil(r.Low/p.step()), math.Floor(r.High/p.step())
		if r.Log {
			return p.step() * min(max(math.Round(r.Draw(u)/p.step()), low), high)
		}
		return p.step() * min(low+math.Floor(u.Float64()*(high-low+1)), high)
	}
}

// step is the unit of whole numbers.
func (p Parameter) step() float64 { return cmp.Or(p.Step, 1) }

// contains reports whether a value is a finite number within the bounds.
func (p Parameter) contains(v float64) bool {
	return number.Finite(v) && (!p.bounded() || v >= p.Min && v <= p.Max)
}

// check says what is wrong with a parameter to which a rule of the given kind applies (none: the zero rule).
func (p Parameter) check(rule *rule) error {
	low, high := p.Min, p.Max
	if !(low <= high) || math.IsInf(low, 1) || math.IsInf(high, -1) {
		return fmt.Errorf("min is %v and max %v; give the least value, then the greatest, infinities for none", low,
			high)
	}
	switch p.Outside {
	case "", OutsideClamp, OutsideReflect:
	default:
		return fmt.Errorf("outside is %q: %s", p.Outside,
			config.Among(string(p.Outside), []string{string(OutsideClamp), string(OutsideReflect)}))
	}
	if p.ChangeRange != [2]float64{} {
		if err := checkChangeRange(p.ChangeRange); err != nil {
			return err
		}
	}
	if !(p.Step >= 0) || math.IsInf(p.Step, 1) {
		return fmt.Errorf("step is %v; give a finite number above 0, or 0 for the rule's own", p.Step)
	}
	if rule.check != nil {
		if err := rule.check(p); err != nil {
			return err
		}
	}
	return p.checkSpace(rule.whole)
}

// checkSpace checks the values that there can be.
func (p Parameter) checkSpace(whole bool) error {
	for i, c := range p.Choices {
		switch {
		case !p.contains(c):
			return fmt.Errorf("choices[%d] is %v; give finite numbers within the bounds", i, c)
		case slices.Contains(p.Choices[:i], c):
			return fmt.Errorf("choices has %v twice", c)
		}
	}
	if r := p.Sample; r != (Range{}) {
		if err := r.Check(); err != nil {
			return fmt.Errorf("sample %w", err)
		}
		switch {
		case len(p.Choices) > 0:
			return fmt.Errorf("there are sample and choices; give one of the two")
		case !p.contains(r.Low) || !p.contains(r.High):
			return fmt.Errorf("sample is from %v to %v, which is not within the bounds %v to %v", r.Low, r.High, p.Min,
				p.Max)
		}
	}
	if d := p.Default; d != nil && !p.contains(*d) {
		return fmt.Errorf("default is %v; give a finite number within the bounds", *d)
	}
	if !whole {
		return nil
	}
	numbers := append([]float64{p.Min, p.Max, p.Sample.Low, p.Sample.High}, p.Choices...)
	if p.Default != nil {
		numbers = append(numbers, *p.Default)
	}
	for _, v := range numbers {
		if number.Finite(v) && math.Mod(v, p.step()) != 0 {
			return fmt.Errorf("%v is not a multiple of %v, which bounds, choices, samples and defaults of whole "+
				"numbers must be", v, p.step())
		}
	}
	return nil
}

// checkChangeRange checks a range of factors. Both must be at least 1, since rules choose the direction themselves.
func checkChangeRange(r [2]float64) error {
	if low, high := r[0], r[1]; !(low >= 1 && low <= high) || math.IsInf(high, 0) {
		return fmt.Errorf("change_range is %v; give two factors of at least 1 in ascending order, e.g. [1.1 2]", r)
	}
	return nil
}

// index draws one of the numbers 0 to n-1. The minimum guards against a product that rounds up to n.
func index(u Uniform, n int) int { return min(int(u.Float64()*float64(n)), n-1) }

// scale is how a rule measures distances.
type scale int

const (
	linear   scale = iota
	logScale       // logarithm of the value
	oneMinus       // minus the logarithm of one minus the value
)

// to maps a value to where equal distances mean equal changes. It ascends with the value.
func (s scale) to(v float64) float64 {
	switch s {
	case logScale:
		return math.Log(v)
	case oneMinus:
		return -math.Log(1 - v)
	default:
		return v
	}
}

// from is the inverse of to.
func (s scale) from(z float64) float64 {
	switch s {
	case logScale:
		return math.Exp(z)
	case oneMinus:
		return 1 - math.Exp(-z)
	default:
		return z
	}
}

// reflect mirrors a value outside [low, high] at the bounds, as often as it takes. Where the value or a bound has no
// place on the scale, such as the logarithm of a negative number, it measures linearly.
func (s scale) reflect(v, low, high float64) float64 {
	z, a, b := s.to(v), s.to(low), s.to(high)
	if math.IsNaN(z) || math.IsNaN(a) || math.IsNaN(b) || math.IsInf(z, 0) {
		s, z, a, b = linear, v, low, high
	}
	switch {
	case a == b:
		return low
	case z < a && math.IsInf(b, 1):
		z = 2*a - z
	case z > b && math.IsInf(a, -1):
		z = 2*b - z
	default:
		// A zigzag of period 2(b-a).
		z = math.Mod(math.Abs(z-a), 2*(b-a))
		z = a + min(z, 2*(b-a)-z)
	}
	return s.from(z)
}
