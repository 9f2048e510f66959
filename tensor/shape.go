package tensor

// #cgo noescape gorl_reduce
// #cgo nocallback gorl_reduce
// #cgo noescape gorl_along
// #cgo nocallback gorl_along
// #cgo noescape gorl_narrow
// #cgo nocallback gorl_narrow
// #cgo noescape gorl_reshape
// #cgo nocallback gorl_reshape
// #cgo noescape gorl_index_select
// #cgo nocallback gorl_index_select
// #include "gorl.h"
import "C"

import "unsafe"

func (s *Scope) reduce(name string, op C.int32_t, a Tensor, keep bool, dims []int64) Tensor {
	p, n := ints(dims)
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_reduce(op, handle(name, a), p, n, flag(keep), s.grad, out)
	}, a)
}

// Sum adds along dims, which disappear; without dims it adds everything into a scalar.
func (s *Scope) Sum(a Tensor, dims ...int64) Tensor {
	return s.reduce("Sum", C.GORL_SUM, a, false, dims)
}

// Mean averages along dims, which disappear; without dims it averages everything into a scalar.
func (s *Scope) Mean(a Tensor, dims ...int64) Tensor {
	return s.reduce("Mean", C.GORL_MEAN, a, false, dims)
}

// Std is the standard deviation (divisor n−1) along dims, or of everything.
func (s *Scope) Std(a Tensor, dims ...int64) Tensor {
	return s.reduce("Std", C.GORL_STD, a, false, dims)
}

// MaxOf is the largest element along dims, or of everything.
func (s *Scope) MaxOf(a Tensor, dims ...int64) Tensor {
	return s.reduce("MaxOf", C.GORL_AMAX, a, false, dims)
}

// SumKeep adds along dims, which stay with size 1.
func (s *Scope) SumKeep(a Tensor, dims ...int64) Tensor {
	return s.reduce("SumKeep", C.GORL_SUM, a, true, dims)
}

// MeanKeep averages along dims, which stay with size 1.
func (s *Scope) MeanKeep(a Tensor, dims ...int64) Tensor {
	return s.reduce("MeanKeep", C.GORL_MEAN, a, true, dims)
}

func (s *Scope) along(name string, op C.int32_t, a Tensor, dim int64) Tensor {
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_along(op, handle(name, a), C.int64_t(dim), s.grad, out)
	}, a)
}

// LogSoftmax normalises log-probabilities along dim.
func (s *Scope) LogSoftmax(a Tensor, dim int64) Tensor {
	return s.along("LogSoftmax", C.GORL_LOG_SOFTMAX, a, dim)
}

// Softmax normalises probabilities along dim.
func (s *Scope) Softmax(a Tensor, dim int64) Tensor {
	return s.along("Softmax", C.GORL_SOFTMAX, a, dim)
}

// ArgMax is the int64 index of the largest element along dim, which stays with size 1.
func (s *Scope) ArgMax(a Tensor, dim int64) Tensor { return s.along("ArgMax", C.GORL_ARGMAX, a, dim) }

// Unsqueeze inserts a dimension of size 1 at dim.
func (s *Scope) Unsqueeze(a Tensor, dim int64) Tensor {
	return s.along("Unsqueeze", C.GORL_UNSQUEEZE, a, dim)
}

func (s *Scope) join(name string, op C.int32_t, dim int64, list []Tensor) Tensor {
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		hs := handles(name, list)
		return C.gorl_join(op, unsafe.SliceData(hs), C.int32_t(len(hs)), C.int64_t(dim), s.grad, out)
	}, list...)
}

// Cat joins tensors along an existing dimension.
func (s *Scope) Cat(dim int64, list ...Tensor) Tensor { return s.join("Cat", C.GORL_CAT, dim, list) }

// Stack joins tensors of one shape along a new dimension.
func (s *Scope) Stack(dim int64, list ...Tensor) Tensor {
	return s.join("Stack", C.GORL_STACK, dim, list)
}

// Narrow is the part [start, start+length) of dimension dim, in the same memory.
func (s *Scope) Narrow(a Tensor, dim, start, length int64) Tensor {
	return s.result("Narrow", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_narrow(handle("Narrow", a), C.int64_t(dim), C.int64_t(start), C.int64_t(length), s.grad, out)
	}, a)
}

// Select is a at one index of dimension dim, which disappears, in the same memory.
func (s *Scope) Select(a Tensor, dim, index int64) Tensor {
	return s.result("Select", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_select(handle("Select", a), C.int64_t(dim), C.int64_t(index), s.grad, out)
	}, a)
}

// IndexSelect gathers rows: the slices of dimension dim named by the int64 vector index.
func (s *Scope) IndexSelect(a Tensor, dim int64, index Tensor) Tensor {
	return s.result("IndexSelect", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_index_select(handle("IndexSelect", a), C.int64_t(dim), handle("IndexSelect", index), s.grad, out)
	}, a, index)
}

// Gather picks a[..., index, ...] along dim, element by element of index (int64).
func (s *Scope) Gather(a Tensor, dim int64, index Tensor) Tensor {
	return s.result("Gather", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_gather(handle("Gather", a), C.int64_t(dim), handle("Gather", index), s.grad, out)
	}, a, index)
}

// Reshape gives a the shape sizes, one of which may be −1; in the same memory where possible.
func (s *Scope) Reshape(a Tensor, sizes ...int64) Tensor {
	p, n := ints(sizes)
	return s.result("Reshape", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_reshape(handle("Reshape", a), p, n, s.grad, out)
	}, a)
}

// Expand repeats dimensions of size 1 without copying; −1 leaves a dimension as it is.
func (s *Scope) Expand(a Tensor, sizes ...int64) Tensor {
	p, n := ints(sizes)
	return s.result("Expand", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_expand(handle("Expand", a), p, n, s.grad, out)
	}, a)
}

// Transpose swaps two dimensions, in the same memory.
func (s *Scope) Transpose(a Tensor, d0, d1 int64) Tensor {
	return s.result("Transpose", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_transpose(handle("Transpose", a), C.int64_t(d0), C.int64_t(d1), s.grad, out)
	}, a)
}

// Permute puts a's dimensions into the given order, in the same memory.
func (s *Scope) Permute(a Tensor, dims ...int64) Tensor {
	p, n := ints(dims)
	return s.result("Permute", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_permute(handle("Permute", a), p, n, s.grad, out)
	}, a)
}
