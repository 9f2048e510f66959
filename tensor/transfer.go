package tensor

// #cgo noescape gorl_transfer_send
// #cgo nocallback gorl_transfer_send
// #cgo noescape gorl_transfer_copy_
// #cgo nocallback gorl_transfer_copy_
// #cgo noescape gorl_transfer_part
// #cgo nocallback gorl_transfer_part
// #include "gorl.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// Transfer sends what the host has for a device in one copy, because each copy has a price of its own: begin it, put
// all parts into it, send it, and take each part as a tensor. Sending does not wait for the device; on the CPU it
// copies nothing. A Transfer is used by one goroutine at a time, and closed in the end.
type Transfer struct {
	device      Device
	scope       *Scope // owns both sides
	host, there Tensor // bytes, on the CPU the same
	memory      []byte // the host's side
	used        int
	begun       int // how often
}

// Part is one tensor of a [Transfer], until the next one begins. The zero Part is none.
type Part struct {
	from  *Transfer
	begun int
	at    int // its first byte
	size  int // in bytes
	dtype DType
	shape [4]int64 // an array, because every timestep makes some parts
	dims  int
}

var errStale = errors.New("tensor: Part: the transfer has begun again since the part was put into it")

// NewTransfer returns a transfer to device d. It grows with what is put into it.
func NewTransfer(d Device) *Transfer { return &Transfer{device: d, scope: NoGrad()} }

// Begin forgets the parts of the transfer before.
func (t *Transfer) Begin() {
	t.used = 0
	t.begun++
}

// alignment of parts, which is enough for the vector instructions of any device.
const alignment = 64

// reserve makes room for n bytes and returns where it begins.
func (t *Transfer) reserve(n int) (at int, err error) {
	at = (t.used + alignment - 1) / alignment * alignment
	if at+n > len(t.memory) || t.memory == nil { // an empty part has memory, too
		var host, there Tensor
		size := max(2*len(t.memory), at+n, 4096)
		fresh := NoGrad()
		host, there, _ = fresh.results("Transfer", func(a, b, _ *C.gorl_t) C.gorl_err {
			return C.gorl_transfer_new(C.int64_t(size), t.device.code(), a, b)
		})
		if err := fresh.Err(); err != nil {
			return 0, err
		}
		memory, err := Bytes(host)
		if err != nil {
			return 0, err
		}
		copy(memory, t.memory[:t.used])
		t.scope.Close()
		t.scope, t.host, t.there, t.memory = fresh, host, there, memory
	}
	t.used = at + n
	return at, nil
}

// Reserve adds a part of the given shape, of at most four dimensions, and returns it with its memory, for the caller to
// fill before the transfer is sent and before the next part is added.
func Reserve[T Element](t *Transfer, shape ...int64) (Part, []T, error) {
	var zero T
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return Part{}, nil, fmt.Errorf("tensor: Reserve: the shape %v; a part has at most %d elements, and no "+
				"size is negative", shape, math.MaxInt32)
		}
		n *= d
	}
	p := Part{from: t, begun: t.begun, size: int(n) * int(unsafe.Sizeof(zero)), dtype: typeFor[T](), dims: len(shape)}
	if copy(p.shape[:], shape) < len(shape) {
		return p, nil, fmt.Errorf("tensor: Reserve: %d dimensions; a part has at most %d", len(shape), len(p.shape))
	}
	var err error
	if p.at, err = t.reserve(p.size); err != nil || n == 0 {
		return p, nil, err
	}
	return p, unsafe.Slice((*T)(unsafe.Pointer(&t.memory[p.at])), int(n)), nil
}

// Put adds a part with a copy of data, which must fill the shape; without one it is a vector.
func Put[T Element](t *Transfer, data []T, shape ...int64) (Part, error) {
	if len(shape) == 0 {
		shape = []int64{int64(len(data))}
	}
	p, memory, err := Reserve[T](t, shape...)
	if err == nil && len(memory) != len(data) {
		err = fmt.Errorf("tensor: Put: %d values do not fill the shape %v", len(data), shape)
	}
	if err != nil {
		return p, err
	}
	copy(memory, data)
	return p, nil
}

// Send sends all parts.
func (t *Transfer) Send(s *Scope) {
	if t.used == 0 || t.device.IsCPU() {
		return
	}
	s.effect("Send", func() C.gorl_err {
		return C.gorl_transfer_send(handle("Send", t.host), handle("Send", t.there), C.int64_t(t.used))
	})
}

// Tensor is the part on the device, once it is sent. Its memory is the transfer's: it is gone when the next transfer
// begins, and asking for it then is an error of the scope.
func (p Part) Tensor(s *Scope) Tensor {
	if !p.Valid() {
		s.Fail(errStale)
		return Tensor{}
	}
	n, dims := ints(p.shape[:p.dims])
	return s.result("Part", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_transfer_part(handle("Part", p.from.there), C.int64_t(p.at), n, dims, C.int32_t(p.dtype), out)
	})
}

// CopyTo copies the part, once it is sent, into dst, which must have the part's type and number of values. It is
// faster than making a tensor of the part and copying that. If the part's memory is gone, the scope fails, as in
// [Part.Tensor].
func (p Part) CopyTo(s *Scope, dst Tensor) {
	if !p.Valid() {
		s.Fail(errStale)
		return
	}
	n := int64(1)
	for _, d := range p.shape[:p.dims] {
		n *= d
	}
	s.effect("CopyTo", func() C.gorl_err {
		return C.gorl_transfer_copy_(handle("CopyTo", p.from.there), C.int64_t(p.at), C.int64_t(n), C.int32_t(p.dtype),
			handle("CopyTo", dst))
	}, dst)
}

// Host is the part's memory on the host.
func (p Part) Host() []byte { return p.from.memory[p.at : p.at+p.size] }

// Valid reports whether p is a part of a transfer that has not begun again since.
func (p Part) Valid() bool { return p.from != nil && p.begun == p.from.begun }

// Close releases the memory. It may be called twice.
func (t *Transfer) Close() { t.scope.Close() }
