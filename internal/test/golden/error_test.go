package golden

import (
	"math"
	"testing"
)

// TestError compares vectors by hand.
func TestError(t *testing.T) {
	for _, c := range []struct {
		got, want []float64
		error     float64
	}{
		{[]float64{3, 4}, []float64{3, 4}, 0},
		{[]float64{3, 4.5}, []float64{3, 4}, 0.1},
		{[]float64{0, 2}, []float64{0, 0}, 2},
	} {
		if e := Error(c.got, c.want); math.Abs(e-c.error) > 1e-15 {
			t.Errorf("Error(%v, %v) = %g, want %g", c.got, c.want, e, c.error)
		}
	}
	if e := Error([]float64{math.NaN()}, []float64{1}); e <= Tolerance {
		t.Errorf("NaN is within tolerance: %g", e)
	}
}
