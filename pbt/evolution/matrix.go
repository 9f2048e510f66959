package evolution

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
)

// matrix is a weight (rows × columns), or a bias (rows × 1), in float32 as snapshots hold them. One that was read shares
// its numbers with the snapshot and must not be changed.
type matrix struct {
	rows, cols int
	data       []float32
	vector     bool
}

func zeros(rows, cols int, vector bool) matrix {
	return matrix{rows, cols, make([]float32, rows*cols), vector}
}

func read(a checkpoint.Array) (matrix, error) {
	data, err := a.Float32s()
	if err != nil {
		return matrix{}, err
	}
	switch len(a.Shape) {
	case 1:
		return matrix{int(a.Shape[0]), 1, data, true}, nil
	case 2:
		return matrix{int(a.Shape[0]), int(a.Shape[1]), data, false}, nil
	}
	return matrix{}, fmt.Errorf("an array of shape %v is no weight and no bias of a linear layer", a.Shape)
}

func (m matrix) array() checkpoint.Array {
	shape := []int64{int64(m.rows), int64(m.cols)}
	if m.vector {
		shape = shape[:1]
	}
	return checkpoint.ArrayFloat32(shape, m.data)
}

func (m matrix) at(r, c int) float32 { return m.data[r*m.cols+c] }

// insertRows puts n rows before row at; value gives their elements.
func (m matrix) insertRows(at, n int, value func() float32) matrix {
	out := zeros(m.rows+n, m.cols, m.vector)
	copy(out.data, m.data[:at*m.cols])
	for i := range n * m.cols {
		out.data[at*m.cols+i] = value()
	}
	copy(out.data[(at+n)*m.cols:], m.data[at*m.cols:])
	return out
}

// insertColumns puts n columns before column at; value gives their elements.
func (m matrix) insertColumns(at, n int, value func() float32) matrix {
	out := zeros(m.rows, m.cols+n, m.vector)
	for r := range m.rows {
		row, old := out.data[r*out.cols:(r+1)*out.cols], m.data[r*m.cols:(r+1)*m.cols]
		copy(row, old[:at])
		for i := range n {
			row[at+i] = value()
		}
		copy(row[at+n:], old[at:])
	}
	return out
}

// withoutRows leaves out the rows listed.
func (m matrix) withoutRows(drop []int) matrix {
	out := matrix{rows: m.rows - len(drop), cols: m.cols, vector: m.vector, data: make([]float32, 0, (m.rows-len(drop))*m.cols)}
	for r := range m.rows {
		if !slices.Contains(drop, r) {
			out.data = append(out.data, m.data[r*m.cols:(r+1)*m.cols]...)
		}
	}
	return out
}

// withoutColumns leaves out the columns listed.
func (m matrix) withoutColumns(drop []int) matrix {
	out := matrix{rows: m.rows, cols: m.cols - len(drop), vector: m.vector, data: make([]float32, 0, m.rows*(m.cols-len(drop)))}
	for i, x := range m.data {
		if !slices.Contains(drop, i%m.cols) {
			out.data = append(out.data, x)
		}
	}
	return out
}

// times is the matrix product.
func (m matrix) times(o matrix) matrix {
	out := zeros(m.rows, o.cols, o.vector)
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

// plus is the sum with o times scale, element by element.
func (m matrix) plus(o matrix, scale float32) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.vector}
	for i, x := range o.data {
		out.data[i] += scale * x
	}
	return out
}

// scaled multiplies in place.
func (m matrix) scaled(by float32) matrix {
	for i := range m.data {
		m.data[i] *= by
	}
	return m
}

// fill sets every element.
func (m matrix) fill(value func() float32) {
	for i := range m.data {
		m.data[i] = value()
	}
}

// overlay copies the leading block that m and o have in common.
func (m matrix) overlay(o matrix) {
	n := min(m.cols, o.cols)
	for r := range min(m.rows, o.rows) {
		copy(m.data[r*m.cols:r*m.cols+n], o.data[r*o.cols:r*o.cols+n])
	}
}

// mean of all elements; 0 where there are none.
func (m matrix) mean() float32 {
	var sum float64
	for _, x := range m.data {
		sum += float64(x)
	}
	return float32(sum / float64(max(len(m.data), 1)))
}
