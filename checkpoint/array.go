package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

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

// Size returns the bytes of one element, or 0 for a type that gorl does not know. The other whole-byte types of
// safetensors are known too, so that files of other programs can be read and written again.
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

// Array is an n-dimensional array in host memory, little-endian and row-major.
type Array struct {
	DType DType
	Shape []int64
	Data  []byte
}

func init() {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		panic("checkpoint: arrays share memory with files, which are little-endian; this machine is not")
	}
}

// ArrayFloat32 returns an F32 array over data, which it shares rather than copies. It panics if the shape does not
// hold exactly len(data) elements.
func ArrayFloat32(shape []int64, data []float32) Array {
	return Array{DType: F32, Shape: checkedShape(shape, len(data)), Data: toBytes(data)}
}

// ArrayFloat64 returns an F64 array over data, which it shares rather than copies. It panics if the shape does not
// hold exactly len(data) elements.
func ArrayFloat64(shape []int64, data []float64) Array {
	return Array{DType: F64, Shape: checkedShape(shape, len(data)), Data: toBytes(data)}
}

// ArrayInt64 returns an I64 array over data, which it shares rather than copies. It panics if the shape does not
// hold exactly len(data) elements.
func ArrayInt64(shape []int64, data []int64) Array {
	return Array{DType: I64, Shape: checkedShape(shape, len(data)), Data: toBytes(data)}
}

// ArrayBytes returns a U8 array over data, which it shares rather than copies. It panics if the shape does not hold
// exactly len(data) elements.
func ArrayBytes(shape []int64, data []byte) Array {
	return Array{DType: U8, Shape: checkedShape(shape, len(data)), Data: data}
}

// ArrayBool returns a BOOL array with a copy of data. It panics if the shape does not hold exactly len(data)
// elements.
func ArrayBool(shape []int64, data []bool) Array {
	b := make([]byte, len(data))
	for i, v := range data {
		if v {
			b[i] = 1
		}
	}
	return Array{DType: Bool, Shape: checkedShape(shape, len(data)), Data: b}
}

func checkedShape(shape []int64, n int) []int64 {
	if count, err := countElements(shape); err != nil || count != int64(n) {
		panic(fmt.Sprintf("checkpoint: shape %v does not hold exactly %d elements", shape, n))
	}
	return append([]int64{}, shape...)
}

// Len returns the number of elements; 1 for a shape without dimensions.
func (a Array) Len() int64 {
	n, _ := countElements(a.Shape)
	return n
}

// Float32s returns the elements of an F32 array. The slice shares the array's memory if that is aligned: copy the slice
// before writing to it. Another element type is an error.
func (a Array) Float32s() ([]float32, error) { return fromBytes[float32](a, F32) }

// Float64s is Float32s for F64.
func (a Array) Float64s() ([]float64, error) { return fromBytes[float64](a, F64) }

// Int64s is Float32s for I64.
func (a Array) Int64s() ([]int64, error) { return fromBytes[int64](a, I64) }

// Bytes returns the elements of a U8 array, sharing its memory. Another element type is an error.
func (a Array) Bytes() ([]byte, error) { return fromBytes[byte](a, U8) }

// Bools returns a copy of the elements of a BOOL array. Another element type is an error.
func (a Array) Bools() ([]bool, error) {
	if err := a.checkType(Bool); err != nil {
		return nil, err
	}
	v := make([]bool, len(a.Data))
	for i, b := range a.Data {
		v[i] = b != 0
	}
	return v, nil
}

// Clone returns a copy with its own memory.
func (a Array) Clone() Array {
	return Array{DType: a.DType, Shape: append([]int64{}, a.Shape...), Data: append([]byte{}, a.Data...)}
}

// checkType returns an error if the array has another element type, or is not valid.
func (a Array) checkType(want DType) error {
	if a.DType != want {
		return fmt.Errorf("checkpoint: the array's elements are %s, not %s", a.DType, want)
	}
	return a.Validate()
}

// Validate returns an error unless type, shape and data agree.
func (a Array) Validate() error {
	size := a.DType.Size()
	if size == 0 {
		return fmt.Errorf("checkpoint: unknown element type %q", a.DType)
	}
	n, err := countElements(a.Shape)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if n > math.MaxInt64/size || n*size != int64(len(a.Data)) {
		return fmt.Errorf("checkpoint: an array of %s %v has %d bytes of data", a.DType, a.Shape, len(a.Data))
	}
	return nil
}

// countElements returns the product of a shape. Negative sizes and overflow are errors.
func countElements(shape []int64) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		case d > 0 && n > math.MaxInt64/d:
			return 0, fmt.Errorf("shape %v has more elements than can be counted", shape)
		}
		n *= max(d, 1) // of an empty array the other sizes are checked, too
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	return n, nil
}

// toBytes returns the bytes of data, in place.
func toBytes[T float32 | float64 | int64 | byte](data []T) []byte {
	if len(data) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(data[0])))
}

// fromBytes is the inverse of toBytes. It copies memory that is not aligned to the element's size.
func fromBytes[T float32 | float64 | int64 | byte](a Array, want DType) ([]T, error) {
	if err := a.checkType(want); err != nil {
		return nil, err
	}
	if len(a.Data) == 0 {
		return []T{}, nil
	}
	at, n := unsafe.Pointer(unsafe.SliceData(a.Data)), len(a.Data)/int(want.Size())
	if uintptr(at)%uintptr(want.Size()) == 0 {
		return unsafe.Slice((*T)(at), n), nil
	}
	v := make([]T, n)
	copy(toBytes(v), a.Data)
	return v, nil
}

// isFinite reports whether the array has no NaN and no infinity. Arrays of other types than F32 and F64 have none.
func (a Array) isFinite() (bool, error) {
	switch a.DType {
	case F32:
		v, err := a.Float32s()
		return allFinite(v), err
	case F64:
		v, err := a.Float64s()
		return allFinite(v), err
	}
	return true, nil
}

func allFinite[T float32 | float64](v []T) bool {
	return !slices.ContainsFunc(v, func(x T) bool { return x-x != 0 }) // NaN for NaN and infinities
}
