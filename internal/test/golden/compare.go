package golden

import (
	"math"
	"testing"
)

// Tolerance is the largest relative error ‖gorl − skrl‖ / ‖skrl‖ of a tensor.
const Tolerance = 1e-5

// Comparison compares tensors and remembers the worst.
type Comparison struct {
	t     *testing.T
	count int
	worst float64
	name  string
}

// NewComparison returns a comparison that reports to t, and when the test ends its worst error.
func NewComparison(t *testing.T) *Comparison {
	c := &Comparison{t: t, worst: -1}
	t.Cleanup(func() { t.Logf("%d tensors compared; the worst is %s: %.2g", c.count, c.name, c.worst) })
	return c
}

// Number is an element type.
type Number interface{ ~float32 | ~float64 }

// Error is ‖got − want‖ / ‖want‖, in float64; where want is zero, ‖got‖.
func Error[T Number](got []T, want []float64) float64 {
	var difference, norm float64
	for i, w := range want {
		d := float64(got[i]) - w
		difference += d * d
		norm += w * w
	}
	if norm == 0 {
		return math.Sqrt(difference)
	}
	return math.Sqrt(difference / norm)
}

// Compare compares a tensor; name says which.
func Compare[T Number](c *Comparison, name string, got []T, want Tensor) {
	c.t.Helper()
	if len(got) != len(want.Data) {
		c.t.Errorf("%s has %d values, want %d (%v)", name, len(got), len(want.Data), want.Shape)
		return
	}
	c.note(name, Error(got, want.Data))
}

// Scalar compares one number.
func (c *Comparison) Scalar(name string, got, want float64) {
	c.t.Helper()
	Compare(c, name, []float64{got}, Tensor{Data: []float64{want}})
}

// Mean compares a mean of terms of both signs, whose absolute values have the given mean. Where they cancel the result
// can be as small as one likes, and float32 cannot compute it better than relative to what cancels.
func (c *Comparison) Mean(name string, got, want, terms float64) {
	c.t.Helper()
	c.note(name, math.Abs(got-want)/math.Max(math.Abs(want), terms))
}

func (c *Comparison) note(name string, e float64) {
	c.t.Helper()
	c.count++
	if !(e <= c.worst) {
		c.worst, c.name = e, name
	}
	if !(e <= Tolerance) {
		c.t.Errorf("%s: relative error %.3g, want at most %g", name, e, Tolerance)
	}
}
