package inspection

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
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
	// Stats are of the finite elements. It is nil if there are none, or without Options.Stats.
	Stats *Stats `json:"stats,omitempty"`
}

// Stats are the least, the mean and the greatest of a tensor's finite elements.
type Stats struct {
	Min  number.JSON `json:"min"`
	Mean number.JSON `json:"mean"`
	Max  number.JSON `json:"max"`
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
		chosen := o.Tensor == nil || o.Tensor(name)
		t := tensor(name, arrays[name], o.Stats && chosen)
		c.Totals.Tensors++
		c.Totals.Elements += t.Count
		c.Totals.Bytes += t.Bytes
		c.Totals.NaNs += t.NaNs
		c.Totals.Infinities += t.Infinities
		if chosen {
			c.Tensors = append(c.Tensors, t)
		}
	}
}

// tensor describes an array. It counts NaNs and infinities of floating-point types, and with stats computes statistics
// of all types of numbers.
func tensor(name string, a checkpoint.Array, stats bool) Tensor {
	t := Tensor{Name: name, DType: string(a.DType), Shape: a.Shape, Count: a.Len(), Bytes: int64(len(a.Data))}
	if t.Shape == nil {
		t.Shape = []int64{}
	}
	e, ok := elements[a.DType]
	if !ok || !e.floating && !stats {
		return t
	}
	lo, hi, mean, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for data := range slices.Chunk(a.Data, int(a.DType.Size())) {
		switch v := e.decode(data); {
		case math.IsNaN(v):
			t.NaNs++
		case math.IsInf(v, 0):
			t.Infinities++
		default:
			n++
			lo, hi = min(lo, v), max(hi, v)
			mean += (v - mean) / n
		}
	}
	if stats && n > 0 {
		t.Stats = &Stats{number.JSON(lo), number.JSON(mean), number.JSON(hi)}
	}
	return t
}

// element is how a type stores a number.
type element struct {
	floating bool
	decode   func(b []byte) float64
}

var le = binary.LittleEndian

// elements are the types of plain numbers. Integers of more than 53 bits are rounded: statistics need no more.
var elements = map[checkpoint.DType]element{
	checkpoint.F64: {true, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
	checkpoint.F32: {true, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
	"BF16": {true,
		func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }},
	"F16":           {true, func(b []byte) float64 { return half(le.Uint16(b)) }},
	checkpoint.I64:  {false, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
	"U64":           {false, func(b []byte) float64 { return float64(le.Uint64(b)) }},
	"I32":           {false, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }},
	"U32":           {false, func(b []byte) float64 { return float64(le.Uint32(b)) }},
	"I16":           {false, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }},
	"U16":           {false, func(b []byte) float64 { return float64(le.Uint16(b)) }},
	"I8":            {false, func(b []byte) float64 { return float64(int8(b[0])) }},
	checkpoint.U8:   {false, func(b []byte) float64 { return float64(b[0]) }},
	checkpoint.Bool: {false, func(b []byte) float64 { return float64(b[0]) }},
}

// half decodes IEEE 754's binary16. Shifted by 13 bits its exponent and fraction lie where those of a binary32 do; the
// factor makes up for the exponents' different biases, 127 and 15, of subnormal numbers too.
func half(bits uint16) float64 {
	v := float64(math.Float32frombits(uint32(bits&0x8000)<<16|uint32(bits&0x7fff)<<13)) * 0x1p112
	switch magnitude := bits & 0x7fff; { // the greatest exponent stands for infinity, and with a fraction for NaN
	case magnitude > 0x7c00:
		return math.NaN()
	case magnitude == 0x7c00:
		return math.Copysign(math.Inf(1), v)
	}
	return v
}
