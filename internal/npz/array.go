// Package npz reads and writes NumPy's .npy and .npz files: numbers, truth values and strings, never pickled objects.
// array.go is what a file holds; file.go reads and writes files.
package npz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Array is one row-major array.
type Array struct {
	// Name is the array's name in its file, for errors.
	Name string
	// DType is NumPy's name of the element type: <f2 <f4 <f8 <i2 <i4 <i8 <u2 <u4 <u8 |i1 |u1 |b1 <Un (n code points of
	// UTF-32) |Sn (n bytes).
	DType string
	// Shape is empty for a single value.
	Shape []int

	data []byte // little-endian, C order
}

// Len returns the number of elements, 1 for an empty shape.
func (a *Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// Bytes returns the elements as they are in the file, little-endian. The slice is the array's own memory.
func (a *Array) Bytes() []byte { return a.data }

func (a *Array) fail(format string, args ...any) error {
	return fmt.Errorf("npz: array %q: %w", a.Name, fmt.Errorf(format, args...))
}

var little = binary.LittleEndian

// toFloat64 converts the first element of a slice, by its type.
var toFloat64 = map[string]func(b []byte) float64{
	"<f8": func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) },
	"<f4": func(b []byte) float64 { return float64(math.Float32frombits(little.Uint32(b))) },
	"<i8": func(b []byte) float64 { return float64(int64(little.Uint64(b))) },
	"<u8": func(b []byte) float64 { return float64(little.Uint64(b)) },
	"<i4": func(b []byte) float64 { return float64(int32(little.Uint32(b))) },
	"<u4": func(b []byte) float64 { return float64(little.Uint32(b)) },
	"<i2": func(b []byte) float64 { return float64(int16(little.Uint16(b))) },
	"<u2": func(b []byte) float64 { return float64(little.Uint16(b)) },
	"|i1": func(b []byte) float64 { return float64(int8(b[0])) },
	"|u1": func(b []byte) float64 { return float64(b[0]) },
	"|b1": func(b []byte) float64 { return float64(b[0]) },
}

// Float64s returns the elements of an array of <f8, <f4, integers or truth values (0 and 1). Integers above 2⁵³ are
// rounded.
func (a *Array) Float64s() ([]float64, error) {
	convert := toFloat64[a.DType]
	if convert == nil {
		return nil, a.fail("dtype %s holds no numbers of 32 or 64 bits", a.DType)
	}
	out := make([]float64, a.Len())
	size := len(a.data) / max(1, len(out))
	for i := range out {
		out[i] = convert(a.data[i*size:])
	}
	return out, nil
}

// Strings returns the elements of an array of <Un or |Sn, without the zeros that pad them. Bytes must be UTF-8.
func (a *Array) Strings() ([]string, error) {
	size, err := elementSize(a.DType)
	if err != nil || (a.DType[1] != 'U' && a.DType[1] != 'S') {
		return nil, a.fail("dtype %s, want a string type (<U or |S)", a.DType)
	}
	out := make([]string, a.Len())
	for i := range out {
		raw := a.data[i*size : (i+1)*size]
		text := bytes.TrimRight(raw, "\x00")
		if a.DType[1] == 'U' {
			text, raw = nil, raw[:(len(text)+3)/4*4]
			for ; len(raw) > 0; raw = raw[4:] {
				r := little.Uint32(raw)
				if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
					return nil, a.fail("string %d holds %#x, which is no character", i, r)
				}
				text = utf8.AppendRune(text, rune(r))
			}
		}
		if !utf8.Valid(text) {
			return nil, a.fail("string %d is not UTF-8", i)
		}
		out[i] = string(text)
	}
	return out, nil
}

// elementSize returns the number of bytes of an element.
func elementSize(dtype string) (int, error) {
	if len(dtype) >= 2 && dtype[1] == 'O' {
		return 0, errors.New("it holds Python objects, which NumPy stores as a pickle and this reader refuses; " +
			"convert it to numbers or strings, e.g. array.astype('U') or .astype(float), and save it again")
	}
	if len(dtype) < 3 {
		return 0, fmt.Errorf("dtype %q is not known", dtype)
	}
	n, err := strconv.ParseUint(dtype[2:], 10, 20)
	switch {
	case dtype[0] == '>':
		return 0, fmt.Errorf("dtype %q is big-endian; convert it with array.astype(%q) and save it again", dtype,
			"<"+dtype[1:])
	case err != nil:
	case dtype[:2] == "<U":
		return 4 * int(n), nil
	case dtype[:2] == "|S", dtype == "<f2", toFloat64[dtype] != nil:
		return int(n), nil
	}
	return 0, fmt.Errorf("dtype %q is not supported; use float32, float64, an integer type, bool or str", dtype)
}

// NewBytes makes an array of a type from elements as Bytes returns them. The array keeps the slice. It panics if type,
// shape and bytes do not fit each other.
func NewBytes(name, dtype string, data []byte, shape ...int) *Array {
	a := &Array{Name: name, DType: dtype, Shape: append([]int{}, shape...), data: data}
	if size, err := elementSize(dtype); err != nil || a.Len()*size != len(data) {
		panic(fmt.Sprintf("npz: array %q: shape %v of %s does not hold %d bytes (%v)", name, shape, dtype, len(data),
			err))
	}
	return a
}

// New makes an array of <f4, <f8, <i8 or |b1, by the type of the values. It panics if the shape does not fit them.
func New[T float32 | float64 | int64 | bool](name string, values []T, shape ...int) *Array {
	var zero T
	data, err := binary.Append(nil, little, values)
	if err != nil {
		panic(fmt.Sprintf("npz: array %q: %v", name, err))
	}
	dtype := map[any]string{float32(0): "<f4", float64(0): "<f8", int64(0): "<i8", false: "|b1"}[zero]
	return NewBytes(name, dtype, data, shape...)
}

// NewString makes a <Un array as wide as the longest value. It panics if the shape does not fit.
func NewString(name string, values []string, shape ...int) *Array {
	width := 1
	for _, s := range values {
		width = max(width, utf8.RuneCountInString(s))
	}
	data := make([]byte, 0, 4*width*len(values))
	for i, s := range values {
		for _, r := range s {
			data = little.AppendUint32(data, uint32(r))
		}
		data = data[:4*width*(i+1)] // the zeros of make
	}
	return NewBytes(name, fmt.Sprintf("<U%d", width), data, shape...)
}
