package evolution

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The vectors of AgileRL's own arithmetic.
func TestStrictRLParameter(t *testing.T) {
	whole := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	rate := RLParameter{Min: 1e-4, Max: 1e-2}
	for _, test := range []struct {
		p     RLParameter
		value float64
		grow  bool
		want  float64
	}{
		{whole, 4, true, 4}, {whole, 4, false, 3}, {whole, 5, true, 6}, {whole, 3, true, 3}, {whole, 2, false, 1},
		{whole, 10, true, 10}, {whole, 1, false, 1},
		{rate, 1e-4, false, 1e-4}, {rate, 1e-2, true, 1e-2}, {rate, 1e-3, true, 1.2e-3}, {rate, 1e-3, false, 8e-4},
		{rate, 1, false, 1e-2},
		{RLParameter{Min: 1, Max: 10, Kind: KindInt, GrowFactor: 1.5, ShrinkFactor: 0.75}, 2, true, 3},
	} {
		must.Near(t, test.p.Mutate(test.value, test.grow, true), test.want, 1e-15, "%v of %+v, growing %t", test.value,
			test.p, test.grow)
	}
}

func TestRLParameter(t *testing.T) {
	whole := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	for value := 2.0; value < 10; value++ { // both ways, and by at least one
		up, down := whole.Mutate(value, true, false), whole.Mutate(value, false, false)
		if up <= value || down >= value || up != math.Trunc(up) || down != math.Trunc(down) {
			t.Errorf("%v becomes %v and %v", value, up, down)
		}
	}
	rate := RLParameter{Min: 1e-6, Max: 1}
	for _, c := range []struct {
		p     RLParameter
		value float64
		grow  bool
		want  float64
	}{
		{whole, 10, true, 8}, {whole, 1, false, 2}, // at a bound the other way
		{rate, 1e-3, true, 1e-3 * math.Sqrt(1.5)}, {rate, 1e-3 * math.Sqrt(1.5), false, 1e-3}, // symmetric
		{RLParameter{Max: 0.1}, 0, true, 1e-3}, {rate, 7, true, 1}, // from 0, and from beyond the bounds
	} {
		must.Near(t, c.p.Mutate(c.value, c.grow, false), c.want, 1e-15, "%v, growing %t", c.value, c.grow)
	}
}
