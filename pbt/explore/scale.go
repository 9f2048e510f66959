package explore

// This file measures distances between values of a hyperparameter: 0.001 to 0.002 is as far as 0.01 to 0.02 for a
// learning rate, and 0.9 to 0.99 as far as 0.99 to 0.999 for a discount.

import "math"

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
