package tensor

// #cgo noescape gorl_group_pack_
// #cgo nocallback gorl_group_pack_
// #include <stdlib.h>
// #include "gorl.h"
import "C"

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// NCCL is this process's connection to other processes, with which it adds up tensors on GPUs by NVIDIA's library
// NCCL. All processes must call the same operations in the same order, each with a tensor of the same shape and type.
// One goroutine at a time may use an NCCL, except for Take and Put. Programs use package distributed instead.
type NCCL struct{ native unsafe.Pointer }

// HasNCCL reports whether gorl's libraries were built with NCCL.
func HasNCCL() bool { return C.gorl_nccl_built() != 0 }

// NewNCCL returns the connection of rank rank of size ranks. The first Sum connects the GPUs: while it waits, pass
// what Take returns to the Put of all other ranks. timeout is the limit of every operation. Close the NCCL when done.
func NewNCCL(rank, size int, timeout time.Duration) (*NCCL, error) {
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("tensor: rank %d of %d: want a rank from 0 to the number of ranks less one", rank, size)
	}
	n := &NCCL{}
	if msg := C.gorl_nccl_new(C.int32_t(rank), C.int32_t(size), C.int64_t(timeout.Milliseconds()),
		&n.native); msg != nil {
		return nil, failure("NewNCCL", msg)
	}
	return n, nil
}

// Take returns the next key that this rank has set for the others, if there is one. It does not wait.
func (n *NCCL) Take() (key string, value []byte, ok bool, err error) {
	var k, v *C.char
	var size C.int64_t
	err = failure("NCCL.Take", C.gorl_nccl_take(n.native, &k, &v, &size))
	if err != nil || k == nil {
		return "", nil, false, err
	}
	defer C.gorl_free_string(k)
	defer C.gorl_free_string(v)
	return C.GoString(k), C.GoBytes(unsafe.Pointer(v), C.int(size)), true, nil
}

// Put writes a key that another rank has set.
func (n *NCCL) Put(key string, value []byte) error {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	return failure("NCCL.Put",
		C.gorl_nccl_put(n.native, k, unsafe.Pointer(unsafe.SliceData(value)), C.int64_t(len(value))))
}

// Sum replaces t by the sum of all ranks' tensors. Every rank gets the same numbers, bit for bit.
func (n *NCCL) Sum(t Tensor) error {
	return failure("Sum", C.gorl_nccl_all_reduce(n.native, handle("Sum", t)), t)
}

// Broadcast replaces t by the tensor of rank root.
func (n *NCCL) Broadcast(t Tensor, root int) error {
	return failure("Broadcast", C.gorl_nccl_broadcast(n.native, handle("Broadcast", t), C.int32_t(root)), t)
}

// Close leaves the ranks: the operations of the others fail from now on. It may be called twice.
func (n *NCCL) Close() {
	if n.native != nil {
		C.gorl_nccl_free(n.native)
		n.native = nil
	}
}

// Pack writes figures, scalars of a minibatch of so many rows, behind the gradients, and weighs both by the rows, so
// that the ranks' sums are of all their rows; a rank whose figures are not all finite raises its flag. Add the Shared
// memory of all ranks up, and call Unpack.
func (f *Flat) Pack(s *Scope, rows int64, rank int, figures ...Tensor) {
	const op = "Pack"
	if s.err == nil && (rank < 0 || rank > math.MaxInt32) {
		s.err = fmt.Errorf("tensor: %s: rank %d; want one from 0 on", op, rank)
	}
	s.effect(op, func() C.gorl_err {
		hs := handles(op, figures)
		return C.gorl_group_pack_(handle(op, f.Shared), C.int64_t(f.Len()), C.double(rows), unsafe.SliceData(hs),
			C.int32_t(len(hs)), C.int32_t(rank))
	}, f.Shared)
}

// Unpack turns the sums over all ranks into means over their rows, and returns n of the figures, which hold until the
// next Pack, and the ranks' flags behind them.
func (f *Flat) Unpack(s *Scope, n int) (figures []Tensor, flags Tensor) {
	const op = "Unpack"
	if most := Numel(f.Shared) - f.Len() - 1; s.err == nil && (n < 0 || int64(n) > most) {
		s.err = fmt.Errorf("tensor: %s: %d figures; want 0 to %d, as many as were packed", op, n, most)
	}
	s.effect(op, func() C.gorl_err {
		return C.gorl_group_unpack_(handle(op, f.Shared), C.int64_t(f.Len()), C.int32_t(n))
	}, f.Shared)
	if s.Err() != nil {
		return nil, Tensor{}
	}
	for i := range n {
		figures = append(figures, s.Select(f.Shared, 0, f.Len()+1+int64(i)))
	}
	from := f.Len() + 1 + int64(n)
	return figures, s.Narrow(f.Shared, 0, from, Numel(f.Shared)-from)
}
