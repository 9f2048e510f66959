package tensor

// #cgo noescape gorl_store_get
// #cgo nocallback gorl_store_get
// #cgo noescape gorl_group_pack_
// #cgo nocallback gorl_group_pack_
// #include <stdlib.h>
// #include "gorl.h"
import "C"

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// Processes that compute together meet in a [Store] and form [Ranks]: libtorch's c10d, with Gloo between CPUs and NCCL
// between GPUs. Package distributed is what programs use.

// Store keeps keys that several processes see: one of them serves it on a TCP port (libtorch: TCPStore). It is used by
// one goroutine at a time.
type Store struct {
	native unsafe.Pointer
	// Port is the port that the store is served on.
	Port int
}

// NewStore opens the store at host and port. The one process that serves listens there, and port 0 then takes a free one;
// the others wait until it does, up to timeout. Close it.
func NewStore(host string, port int, serve bool, timeout time.Duration) (*Store, error) {
	h := C.CString(host)
	defer C.free(unsafe.Pointer(h))
	s := &Store{}
	p := C.int32_t(port)
	if msg := C.gorl_store_new(h, &p, flag(serve), milliseconds(timeout), &s.native); msg != nil {
		return nil, failure("NewStore", msg)
	}
	s.Port = int(p)
	return s, nil
}

// Set writes the value of a key.
func (s *Store) Set(key string, value []byte) error {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	msg := C.gorl_store_set(s.native, k, unsafe.Pointer(unsafe.SliceData(value)), C.int64_t(len(value)))
	if msg != nil {
		return failure("Store.Set", msg)
	}
	return nil
}

// Get reads the value of a key. It does not wait: ok is false where no process has set the key yet.
func (s *Store) Get(key string) (value []byte, ok bool, err error) {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	var found *C.char
	var n C.int64_t
	if msg := C.gorl_store_get(s.native, k, &found, &n); msg != nil {
		return nil, false, failure("Store.Get", msg)
	}
	if found == nil {
		return nil, false, nil
	}
	defer C.gorl_free_string(found)
	return C.GoBytes(unsafe.Pointer(found), C.int(n)), true, nil
}

// Close releases the store; the process that served it stops to listen. It may be called twice.
func (s *Store) Close() {
	if s.native != nil {
		C.gorl_store_free(s.native)
		s.native = nil
	}
}

// Ranks are processes that call the same operations in the same order, each with a tensor of the same shape and type.
// Every operation waits for all of them, up to the timeout; after an error none of them works any more. It is used by one
// goroutine at a time.
type Ranks struct {
	native unsafe.Pointer
	rank   int
}

// HasNCCL reports whether gorl's libraries were built with NCCL.
func HasNCCL() bool { return C.gorl_nccl_built() != 0 }

// NewRanks makes this process one of size ranks, which meet in the store under keys that begin with prefix, and waits for
// the others up to timeout, which is that of every operation as well. backend is "gloo", for tensors on the CPU, or
// "nccl", for tensors on CUDA devices. address is a name or an address of this machine, which the other ranks connect to.
// Close it.
func NewRanks(backend string, s *Store, prefix string, rank, size int, address string, timeout time.Duration) (*Ranks,
	error) {
	if backend != "gloo" && backend != "nccl" {
		return nil, fmt.Errorf("tensor: backend %q: want gloo or nccl", backend)
	}
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("tensor: rank %d of %d: want a rank from 0 to the number of ranks less one", rank, size)
	}
	b, p, a := C.CString(backend), C.CString(prefix), C.CString(address)
	defer C.free(unsafe.Pointer(b))
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(a))
	g := &Ranks{rank: rank}
	if msg := C.gorl_group_new(b, s.native, p, C.int32_t(rank), C.int32_t(size), a, milliseconds(timeout),
		&g.native); msg != nil {
		return nil, failure("NewRanks", msg)
	}
	return g, nil
}

// Sum replaces t by the sum of all ranks' tensors. Every rank gets the same numbers, bit for bit.
func (g *Ranks) Sum(t Tensor) error {
	msg := C.gorl_group_all_reduce(g.native, handle("Sum", t))
	runtime.KeepAlive(t.T)
	if msg != nil {
		return failure("Sum", msg, t)
	}
	return nil
}

// Broadcast replaces t by the tensor of rank root.
func (g *Ranks) Broadcast(t Tensor, root int) error {
	msg := C.gorl_group_broadcast(g.native, handle("Broadcast", t), C.int32_t(root))
	runtime.KeepAlive(t.T)
	if msg != nil {
		return failure("Broadcast", msg, t)
	}
	return nil
}

// Gather writes the tensors of all ranks into out, whose first dimension counts the ranks.
func (g *Ranks) Gather(t, out Tensor) error {
	msg := C.gorl_group_all_gather(g.native, handle("Gather", t), handle("Gather", out))
	runtime.KeepAlive(t.T)
	runtime.KeepAlive(out.T)
	if msg != nil {
		return failure("Gather", msg, t, out)
	}
	return nil
}

// Close leaves the ranks: the operations of the others fail from now on. It may be called twice.
func (g *Ranks) Close() {
	if g.native != nil {
		C.gorl_group_free(g.native)
		g.native = nil
	}
}

// milliseconds is a duration as the shim has it.
func milliseconds(d time.Duration) C.int64_t { return C.int64_t(d.Milliseconds()) }

// Pack writes figures, scalars of a minibatch of so many rows, behind the gradients, and weighs both by the rows, so that
// the ranks' sums are of all their rows; a rank whose figures are not all finite raises its flag. Add the Shared memory
// of all ranks up, and call Unpack.
func (f *Flat) Pack(s *Scope, rows int64, rank int, figures ...Tensor) {
	const op = "Pack"
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
	s.effect(op, func() C.gorl_err {
		return C.gorl_group_unpack_(handle(op, f.Shared), C.int64_t(f.Len()), C.int32_t(n))
	}, f.Shared)
	if s.Err() != nil {
		return make([]Tensor, n), Tensor{}
	}
	for i := range n {
		figures = append(figures, s.Select(f.Shared, 0, f.Len()+1+int64(i)))
	}
	from := f.Len() + 1 + int64(n)
	return figures, s.Narrow(f.Shared, 0, from, Numel(f.Shared)-from)
}
