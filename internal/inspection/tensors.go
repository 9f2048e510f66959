package inspection

import (
	"encoding/binary"
	"math"

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
	// NaNs and Infinities are numbers of elements, of floating-point tensors.
	NaNs       int64 `json:"nans"`
	Infinities int64 `json:"infinities"`
	// Stats are of the finite elements; nil where they were not asked for, or there are none.
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

// tensor looks at an array.
func tensor(name string, a checkpoint.Array, stats bool) Tensor {
	t := Tensor{Name: name, DType: string(a.DType), Shape: a.Shape, Count: a.Len(), Bytes: int64(len(a.Data))}
	if t.Shape == nil {
		t.Shape = []int64{}
	}
	decode, size, floating := decoder(a.DType)
	if decode == nil || !floating && !stats {
		return t
	}
	lo, hi, mean, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for data := a.Data; len(data) >= size; data = data[size:] {
		switch v := decode(data); {
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

// decoder reads an element of a type, and says how many bytes it has; nil where the type is no plain number.
func decoder(d checkpoint.DType) (decode func(b []byte) float64, size int, floating bool) {
	le := binary.LittleEndian
	switch d {
	case checkpoint.F64:
		return func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }, 8, true
	case checkpoint.F32:
		return func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }, 4, true
	case "BF16":
		return func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }, 2, true
	case "F16":
		return func(b []byte) float64 { return half(le.Uint16(b)) }, 2, true
	case checkpoint.I64:
		return func(b []byte) float64 { return float64(int64(le.Uint64(b))) }, 8, false
	case "U64":
		return func(b []byte) float64 { return float64(le.Uint64(b)) }, 8, false
	case "I32":
		return func(b []byte) float64 { return float64(int32(le.Uint32(b))) }, 4, false
	case "U32":
		return func(b []byte) float64 { return float64(le.Uint32(b)) }, 4, false
	case "I16":
		return func(b []byte) float64 { return float64(int16(le.Uint16(b))) }, 2, false
	case "U16":
		return func(b []byte) float64 { return float64(le.Uint16(b)) }, 2, false
	case "I8":
		return func(b []byte) float64 { return float64(int8(b[0])) }, 1, false
	case checkpoint.U8, checkpoint.Bool:
		return func(b []byte) float64 { return float64(b[0]) }, 1, false
	}
	return nil, 0, false
}

// half decodes IEEE 754's binary16.
func half(bits uint16) float64 {
	sign := 1.0
	if bits>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
