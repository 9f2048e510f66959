// Package npz reads and writes NumPy's .npy and .npz files: numbers, truth values and strings, never
// pickled objects.
package npz

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Array is one array, row-major, with at least zero dimensions.
type Array struct {
	// Name is the array's name in its file, for errors.
	Name string
	// DType is NumPy's name of the element type: <f2 <f4 <f8 <i2 <i4 <i8 <u2 <u4 <u8 |i1 |u1 |b1 <Un (n code
	// points of UTF-32).
	DType string
	// Shape is empty for a single value.
	Shape []int

	data []byte // little-endian, C order
}

// Len is the number of elements, 1 for no dimensions.
func (a *Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

func (a *Array) mismatch(want string) error {
	return fmt.Errorf("npz: array %q has dtype %s, want %s", a.Name, a.DType, want)
}

// Float64s returns the elements of an array of <f8 or <f4.
func (a *Array) Float64s() ([]float64, error) {
	out := make([]float64, a.Len())
	switch a.DType {
	case "<f8":
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(a.data[8*i:]))
		}
	case "<f4":
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.data[4*i:])))
		}
	default:
		return nil, a.mismatch("<f8 or <f4")
	}
	return out, nil
}

// Float32s returns the elements of an array of <f4. It does not narrow <f8.
func (a *Array) Float32s() ([]float32, error) {
	if a.DType != "<f4" {
		return nil, a.mismatch("<f4")
	}
	out := make([]float32, a.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.data[4*i:]))
	}
	return out, nil
}

// Int64s returns the elements of an array of integers of any width. It fails on a <u8 value above the
// largest int64.
func (a *Array) Int64s() ([]int64, error) {
	out := make([]int64, a.Len())
	for i := range out {
		switch a.DType {
		case "|i1":
			out[i] = int64(int8(a.data[i]))
		case "|u1":
			out[i] = int64(a.data[i])
		case "<i2":
			out[i] = int64(int16(binary.LittleEndian.Uint16(a.data[2*i:])))
		case "<u2":
			out[i] = int64(binary.LittleEndian.Uint16(a.data[2*i:]))
		case "<i4":
			out[i] = int64(int32(binary.LittleEndian.Uint32(a.data[4*i:])))
		case "<u4":
			out[i] = int64(binary.LittleEndian.Uint32(a.data[4*i:]))
		case "<i8":
			out[i] = int64(binary.LittleEndian.Uint64(a.data[8*i:]))
		case "<u8":
			u := binary.LittleEndian.Uint64(a.data[8*i:])
			if u > math.MaxInt64 {
				return nil, fmt.Errorf("npz: array %q: element %d is %d, too large for an int64", a.Name, i, u)
			}
			out[i] = int64(u)
		default:
			return nil, a.mismatch("an integer type")
		}
	}
	if len(out) == 0 {
		if t, err := parseType(a.DType); err != nil || (t.kind != 'i' && t.kind != 'u') {
			return nil, a.mismatch("an integer type")
		}
	}
	return out, nil
}

// Bools returns the elements of an array of |b1.
func (a *Array) Bools() ([]bool, error) {
	if a.DType != "|b1" {
		return nil, a.mismatch("|b1")
	}
	out := make([]bool, a.Len())
	for i := range out {
		out[i] = a.data[i] != 0
	}
	return out, nil
}

// Strings returns the elements of an array of <Un, without the zeros that pad them.
func (a *Array) Strings() ([]string, error) {
	t, err := parseType(a.DType)
	if err != nil || t.kind != 'U' {
		return nil, a.mismatch("a string type (<U)")
	}
	out := make([]string, a.Len())
	for i := range out {
		raw := a.data[i*t.size : (i+1)*t.size]
		for len(raw) > 0 && binary.LittleEndian.Uint32(raw[len(raw)-4:]) == 0 {
			raw = raw[:len(raw)-4]
		}
		text := make([]byte, 0, len(raw)/4)
		for ; len(raw) > 0; raw = raw[4:] {
			r := binary.LittleEndian.Uint32(raw)
			if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
				return nil, fmt.Errorf("npz: array %q: string %d holds %#x, which is no character", a.Name, i, r)
			}
			text = utf8.AppendRune(text, rune(r))
		}
		out[i] = string(text)
	}
	return out, nil
}

// Bytes returns the elements as they lie in the file, little-endian. They are not a copy.
func (a *Array) Bytes() []byte { return a.data }

// NewBytes makes an array of a type from elements as Bytes returns them, which it does not copy. It panics where type,
// shape and bytes do not fit each other.
func NewBytes(name, dtype string, data []byte, shape ...int) *Array {
	t, err := parseType(dtype)
	if err != nil {
		panic("npz: " + err.Error())
	}
	a := newArray(name, dtype, len(data)/max(1, t.size), shape)
	if a.Len()*t.size != len(data) {
		panic(fmt.Sprintf("npz: array %q: %d bytes are no whole number of %s", name, len(data), dtype))
	}
	a.data = data
	return a
}

// NewFloat32 makes an <f4 array. It panics where the shape does not fit the values.
func NewFloat32(name string, values []float32, shape ...int) *Array {
	a := newArray(name, "<f4", len(values), shape)
	for _, x := range values {
		a.data = binary.LittleEndian.AppendUint32(a.data, math.Float32bits(x))
	}
	return a
}

// NewFloat64 makes an <f8 array. It panics where the shape does not fit the values.
func NewFloat64(name string, values []float64, shape ...int) *Array {
	a := newArray(name, "<f8", len(values), shape)
	for _, x := range values {
		a.data = binary.LittleEndian.AppendUint64(a.data, math.Float64bits(x))
	}
	return a
}

// NewInt64 makes an <i8 array. It panics where the shape does not fit the values.
func NewInt64(name string, values []int64, shape ...int) *Array {
	a := newArray(name, "<i8", len(values), shape)
	for _, x := range values {
		a.data = binary.LittleEndian.AppendUint64(a.data, uint64(x))
	}
	return a
}

// NewBool makes a |b1 array. It panics where the shape does not fit the values.
func NewBool(name string, values []bool, shape ...int) *Array {
	a := newArray(name, "|b1", len(values), shape)
	for _, x := range values {
		b := byte(0)
		if x {
			b = 1
		}
		a.data = append(a.data, b)
	}
	return a
}

// NewString makes a <Un array as wide as the longest value. It panics where the shape does not fit.
func NewString(name string, values []string, shape ...int) *Array {
	width := 1
	for _, s := range values {
		width = max(width, utf8.RuneCountInString(s))
	}
	a := newArray(name, fmt.Sprintf("<U%d", width), len(values), shape)
	for _, s := range values {
		n := 0
		for _, r := range s {
			a.data = binary.LittleEndian.AppendUint32(a.data, uint32(r))
			n++
		}
		a.data = append(a.data, make([]byte, 4*(width-n))...)
	}
	return a
}

func newArray(name, dtype string, n int, shape []int) *Array {
	a := &Array{Name: name, DType: dtype, Shape: append([]int{}, shape...)}
	if a.Len() != n {
		panic(fmt.Sprintf("npz: array %q: shape %v does not hold %d values", name, shape, n))
	}
	return a
}
