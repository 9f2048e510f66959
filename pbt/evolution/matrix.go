package evolution

import (
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

// shaped returns numbers as a matrix: those of a bias, a weight or square kernels, which have a shape of one, two or
// four dimensions.
func shaped(shape []int64, data []float32) matrix {
	m := matrix{rows: int(shape[0]), data: data, form: form{vector: len(shape) == 1}}
	m.cols = len(data) / max(m.rows, 1)
	if len(shape) == 4 {
		m.kernel = int(shape[3])
	}
	return m
}

// read returns an array as a matrix, see shaped. Other types than float32 are errors.
func read(a checkpoint.Array) (matrix, error) {
	data, err := a.Float32s()
	if err != nil {
		return matrix{}, err
	}
	return shaped(a.Shape, data), nil
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

// plusProduct returns the vector m + scale·w·x. It adds in float64, so that rounding stays below what a test of the
// preserved function can see.
func (m matrix) plusProduct(scale float32, w matrix, x []float32) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.form}
	for r := range w.rows {
		var sum float64
		for k, v := range x {
			sum += float64(w.at(r, k)) * float64(v)
		}
		out.data[r] += scale * float32(sum)
	}
	return out
}

// fill sets every element of m in place, calling value for each.
func (m matrix) fill(value func() float32) {
	for i := range m.data {
		m.data[i] = value()
	}
}

// grid is the size of the grids of numbers that a row consists of: those of kernels, else single numbers.
func (m matrix) grid() [2]int { return [2]int{max(m.kernel, 1), max(m.kernel, 1)} }

// overlay copies from o into m what they have in common if their rows are grids of the sizes to and from: of the
// leading rows the leading grids, and of these the leading rows and columns.
func (m matrix) overlay(o matrix, to, from [2]int) {
	size, other, n := to[0]*to[1], from[0]*from[1], min(to[1], from[1])
	for r := range min(m.rows, o.rows) {
		for g := range min(m.cols/size, o.cols/other) {
			for y := range min(to[0], from[0]) {
				at, of := r*m.cols+g*size+y*to[1], r*o.cols+g*other+y*from[1]
				copy(m.data[at:at+n], o.data[of:of+n])
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
