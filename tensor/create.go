package tensor

// #cgo noescape gorl_from_host
// #cgo nocallback gorl_from_host
// #cgo noescape gorl_full
// #cgo nocallback gorl_full
// #cgo noescape gorl_read
// #cgo nocallback gorl_read
// #cgo noescape gorl_write
// #cgo nocallback gorl_write
// #cgo noescape gorl_item
// #cgo nocallback gorl_item
// #include "gorl.h"
import "C"

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

// Element is a Go type whose slices become tensors.
type Element interface {
	~uint8 | ~int32 | ~int64 | ~float32 | ~float64 | ~bool
}

var kinds = [...]DType{reflect.Uint8: Uint8, reflect.Int32: Int32, reflect.Int64: Int64, reflect.Float32: Float32,
	reflect.Float64: Float64, reflect.Bool: Bool}

func typeFor[T Element]() DType { return kinds[reflect.TypeFor[T]().Kind()] } // of named types, too

// Full returns a tensor of the given type and shape with every element x, on the scope's device.
func (s *Scope) Full(dtype DType, x float64, shape ...int64) Tensor {
	p, n := ints(shape)
	return s.result("Full", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_full(p, n, C.double(x), C.int32_t(dtype), s.device.code(), out)
	})
}

// Zeros returns float32 zeros.
func (s *Scope) Zeros(shape ...int64) Tensor { return s.Full(Float32, 0, shape...) }

// Ones returns float32 ones.
func (s *Scope) Ones(shape ...int64) Tensor { return s.Full(Float32, 1, shape...) }

// Scalar returns a float32 scalar.
func (s *Scope) Scalar(x float64) Tensor { return s.Full(Float32, x) }

// Arange returns the int64 vector 0 … n−1.
func (s *Scope) Arange(n int64) Tensor {
	return s.result("Arange", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_arange(C.int64_t(n), s.device.code(), out)
	})
}

// From copies data, once, into a new tensor of the given shape on s's device. Without a shape it is a vector.
func From[T Element](s *Scope, data []T, shape ...int64) Tensor {
	if s.err != nil {
		return Tensor{}
	}
	if len(shape) == 0 {
		shape = []int64{int64(len(data))}
	}
	want := int64(1)
	for _, d := range shape {
		want *= d
	}
	if want != int64(len(data)) {
		s.err = fmt.Errorf("tensor: From: %d values do not fill the shape %v", len(data), shape)
		return Tensor{}
	}
	p, n := ints(shape)
	t := s.result("From", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_from_host(unsafe.Pointer(unsafe.SliceData(data)), p, n, C.int32_t(typeFor[T]()), s.device.code(),
			out)
	})
	runtime.KeepAlive(data)
	return t
}

// To returns a as another type on another device; a itself where it already is.
func (s *Scope) To(a Tensor, dtype DType, d Device) Tensor {
	return s.result("To", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_to(handle("To", a), C.int32_t(dtype), d.code(), s.grad, out)
	}, a)
}

// As returns a with another element type.
func (s *Scope) As(a Tensor, dtype DType) Tensor {
	if s.err != nil {
		return Tensor{}
	}
	return s.To(a, dtype, DeviceOf(a))
}

// Bitcast returns a's memory read as another type, the last dimension of which is as much shorter or longer as the
// elements are larger or smaller. a is contiguous.
func (s *Scope) Bitcast(a Tensor, dtype DType) Tensor {
	return s.result("Bitcast", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_bitcast(handle("Bitcast", a), C.int32_t(dtype), s.grad, out)
	}, a)
}

// Read copies t's elements, converted, into dst, which must have as many. On CUDA it waits for them.
func Read[T Element](t Tensor, dst []T) error {
	return failure("Read", C.gorl_read(handle("Read", t), C.int32_t(typeFor[T]()),
		unsafe.Pointer(unsafe.SliceData(dst)), C.int64_t(len(dst))), t)
}

// Write copies src, converted, over t's elements in place; t must have as many.
func Write[T Element](t Tensor, src []T) error {
	return failure("Write", C.gorl_write(handle("Write", t), C.int32_t(typeFor[T]()),
		unsafe.Pointer(unsafe.SliceData(src)), C.int64_t(len(src))), t)
}

// Float32s returns a copy of t's elements.
func Float32s(t Tensor) ([]float32, error) {
	out := make([]float32, Numel(t))
	return out, Read(t, out)
}

// Float64s returns a copy of t's elements.
func Float64s(t Tensor) ([]float64, error) {
	out := make([]float64, Numel(t))
	return out, Read(t, out)
}

// Item returns the only element of a scalar (or one-element) tensor. On CUDA it waits for it.
func Item(t Tensor) (float64, error) {
	var x C.double
	err := failure("Item", C.gorl_item(handle("Item", t), &x), t)
	return float64(x), err
}

// Bytes returns t's own memory, without a copy. t must be contiguous and on the CPU. The slice must not be used after
// t is released.
func Bytes(t Tensor) ([]byte, error) {
	h := handle("Bytes", t)
	n := int(Numel(t)) * dtypes[TypeOf(t)].size
	p := C.gorl_data(h)
	if (p == nil || n == 0) && Numel(t) > 0 {
		return nil, fmt.Errorf("tensor: Bytes %v: the tensor is not contiguous on the CPU, or its type is %v", Shape(t),
			TypeOf(t))
	}
	return unsafe.Slice((*byte)(p), n), nil
}
