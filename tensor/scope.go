package tensor

// #include <stdlib.h>
// #include "gorl.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// chunkCells is how many results share one allocation. Cells are never used twice, so that a stale handle finds the
// mark of its release and not somebody else's tensor.
const chunkCells = 64

type chunk struct {
	cells [chunkCells]unsafe.Pointer
	used  int
}

// Scope owns the results of the operations that are its methods, and releases them when it closes. See the package
// comment for the idiom. Create one with [NewScope] or [NoGrad].
type Scope struct {
	chunks []*chunk
	err    error
	grad   C.int
	closed bool
	device Device
	layers Precision
	slots  *slots
	// captured says that what is computed may be replayed with other learning rates (Graph).
	captured bool
}

// slots is C memory for the results of one native call. A cell would do but for cgo, which looks at all pointers of a
// Go object whose address is passed to C: 64 of them a call.
type slots [3]C.gorl_t

var spare struct {
	sync.Mutex
	slots []*slots
}

func newSlots() *slots {
	spare.Lock()
	defer spare.Unlock()
	if n := len(spare.slots); n > 0 {
		last := spare.slots[n-1]
		spare.slots = spare.slots[:n-1]
		return last
	}
	return (*slots)(C.calloc(1, C.size_t(unsafe.Sizeof(slots{}))))
}

// NewScope returns an open scope in which autograd records.
func NewScope() *Scope { return &Scope{grad: 1} }

// NoGrad returns an open scope in which autograd does not record.
func NoGrad() *Scope { return &Scope{} }

// On makes d the device of the tensors that the scope creates, and returns the scope. The default is the CPU.
func (s *Scope) On(d Device) *Scope {
	s.device = d
	return s
}

// Device returns the device of the tensors that the scope creates.
func (s *Scope) Device() Device { return s.device }

// Err returns the scope's first error, or nil.
func (s *Scope) Err() error { return s.err }

// Fail records err as the scope's error if it is the first, so that code between operations can stop them too.
func (s *Scope) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Close releases everything the scope owns. It may be called twice. The error stays readable.
func (s *Scope) Close() {
	s.release()
	s.closed = true
	if s.slots != nil {
		spare.Lock()
		spare.slots = append(spare.slots, s.slots)
		spare.Unlock()
		s.slots = nil
	}
}

// Reset releases everything the scope owns, forgets its error, and leaves it open, ready for the next minibatch.
func (s *Scope) Reset() {
	s.release()
	s.err = nil
}

func (s *Scope) release() {
	for i, c := range s.chunks {
		if c.used > 0 {
			C.gorl_free((*C.gorl_t)(unsafe.Pointer(&c.cells[0])), C.int64_t(c.used))
		}
		s.chunks[i] = nil
	}
	s.chunks = s.chunks[:0]
}

// Keep takes t out of the scope, so that t lives on until [Free]. It returns a new handle; the old one counts as
// released. Keep(zero Tensor) is the zero Tensor.
func (s *Scope) Keep(t Tensor) Tensor {
	if s.err != nil || t.T == nil {
		return Tensor{}
	}
	handle("Keep", t)
	for _, c := range s.chunks {
		for i := range c.cells[:c.used] {
			if &c.cells[i] == t.T {
				cell := c.cells[i]
				c.cells[i] = poison
				return Tensor{T: &cell}
			}
		}
	}
	s.err = fmt.Errorf("tensor: Keep: the tensor %v does not belong to this scope", Shape(t))
	return Tensor{}
}

// cell returns a fresh cell for a result.
func (s *Scope) cell() *unsafe.Pointer {
	if s.closed {
		panic("tensor: the scope is closed")
	}
	n := len(s.chunks)
	if n == 0 || s.chunks[n-1].used == chunkCells {
		s.chunks = append(s.chunks, new(chunk))
		n++
	}
	c := s.chunks[n-1]
	p := &c.cells[c.used]
	c.used++
	return p
}

// own makes the scope the owner of a native tensor.
func (s *Scope) own(t C.gorl_t) Tensor {
	cell := s.cell()
	*cell = unsafe.Pointer(t)
	return Tensor{T: cell}
}

// result returns the tensor that a native operation makes, owned by the scope. call runs the operation, which writes
// the new tensor to out; operands are its tensors, for the message of a failure. After the scope's first error nothing
// runs. A call costs no allocation, because call does not outlive it.
func (s *Scope) result(op string, call func(out *C.gorl_t) C.gorl_err, operands ...Tensor) Tensor {
	if s.err != nil {
		return Tensor{}
	}
	return s.done(op, call(s.out()), operands...)
}

// out returns where a native call writes its results.
func (s *Scope) out() *C.gorl_t {
	if s.closed {
		panic("tensor: the scope is closed")
	}
	if s.slots == nil {
		s.slots = newSlots()
	}
	return &s.slots[0]
}

// results is [Scope.result] of an operation that makes two or three tensors. After an error all are zero Tensors.
func (s *Scope) results(op string, call func(a, b, c *C.gorl_t) C.gorl_err, operands ...Tensor) (a, b, c Tensor) {
	if s.err != nil {
		return Tensor{}, Tensor{}, Tensor{}
	}
	s.out()
	p := s.slots
	p[1], p[2] = nil, nil
	if a = s.done(op, call(&p[0], &p[1], &p[2]), operands...); s.err != nil {
		return Tensor{}, Tensor{}, Tensor{}
	}
	return a, s.own(p[1]), s.own(p[2])
}

// done finishes an operation that wrote its result where out says, or failed with msg.
func (s *Scope) done(op string, msg C.gorl_err, operands ...Tensor) Tensor {
	if s.err = failure(op, msg, operands...); s.err != nil {
		return Tensor{}
	}
	return s.own(s.slots[0])
}

// effect does an operation that has no result, unless an earlier one failed.
func (s *Scope) effect(op string, call func() C.gorl_err, operands ...Tensor) {
	if s.err == nil {
		s.err = failure(op, call(), operands...)
	}
}

func ints(v []int64) (*C.int64_t, C.int32_t) {
	if len(v) == 0 {
		return nil, 0
	}
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(v))), C.int32_t(len(v))
}

// flag turns a boolean into C's.
func flag(on bool) C.int {
	if on {
		return 1
	}
	return 0
}
