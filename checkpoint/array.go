package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// littleEndian says whether this machine keeps numbers as files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// ArrayFloat32 returns an F32 array over data, which it shares rather than copies. It panics where the shape does not
// hold exactly len(data) elements.
func ArrayFloat32(shape []int64, data []float32) Array {
	return Array{DType: F32, Shape: mustHold(shape, len(data)), Data: toBytes(data)}
}

// ArrayFloat64 returns an F64 array over data, which it shares rather than copies. It panics where the shape does not
// hold exactly len(data) elements.
func ArrayFloat64(shape []int64, data []float64) Array {
	return Array{DType: F64, Shape: mustHold(shape, len(data)), Data: toBytes(data)}
}

// ArrayInt64 returns an I64 array over data, which it shares rather than copies. It panics where the shape does not
// hold exactly len(data) elements.
func ArrayInt64(shape []int64, data []int64) Array {
	return Array{DType: I64, Shape: mustHold(shape, len(data)), Data: toBytes(data)}
}

// ArrayBytes returns a U8 array over data, which it shares rather than copies. It panics where the shape does not hold
// exactly len(data) elements.
func ArrayBytes(shape []int64, data []byte) Array {
	return Array{DType: U8, Shape: mustHold(shape, len(data)), Data: data}
}

// ArrayBool returns a BOOL array with a copy of data. It panics where the shape does not hold exactly len(data)
// elements.
func ArrayBool(shape []int64, data []bool) Array {
	b := make([]byte, len(data))
	for i, v := range data {
		if v {
			b[i] = 1
		}
	}
	return Array{DType: Bool, Shape: mustHold(shape, len(data)), Data: b}
}

func mustHold(shape []int64, n int) []int64 {
	if count, err := elements(shape); err != nil || count != int64(n) {
		panic(fmt.Sprintf("checkpoint: shape %v does not hold exactly %d elements", shape, n))
	}
	return append([]int64{}, shape...)
}

// Len returns the number of elements; 1 for a shape without dimensions.
func (a Array) Len() int64 {
	n, err := elements(a.Shape)
	if err != nil {
		return 0
	}
	return n
}

// Float32s returns the elements of an F32 array. The slice shares the array's memory where that is possible (on every
// common machine): copy it before writing to it. Another element type is an error.
func (a Array) Float32s() ([]float32, error) {
	return fromBytes[float32](a, F32)
}

// Float64s is Float32s for F64.
func (a Array) Float64s() ([]float64, error) {
	return fromBytes[float64](a, F64)
}

// Int64s is Float32s for I64.
func (a Array) Int64s() ([]int64, error) {
	return fromBytes[int64](a, I64)
}

// Bytes returns the elements of a U8 array, sharing its memory. Another element type is an error.
func (a Array) Bytes() ([]byte, error) {
	if err := a.check(U8); err != nil {
		return nil, err
	}
	return a.Data, nil
}

// Bools returns a copy of the elements of a BOOL array. Another element type is an error.
func (a Array) Bools() ([]bool, error) {
	if err := a.check(Bool); err != nil {
		return nil, err
	}
	v := make([]bool, len(a.Data))
	for i, b := range a.Data {
		v[i] = b != 0
	}
	return v, nil
}

// Clone returns an array with memory of its own.
func (a Array) Clone() Array {
	return Array{DType: a.DType, Shape: append([]int64{}, a.Shape...), Data: append([]byte{}, a.Data...)}
}

// check verifies that the array is whole and of one element type.
func (a Array) check(want DType) error {
	if a.DType != want {
		return fmt.Errorf("checkpoint: the array's elements are %s, not %s", a.DType, want)
	}
	return a.whole()
}

// whole verifies that type, shape and data agree.
func (a Array) whole() error {
	size := a.DType.Size()
	if size == 0 {
		return fmt.Errorf("checkpoint: unknown element type %q", a.DType)
	}
	n, err := elements(a.Shape)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if n > math.MaxInt64/size || n*size != int64(len(a.Data)) {
		return fmt.Errorf("checkpoint: an array of %s %v has %d bytes of data", a.DType, a.Shape, len(a.Data))
	}
	return nil
}

// elements returns the product of a shape, refusing negative sizes and overflow.
func elements(shape []int64) (int64, error) {
	n, empty := int64(1), false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		case d == 0:
			empty = true
		case n > math.MaxInt64/d:
			return 0, fmt.Errorf("shape %v has more elements than can be counted", shape)
		default:
			n *= d
		}
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

type number interface{ ~float32 | ~float64 | ~int64 }

// toBytes returns the little-endian bytes of data, in place where the machine keeps them so.
func toBytes[T number](data []T) []byte {
	if len(data) == 0 {
		return []byte{}
	}
	size := int(unsafe.Sizeof(data[0]))
	b := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*size)
	if littleEndian {
		return b
	}
	return reversed(b, size)
}

// fromBytes is the inverse of toBytes; memory that does not lie on a multiple of the element's size is copied.
func fromBytes[T number](a Array, want DType) ([]T, error) {
	if err := a.check(want); err != nil {
		return nil, err
	}
	if len(a.Data) == 0 {
		return []T{}, nil
	}
	size := int(want.Size())
	at := unsafe.Pointer(unsafe.SliceData(a.Data))
	if littleEndian && uintptr(at)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(at), len(a.Data)/size), nil
	}
	v := make([]T, len(a.Data)/size)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(a.Data))
	if littleEndian {
		copy(b, a.Data)
	} else {
		copy(b, reversed(a.Data, size))
	}
	return v, nil
}

// reversed returns a copy with the bytes of every element in the opposite order.
func reversed(b []byte, size int) []byte {
	r := make([]byte, len(b))
	for i := range b {
		r[i] = b[i-i%size+size-1-i%size]
	}
	return r
}
