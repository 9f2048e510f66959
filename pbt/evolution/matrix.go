package evolution

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
)

// matrix is a weight (rows × columns), or a bias (rows × 1), in float32 as snapshots hold them.
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
	out := matrix{rows: m.rows - len(drop), cols: m.cols, vector: m.vector}
	for r := range m.rows {
		if !slices.Contains(drop, r) {
			out.data = append(out.data, m.data[r*m.cols:(r+1)*m.cols]...)
		}
	}
	return out
}

// withoutColumns leaves out the columns listed.
func (m matrix) withoutColumns(drop []int) matrix {
	out := matrix{rows: m.rows, cols: m.cols - len(drop), vector: m.vector}
	for r := range m.rows {
		for c := range m.cols {
			if !slices.Contains(drop, c) {
				out.data = append(out.data, m.at(r, c))
			}
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

// plus is the sum, element by element.
func (m matrix) plus(o matrix, scale float32) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.vector}
	for i, x := range o.data {
		out.data[i] += scale * x
	}
	return out
}
