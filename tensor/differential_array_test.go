package tensor_test

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// array is a tensor's values in row order.
type array struct {
	shape []int64
	x     []float64
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// build returns an array of f of every index.
func build(shape []int64, f func(index []int64) float64) array {
	out := array{slices.Clone(shape), make([]float64, elements(shape))}
	for i := range out.x {
		index, rest := make([]int64, len(shape)), int64(i)
		for d := len(shape) - 1; d >= 0; d-- {
			index[d], rest = rest%shape[d], rest/shape[d]
		}
		out.x[i] = f(index)
	}
	return out
}

// pick returns the array of another shape whose element at an index is a's at f(index).
func (a array) pick(shape []int64, f func(index []int64) []int64) array {
	return build(shape, func(index []int64) float64 { return a.x[a.place(f(index))] })
}

// reduce returns f of the elements that meet when dims are reduced; none stands for all of them.
func (a array) reduce(dims []int64, keep bool, f func([]float64) float64) array {
	small, shape := slices.Clone(a.shape), []int64{}
	for d := range small {
		if len(dims) == 0 || slices.ContainsFunc(dims, func(r int64) bool { return from(r, len(small)) == d }) {
			small[d] = 1
			if !keep {
				continue
			}
		}
		shape = append(shape, small[d])
	}
	groups, where := make([][]float64, elements(small)), array{shape: small}
	build(a.shape, func(index []int64) float64 {
		x := a.x[a.place(index)]
		for d := range index {
			index[d] %= small[d]
		}
		to := where.place(index)
		groups[to] = append(groups[to], x)
		return x
	})
	out := array{shape: shape}
	for _, group := range groups {
		out.x = append(out.x, f(group))
	}
	return out
}

func (a array) place(index []int64) (i int64) {
	for d, k := range index {
		i = i*a.shape[d] + k
	}
	return i
}

// each returns the values of f of every element.
func each(f func(float64) float64, a array) []array { return []array{{a.shape, apply(f, a.x)}} }

// from turns a dimension that may be counted from the end into one that is not.
func from(dim int64, n int) int { return int((dim + int64(n)) % int64(n)) }

// resized, without and within return a shape with another size of a dimension, without one, and with one more.
func resized(shape []int64, d int, n int64) []int64 {
	to := slices.Clone(shape)
	to[d] = n
	return to
}

func without(shape []int64, d int) []int64 { return slices.Delete(slices.Clone(shape), d, d+1) }

func within(shape []int64, d int, n int64) []int64 { return slices.Insert(slices.Clone(shape), d, n) }

func norm(x []float64) float64 { return floats.Norm(x, 2) }

// softmax is that of every line along a dimension.
func (a array) softmax(dim int64) array {
	powers := each(math.Exp, a)[0]
	sums := powers.reduce([]int64{dim}, true, floats.Sum)
	return build(a.shape, func(i []int64) float64 {
		x := powers.x[a.place(i)]
		i[from(dim, len(i))] = 0
		return x / sums.x[sums.place(i)]
	})
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
