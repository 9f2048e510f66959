// Package checkpoint keeps what a training run must not lose: snapshots as safetensors with a JSON manifest, written
// atomically, checksummed, and read without executing anything.
package checkpoint

// Snapshot is the state of something that trains: named arrays and a tree of plain values.
type Snapshot struct {
	// Arrays by name, e.g. "parameters", "optimizer/exp_avg", "policy/net.0.weight".
	Arrays map[string]Array
	// Values is JSON-like: numbers, strings, booleans, lists and maps. Numbers must be finite. What is read back has
	// integers as int64 (uint64 above its range), other numbers as float64, lists as []any, maps as map[string]any.
	Values map[string]any
	// Metadata holds the other text entries of a safetensors header, e.g. "format": "pt". The entry "gorl" is
	// where Values is kept and must not be among them. May be nil.
	Metadata map[string]string
}

// DType is the element type of an Array, by its safetensors name.
type DType string

// The element types that gorl writes.
const (
	F32  DType = "F32"
	F64  DType = "F64"
	I64  DType = "I64"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

// Size returns the bytes of one element, or 0 for a type that gorl does not know. Beside the types that gorl writes,
// the other whole-byte types of safetensors are known, so that files of other programs can be read and written again.
func (d DType) Size() int64 {
	switch d {
	case Bool, U8, "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0":
		return 1
	case "I16", "U16", "F16", "BF16":
		return 2
	case F32, "I32", "U32":
		return 4
	case F64, I64, "U64", "C64":
		return 8
	}
	return 0
}

// Array is an n-dimensional array in host memory, little-endian, row-major.
type Array struct {
	DType DType
	Shape []int64
	Data  []byte
}
