package inspection

import (
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Tensor describes one array.
type Tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Count int64   `json:"count"`
	Bytes int64   `json:"bytes"`
	// NaNs and Infinities count elements of floating-point tensors.
	NaNs       int64 `json:"nans"`
	Infinities int64 `json:"infinities"`
}

// Totals are of all tensors of a file.
type Totals struct {
	Tensors    int   `json:"tensors"`
	Elements   int64 `json:"elements"`
	Bytes      int64 `json:"bytes"`
	NaNs       int64 `json:"nans"`
	Infinities int64 `json:"infinities"`
}

// addTensors describes the arrays that the options choose, in the order of their names, and adds up the totals of all.
func (c *Checkpoint) addTensors(arrays map[string]checkpoint.Array, o Options) {
	c.Tensors = []Tensor{}
	for _, name := range slices.SortedFunc(maps.Keys(arrays), Naturally) {
		t := tensor(name, arrays[name])
		c.Totals.Tensors++
		c.Totals.Elements += t.Count
		c.Totals.Bytes += t.Bytes
		c.Totals.NaNs += t.NaNs
		c.Totals.Infinities += t.Infinities
		if o.Tensor == nil || o.Tensor(name) {
			c.Tensors = append(c.Tensors, t)
		}
	}
}

// exponents are the bits of the exponent in floating-point types. The bits of the fraction are below them.
var exponents = map[checkpoint.DType]uint64{checkpoint.F64: 0x7ff << 52, checkpoint.F32: 0xff << 23, "BF16": 0xff << 7,
	"F16": 0x1f << 10}

// tensor describes an array.
func tensor(name string, a checkpoint.Array) Tensor {
	t := Tensor{Name: name, DType: string(a.DType), Shape: append([]int64{}, a.Shape...), Count: a.Len(),
		Bytes: int64(len(a.Data))}
	exponent, floating := exponents[a.DType]
	if !floating {
		return t
	}
	fraction := exponent&-exponent - 1
	for data := range slices.Chunk(a.Data, int(a.DType.Size())) {
		bits := uint64(0)
		for _, b := range slices.Backward(data) { // little-endian
			bits = bits<<8 | uint64(b)
		}
		switch { // the greatest exponent stands for infinity, and with a fraction for NaN
		case bits&exponent != exponent:
		case bits&fraction != 0:
			t.NaNs++
		default:
			t.Infinities++
		}
	}
	return t
}
