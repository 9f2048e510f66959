package tensor

// #cgo noescape gorl_copy_
// #cgo nocallback gorl_copy_
// #cgo noescape gorl_add_
// #cgo nocallback gorl_add_
// #include "gorl.h"
import "C"

// The operations of this file change their first operand in place, outside autograd's sight: they are for resident
// tensors (memories, statistics, accumulators), never for something that a gradient still needs.

// Copy writes src's values over dst's; shapes broadcast, types and devices convert.
func (s *Scope) Copy(dst, src Tensor) {
	s.effect("Copy", func() C.gorl_err { return C.gorl_copy_(handle("Copy", dst), handle("Copy", src)) }, dst, src)
}

// AddTo adds alpha · src to dst.
func (s *Scope) AddTo(dst, src Tensor, alpha float64) {
	s.effect("AddTo", func() C.gorl_err {
		return C.gorl_add_(handle("AddTo", dst), handle("AddTo", src), C.double(alpha))
	}, dst, src)
}

// Scale multiplies dst by x.
func (s *Scope) Scale(dst Tensor, x float64) {
	s.effect("Scale", func() C.gorl_err { return C.gorl_mul_(handle("Scale", dst), C.double(x)) }, dst)
}

// Fill sets every element of dst to x.
func (s *Scope) Fill(dst Tensor, x float64) {
	s.effect("Fill", func() C.gorl_err { return C.gorl_fill_(handle("Fill", dst), C.double(x)) }, dst)
}

// IndexCopy writes row i of src over row index[i] of dst.
func (s *Scope) IndexCopy(dst, index, src Tensor) {
	const op = "IndexCopy"
	s.effect(op, func() C.gorl_err {
		return C.gorl_index_copy_(handle(op, dst), handle(op, index), handle(op, src))
	}, dst, index, src)
}
