package evolution

import (
	"math"
	"testing"
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
		{rate, 1,
			false, 1e-2},
		{RLParameter{Min: 1, Max: 10, Kind: KindInt, GrowFactor: 1.5, ShrinkFactor: 0.75}, 2, true, 3},
	} {
		if got := test.p.Mutate(test.value, test.grow, true); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v of %+v, growing %t: %v, want %v", test.value, test.p, test.grow, got, test.want)
		}
	}
}

func TestRLParameter(t *testing.T) {
	whole := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	for value := 1.0; value <= 10; value++ { // both ways, and by at least one
		up, down := whole.Mutate(value, true, false), whole.Mutate(value, false, false)
		if up == value || down == value || up != math.Trunc(up) || down != math.Trunc(down) {
			t.Errorf("%v becomes %v and %v", value, up, down)
		}
		if value < 10 && up <= value || value > 1 && down >= value {
			t.Errorf("%v grows to %v and shrinks to %v", value, up, down)
		}
	}
	if up, down := whole.Mutate(10, true, false), whole.Mutate(1, false, false); up != 8 || down != 2 {
		t.Errorf("at the bounds 10 becomes %v and 1 becomes %v, want 8 and 2: the other way", up, down)
	}
	rate := RLParameter{Min: 1e-6, Max: 1}
	x := 1e-3
	x = rate.Mutate(rate.Mutate(x, true, false), false, false)
	if math.Abs(x/1e-3-1) > 1e-12 || math.Abs(rate.Mutate(1e-3, true, false)-1e-3*math.Sqrt(1.5)) > 1e-15 {
		t.Errorf("growing and shrinking leads to %v: not symmetric", x)
	}
	if got := rate.Mutate(1e-6, false, false); got <= 1e-6 {
		t.Errorf("at its least it becomes %v, want more", got)
	}
	if got := (RLParameter{Max: 0.1}).Mutate(0, true, false); math.Abs(got-1e-3) > 1e-15 {
		t.Errorf("0 grows to %v, want 0.001", got)
	}
	if got := rate.Mutate(7, true, false); got != 1 {
		t.Errorf("beyond its bounds it becomes %v, want the nearest bound", got)
	}
}
