package tensor

// #include "gorl.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
	"weak"
)

// Parameter is a named leaf tensor that training changes.
type Parameter struct {
	// Name is the parameter's place in its network, e.g. "net.0.weight".
	Name string
	// Tensor is float32. Its handle stays valid when a [Flat] takes over its memory.
	Tensor Tensor
	// Fixed parameters are stored and saved but have no gradient.
	Fixed bool
}

// Entry is one line of a [Flat]'s table of contents: elements [Offset, Offset+Size) are the parameter Name of shape
// Shape.
type Entry struct {
	Name   string
	Shape  []int64
	Offset int64
	Size   int64
}

// Flat holds all parameters of an agent in one contiguous tensor and their gradients in another; the parameters are
// views of them. Zeroing gradients, clipping, the optimizer's step, a checkpoint and copying weights between members of
// a population are then one operation each, whatever the networks.
type Flat struct {
	// Values and Grads are float32 vectors of equal length.
	Values, Grads Tensor
	// Shared is the gradients with some elements behind them, for what travels with them between ranks (see Pack).
	Shared Tensor

	entries []Entry
	params  []Parameter // of the entries
	owner   string
	scope   *Scope
}

// open lists the flats that are not closed. The pointers are weak, so that a Flat dropped without Close can be freed.
var open struct {
	sync.Mutex
	flats []weak.Pointer[Flat]
}

// OwnedError says that a parameter is already part of a [Flat]. A second Flat would take the parameter's memory away
// from the first one.
type OwnedError struct {
	// Parameter is the parameter's name in the second Flat. Owner is the owner of the first one, see [NewSharedFlat].
	Parameter, Owner string
}

// Error implements error.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("tensor: NewFlat: parameter %q belongs to %s", e.Parameter, e.Owner)
}

// FlatOf returns the open Flat that a parameter is part of. It is nil for a tensor that is in no Flat or is released.
func FlatOf(t Tensor) *Flat {
	open.Lock()
	defer open.Unlock()
	return flatOf(t)
}

// flatOf is FlatOf for a caller that holds the lock of open.
func flatOf(t Tensor) *Flat {
	if !Valid(t) {
		return nil
	}
	key := C.gorl_identity(handle("FlatOf", t))
	for _, w := range open.flats {
		f := w.Value()
		if f == nil {
			continue
		}
		for _, p := range f.params {
			if Valid(p.Tensor) && C.gorl_identity(handle("FlatOf", p.Tensor)) == key {
				return f
			}
		}
	}
	return nil
}

// own makes f the owner of its parameters, unless another Flat owns one of them.
func (f *Flat) own() error {
	open.Lock()
	defer open.Unlock()
	for i, p := range f.params {
		if other := flatOf(p.Tensor); other != nil {
			return &OwnedError{f.entries[i].Name, other.owner}
		}
	}
	forget(nil) // removes dropped flats
	open.flats = append(open.flats, weak.Make(f))
	return nil
}

// forget removes f and the dropped flats from open. The caller must hold the lock of open.
func forget(f *Flat) {
	open.flats = slices.DeleteFunc(open.flats, func(w weak.Pointer[Flat]) bool {
		return w.Value() == nil || w.Value() == f
	})
}

// NewFlat moves parameters, in the given order, into flat memory on device d. The same tensor given twice (a trunk
// that two networks share) is stored once, under its first name. Gradients start at zero. If a parameter is part of
// another open Flat, NewFlat returns an [OwnedError].
func NewFlat(params []Parameter, d Device) (*Flat, error) {
	return NewSharedFlat(params, d, 0, "another Flat")
}

// NewSharedFlat is NewFlat with the given number of elements of Shared behind the gradients. owner is the name, in an
// OwnedError, of the object that the Flat is made for.
func NewSharedFlat(params []Parameter, d Device, behind int64, owner string) (*Flat, error) {
	f := &Flat{scope: NoGrad().On(d), owner: owner}
	seen := map[unsafe.Pointer]bool{}
	names := map[string]bool{}
	var total int64
	for _, p := range params {
		if !Valid(p.Tensor) {
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is not a tensor (zero or released)", p.Name)
		}
		key := C.gorl_identity(handle("NewFlat", p.Tensor))
		switch t := TypeOf(p.Tensor); {
		case seen[key]:
			continue
		case names[p.Name]:
			return nil, fmt.Errorf("tensor: NewFlat: two parameters are named %q", p.Name)
		case t != Float32:
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is %v; parameters are float32", p.Name, t)
		case C.gorl_is_leaf(handle("NewFlat", p.Tensor)) == 0:
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is the result of operations that autograd follows; "+
				"create parameters in a NoGrad scope, or Detach them", p.Name)
		}
		seen[key], names[p.Name] = true, true
		e := Entry{Name: p.Name, Shape: Shape(p.Tensor), Offset: total, Size: Numel(p.Tensor)}
		f.entries = append(f.entries, e)
		f.params = append(f.params, p)
		total += e.Size
	}
	if total == 0 {
		return nil, fmt.Errorf("tensor: NewFlat: there are no parameters")
	}
	f.Values, f.Shared = f.scope.Zeros(total), f.scope.Zeros(total+behind)
	f.Grads = f.scope.Narrow(f.Shared, 0, 0, total)
	err := f.scope.Err()
	if err == nil {
		err = f.own()
	}
	if err != nil {
		f.scope.Close()
		return nil, err
	}
	for i, p := range f.params {
		msg := C.gorl_bind(handle("NewFlat", p.Tensor), handle("NewFlat", f.Values), handle("NewFlat", f.Grads),
			C.int64_t(f.entries[i].Offset))
		if msg == nil && p.Fixed {
			msg = C.gorl_requires_grad_(handle("NewFlat", p.Tensor), 0)
		}
		if msg != nil {
			f.Close()
			return nil, failure("NewFlat", msg, p.Tensor)
		}
	}
	return f, nil
}

// Entries is the table of contents, in memory order.
func (f *Flat) Entries() []Entry { return f.entries }

// Len is the number of elements.
func (f *Flat) Len() int64 { return Numel(f.Values) }

// Segment returns the range of elements whose names begin with prefix. They must lie together.
func (f *Flat) Segment(prefix string) (begin, end int64, err error) {
	begin = -1
	for _, e := range f.entries {
		if !strings.HasPrefix(e.Name, prefix) {
			continue
		}
		if begin < 0 {
			begin, end = e.Offset, e.Offset
		}
		if e.Offset != end {
			return 0, 0, fmt.Errorf("tensor: the parameters named %s* do not lie together", prefix)
		}
		end = e.Offset + e.Size
	}
	if begin < 0 {
		return 0, 0, fmt.Errorf("tensor: no parameter is named %s*", prefix)
	}
	return begin, end, nil
}

// ZeroGrad sets all gradients to zero.
func (f *Flat) ZeroGrad(s *Scope) { s.Fill(f.Grads, 0) }

// Close releases the flat memory. The parameters, which are views of it, live as long as their own owners, and may
// become part of another Flat.
func (f *Flat) Close() {
	open.Lock()
	defer open.Unlock()
	forget(f)
	f.scope.Close()
}
