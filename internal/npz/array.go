// Package npz reads and writes NumPy's .npy and .npz files: numbers, truth values and strings, never
// pickled objects.
package npz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Array is one array, row-major, with at least zero dimensions.
type Array struct {
	// Name is the array's name in its file, for errors.
	Name string
	// DType is NumPy's name of the element type: <f2 <f4 <f8 <i2 <i4 <i8 <u2 <u4 <u8 |i1 |u1 |b1 <Un (n code
	// points of UTF-32) |Sn (n bytes).
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
	switch a.DType {
	case "<f8":
		return decode[float64](a), nil
	case "<f4":
		return convert[float64](decode[float32](a)), nil
	}
	return nil, a.mismatch("<f8 or <f4")
}

// Float32s returns the elements of an array of <f4. It does not narrow <f8.
func (a *Array) Float32s() ([]float32, error) {
	if a.DType != "<f4" {
		return nil, a.mismatch("<f4")
	}
	return decode[float32](a), nil
}

// Int64s returns the elements of an array of integers of any width. It fails on a <u8 value above the
// largest int64.
func (a *Array) Int64s() ([]int64, error) {
	switch a.DType {
	case "|i1":
		return convert[int64](decode[int8](a)), nil
	case "|u1":
		return convert[int64](decode[uint8](a)), nil
	case "<i2":
		return convert[int64](decode[int16](a)), nil
	case "<u2":
		return convert[int64](decode[uint16](a)), nil
	case "<i4":
		return convert[int64](decode[int32](a)), nil
	case "<u4":
		return convert[int64](decode[uint32](a)), nil
	case "<i8":
		return decode[int64](a), nil
	case "<u8":
		values := decode[uint64](a)
		if i := slices.IndexFunc(values, func(x uint64) bool { return x > math.MaxInt64 }); i >= 0 {
			return nil, fmt.Errorf("npz: array %q: element %d is %d, too large for an int64", a.Name, i, values[i])
		}
		return convert[int64](values), nil
	}
	return nil, a.mismatch("an integer type")
}

// Bools returns the elements of an array of |b1.
func (a *Array) Bools() ([]bool, error) {
	if a.DType != "|b1" {
		return nil, a.mismatch("|b1")
	}
	return decode[bool](a), nil
}

// decode reads the elements of an array whose type is T, which has as many bytes as its shape says.
func decode[T any](a *Array) []T {
	out := make([]T, a.Len())
	if _, err := binary.Decode(a.data, binary.LittleEndian, out); err != nil {
		panic(fmt.Sprintf("npz: array %q: %v", a.Name, err))
	}
	return out
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func convert[To, From number](values []From) []To {
	out := make([]To, len(values))
	for i, x := range values {
		out[i] = To(x)
	}
	return out
}

// Strings returns the elements of an array of <Un or |Sn, without the zeros that pad them. Bytes must be UTF-8.
func (a *Array) Strings() ([]string, error) {
	t, err := parseType(a.DType)
	if err != nil || (t.kind != 'U' && t.kind != 'S') {
		return nil, a.mismatch("a string type (<U or |S)")
	}
	out := make([]string, a.Len())
	for i := range out {
		raw := a.data[i*t.size : (i+1)*t.size]
		if t.kind == 'S' {
			raw = bytes.TrimRight(raw, "\x00")
			if !utf8.Valid(raw) {
				return nil, fmt.Errorf("npz: array %q: string %d is not UTF-8", a.Name, i)
			}
			out[i] = string(raw)
			continue
		}
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

// New makes an array of <f4, <f8, <i8 or |b1, by the type of the values. It panics where the shape does not fit them.
func New[T float32 | float64 | int64 | bool](name string, values []T, shape ...int) *Array {
	var zero T
	dtype := map[any]string{float32(0): "<f4", float64(0): "<f8", int64(0): "<i8", false: "|b1"}[zero]
	a := newArray(name, dtype, len(values), shape)
	var err error
	if a.data, err = binary.Append(nil, binary.LittleEndian, values); err != nil {
		panic(fmt.Sprintf("npz: array %q: %v", name, err))
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
