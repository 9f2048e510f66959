package tensor

// #include "gorl.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
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
	scope   *Scope
}

// NewFlat moves parameters, in the given order, into flat memory on device d. The same tensor given twice (a trunk
// that two networks share) is stored once, under its first name. Gradients start at zero.
func NewFlat(params []Parameter, d Device) (*Flat, error) { return NewSharedFlat(params, d, 0) }

// NewSharedFlat is NewFlat with so many elements of Shared behind the gradients.
func NewSharedFlat(params []Parameter, d Device, behind int64) (*Flat, error) {
	f := &Flat{scope: NoGrad().On(d)}
	seen := map[unsafe.Pointer]bool{}
	names := map[string]bool{}
	var total int64
	var unique []Parameter
	for _, p := range params {
		if !Valid(p.Tensor) {
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is not a tensor (zero or released)", p.Name)
		}
		key := C.gorl_identity(handle("NewFlat", p.Tensor))
		if seen[key] {
			continue
		}
		if names[p.Name] {
			return nil, fmt.Errorf("tensor: NewFlat: two parameters are named %q", p.Name)
		}
		if t := TypeOf(p.Tensor); t != Float32 {
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is %v; parameters are float32", p.Name, t)
		}
		if C.gorl_is_leaf(handle("NewFlat", p.Tensor)) == 0 {
			return nil, fmt.Errorf("tensor: NewFlat: parameter %q is the result of operations that autograd follows; create parameters in a NoGrad scope, or Detach them", p.Name)
		}
		seen[key], names[p.Name] = true, true
		e := Entry{Name: p.Name, Shape: Shape(p.Tensor), Offset: total, Size: Numel(p.Tensor)}
		f.entries = append(f.entries, e)
		unique = append(unique, p)
		total += e.Size
	}
	if total == 0 {
		return nil, fmt.Errorf("tensor: NewFlat: there are no parameters")
	}
	f.Values, f.Shared = f.scope.Zeros(total), f.scope.Zeros(total+behind)
	f.Grads = f.scope.Narrow(f.Shared, 0, 0, total)
	if err := f.scope.Err(); err != nil {
		f.scope.Close()
		return nil, err
	}
	for i, p := range unique {
		msg := C.gorl_bind(handle("NewFlat", p.Tensor), handle("NewFlat", f.Values), handle("NewFlat", f.Grads),
			C.int64_t(f.entries[i].Offset))
		if msg == nil && p.Fixed {
			msg = C.gorl_requires_grad_(handle("NewFlat", p.Tensor), 0)
		}
		if msg != nil {
			f.scope.Close()
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

// Close releases the flat memory. The parameters, which are views of it, live as long as their own owners.
func (f *Flat) Close() { f.scope.Close() }
