package evolution

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
)

// matrix is a weight (outputs × inputs of a linear layer), the kernels of a convolution (outputs × all weights of a
// kernel) or a bias (outputs × 1), row by row, in float32 as snapshots hold them. A matrix that was read shares its
// numbers with the snapshot and must not be changed in place.
type matrix struct {
	rows, cols int
	data       []float32
	form
}

// form says what a matrix is besides its numbers.
type form struct {
	vector bool // a bias, whose array has one dimension
	kernel int  // the length of the sides of square kernels, whose array has four dimensions; 0 for others
}

func zeros(rows, cols int, f form) matrix {
	return matrix{rows, cols, make([]float32, rows*cols), f}
}

// read returns an array as a matrix. Other types than float32, and shapes that are not a bias's, a weight's or square
// kernels', are errors.
func read(a checkpoint.Array) (matrix, error) {
	data, err := a.Float32s()
	if err != nil {
		return matrix{}, err
	}
	switch len(a.Shape) {
	case 1:
		return matrix{int(a.Shape[0]), 1, data, form{vector: true}}, nil
	case 2:
		return matrix{int(a.Shape[0]), int(a.Shape[1]), data, form{}}, nil
	case 4:
		if a.Shape[2] == a.Shape[3] {
			return matrix{int(a.Shape[0]), int(a.Shape[1] * a.Shape[2] * a.Shape[3]), data,
				form{kernel: int(a.Shape[2])}}, nil
		}
	}
	return matrix{}, fmt.Errorf("an array of shape %v is no weight and no bias of a layer", a.Shape)
}

func (m matrix) array() checkpoint.Array {
	shape := []int64{int64(m.rows), int64(m.cols)}
	switch k := int64(m.kernel); {
	case m.vector:
		shape = shape[:1]
	case k > 0:
		shape = []int64{shape[0], shape[1] / (k * k), k, k}
	}
	return checkpoint.ArrayFloat32(shape, m.data)
}

func (m matrix) at(r, c int) float32 { return m.data[r*m.cols+c] }

func (m matrix) transposed() matrix {
	out := zeros(m.cols, m.rows, m.form)
	for i, x := range m.data {
		out.data[i%m.cols*m.rows+i/m.cols] = x
	}
	return out
}

// insertRows returns a copy with n rows more before row at; value is called for each of their elements.
func (m matrix) insertRows(at, n int, value func() float32) matrix {
	added := zeros(n, m.cols, m.form)
	added.fill(value)
	return matrix{m.rows + n, m.cols, slices.Insert(slices.Clone(m.data), at*m.cols, added.data...), m.form}
}

// insertColumns is insertRows for columns.
func (m matrix) insertColumns(at, n int, value func() float32) matrix {
	return m.transposed().insertRows(at, n, value).transposed()
}

// withoutRows returns a copy without the rows listed.
func (m matrix) withoutRows(drop []int) matrix {
	out := matrix{m.rows - len(drop), m.cols, nil, m.form}
	for r := range m.rows {
		if !slices.Contains(drop, r) {
			out.data = append(out.data, m.data[r*m.cols:(r+1)*m.cols]...)
		}
	}
	return out
}

// withoutColumns is withoutRows for columns.
func (m matrix) withoutColumns(drop []int) matrix {
	return m.transposed().withoutRows(drop).transposed()
}

// times returns the matrix product m·o. It adds in float64, so that rounding stays below what a test of the preserved
// function can see.
func (m matrix) times(o matrix) matrix {
	out := zeros(m.rows, o.cols, o.form)
	for r := range m.rows {
		for c := range o.cols {
			var sum float64
			for k := range m.cols {
				sum += float64(m.at(r, k)) * float64(o.at(k, c))
			}
			out.data[r*out.cols+c] = float32(sum)
		}
	}
	return out
}

// plus returns m + scale·o.
func (m matrix) plus(o matrix, scale float32) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.form}
	for i, x := range o.data {
		out.data[i] += scale * x
	}
	return out
}

// scaled multiplies m in place and returns it.
func (m matrix) scaled(by float32) matrix {
	for i := range m.data {
		m.data[i] *= by
	}
	return m
}

// fill sets every element of m in place, calling value for each.
func (m matrix) fill(value func() float32) {
	for i := range m.data {
		m.data[i] = value()
	}
}

// overlay copies the leading rows and columns that m and o have in common from o into m; of kernels, the leading rows
// and columns of the leading inputs.
func (m matrix) overlay(o matrix) {
	block := func(x matrix) (inputs, side int) {
		side = max(x.kernel, 1)
		return x.cols / (side * side), side
	}
	inputs, side := block(m)
	others, other := block(o)
	n := min(side, other)
	for r := range min(m.rows, o.rows) {
		for c := range min(inputs, others) {
			for y := range n {
				to, from := r*m.cols+(c*side+y)*side, r*o.cols+(c*other+y)*other
				copy(m.data[to:to+n], o.data[from:from+n])
			}
		}
	}
}

// mean returns the mean of all elements, 0 if there are none.
func (m matrix) mean() float32 {
	var sum float64
	for _, x := range m.data {
		sum += float64(x)
	}
	return float32(sum / float64(max(len(m.data), 1)))
}
