package tensor_test

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

func (c *testCase) chance(p float64) bool { return c.Float64() < p }

// size is a dimension: often 0, 1, or about as long as a vector of some instruction set.
func (c *testCase) size() int64 {
	switch x := c.Float64(); {
	case x < 0.05:
		return 0
	case x < 0.2:
		return 1
	case x < 0.6:
		return 2 + c.Int64N(8)
	case x < 0.9:
		return []int64{4, 8, 12, 14, 16, 24, 28, 32, 48, 64}[c.IntN(10)] - 1 + c.Int64N(3)
	}
	return 2 + c.Int64N(130)
}

// width is a size that is not 0.
func (c *testCase) width() int64 { return max(1, c.size()) }

// shape has from least to most dimensions, and a few hundred elements, sometimes a few thousand.
func (c *testCase) shape(least, most int) []int64 {
	shape := make([]int64, least+c.IntN(most-least+1))
	n, limit := int64(1), int64(400)
	if c.chance(0.05) {
		limit = 6000
	}
	for i := range shape {
		if shape[i] = c.size(); n*shape[i] > limit {
			shape[i] = 2
		}
		n *= max(1, shape[i])
	}
	return shape
}

// dim is a dimension of n, counted from either end; in wild cases perhaps none.
func (c *testCase) dim(n int) int64 {
	if c.wild && c.chance(0.3) || n == 0 {
		return []int64{int64(n), int64(-n - 1), math.MaxInt64, math.MinInt64, math.MaxInt32 + 1}[c.IntN(5)]
	}
	return c.Int64N(2*int64(n)) - int64(n)
}

// number is x; in wild cases perhaps another number.
func (c *testCase) perhaps(x int64) int64 {
	if c.wild && c.chance(0.3) {
		return []int64{x + 1, x - 1, -x, math.MaxInt64, math.MaxInt64 - x, math.MinInt64, 0}[c.IntN(7)]
	}
	return x
}

// Generators of values, all of them float32 numbers.
func (c *testCase) normal() float64 { return float64(float32(c.NormFloat64())) }

func (c *testCase) positive() float64 { return float64(float32(0.1 + c.ExpFloat64())) }

// grid has few bits, so that sums and products of some of its numbers are exact in float32 too, and equal ones
// are frequent: functions with
// kinks then take the same side in float32 and in float64.
func (c *testCase) grid() float64 { return float64(c.IntN(5)-2) / 2 }

// special is sometimes no ordinary number.
func (c *testCase) special() float64 {
	if c.chance(0.2) {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 87, -87, 100, -100,
			1e-30}[c.IntN(10)]
	}
	return c.normal()
}

// values returns one of the generators of numbers.
func (c *testCase) values() func() float64 {
	return []func() float64{c.normal, c.normal, c.grid, c.special}[c.IntN(4)]
}

func (c *testCase) array(value func() float64, shape ...int64) array {
	a := array{slices.Clone(shape), make([]float64, elements(shape))}
	for i := range a.x {
		a.x[i] = value()
	}
	return a
}

// movable is an operand of any type, for operations that move elements.
func (c *testCase) movable(shape []int64) *input {
	d := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Int64, tensor.Int32, tensor.Uint8,
		tensor.Bool}[c.IntN(7)]
	if d == tensor.Float32 {
		return c.sometimes(c.array(c.special, shape...))
	}
	n := map[bool]int{false: 200, true: 2}[d == tensor.Bool]
	return c.sometimes(c.array(func() float64 { return float64(c.IntN(n)) }, shape...)).of(d)
}

// sometimes is flat memory in half of the cases, which the engine knows, and any layout in the others.
func (c *testCase) sometimes(a array) *input {
	if c.chance(0.5) {
		return c.flat(a)
	}
	return c.in(a)
}

// axis draws a dimension to name, often the first one, and returns where it is.
func (c *testCase) axis(shape []int64) (dim int64, d int) {
	dim = c.dim(len(shape))
	if c.chance(0.5) {
		dim = 0
	}
	return dim, max(0, min(len(shape)-1, from(dim, len(shape))))
}

// dims are dimensions to reduce, all different; none means all.
func (c *testCase) dims(n int) (dims []int64) {
	for d := range n {
		if c.chance(0.4) {
			dims = append(dims, int64(d-n*c.IntN(2)))
		}
	}
	if c.chance(0.3) && n > 0 {
		dims = []int64{-1}
	}
	if c.wild && c.chance(0.3) {
		dims = append(dims, c.dim(n))
	}
	return dims
}
