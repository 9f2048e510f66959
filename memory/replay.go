package memory

import (
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Replay keeps the last Capacity rows in a circle, on one device. It is full from the first wrap on, wherever the wrap
// falls (skrl 2.0 notices only a wrap that ends exactly at the last row, and then samples from a sliver of its data).
type Replay struct {
	scope    *tensor.Scope
	data     tensor.Tensor // (capacity, width)
	capacity int64
	width    int64
	next     int64 // where the next row goes
	length   int64
}

// NewReplay allocates a replay memory of capacity rows of the given width. Like [NewRollout] it refuses what does not
// fit into memory.
func NewReplay(capacity, width int, d tensor.Device) (*Replay, error) {
	return newReplay(capacity, width, spaces.Float32, d)
}

func newReplay(capacity, width int, dtype spaces.DType, d tensor.Device) (*Replay, error) {
	if capacity <= 0 || width <= 0 {
		return nil, fmt.Errorf("memory: a replay of %d rows × %d values: both must be positive", capacity, width)
	}
	f := Field{Width: width, DType: dtype}
	if err := room(fmt.Sprintf("memory: a replay of %d rows × %d values", capacity, width), f.size()*float64(capacity),
		d); err != nil {
		return nil, err
	}
	r := &Replay{scope: tensor.NoGrad().On(d), capacity: int64(capacity), width: int64(width)}
	r.data = r.scope.Full(f.dtype(), 0, r.capacity, r.width)
	return r, r.scope.Err()
}

// Len is the number of rows that can be sampled.
func (r *Replay) Len() int64 { return r.length }

// Capacity is the number of rows that fit.
func (r *Replay) Capacity() int64 { return r.capacity }

// Next is the index of the row that will be written next.
func (r *Replay) Next() int64 { return r.next }

// Data is every row, (Capacity, Width); rows beyond Len are not data yet.
func (r *Replay) Data() tensor.Tensor { return r.data }

// Add appends rows (n, Width), overwriting the oldest. Of more than Capacity rows the last ones stay.
func (r *Replay) Add(s *tensor.Scope, rows tensor.Tensor) {
	if s.Err() != nil {
		return
	}
	if shape := tensor.Shape(rows); len(shape) != 2 || shape[1] != r.width {
		s.Fail(fmt.Errorf("memory: rows of shape %v do not fit a replay of width %d", shape, r.width))
		return
	}
	n := tensor.Size(rows, 0)
	if n > r.capacity {
		rows = s.Narrow(rows, 0, n-r.capacity, r.capacity)
		r.next = (r.next + n - r.capacity) % r.capacity
		n = r.capacity
	}
	for at := int64(0); at < n; {
		part := min(n-at, r.capacity-r.next)
		s.Copy(s.Narrow(r.data, 0, r.next, part), s.Narrow(rows, 0, at, part))
		if s.Err() != nil {
			return
		}
		at += part
		r.next = (r.next + part) % r.capacity
	}
	r.length = min(r.length+n, r.capacity)
}

// Sample draws n rows uniformly with replacement, (n, Width).
func (r *Replay) Sample(s *tensor.Scope, g *tensor.Generator, n int64) tensor.Tensor {
	if r.length == 0 {
		s.Fail(fmt.Errorf("memory: cannot sample from an empty replay"))
		return tensor.Tensor{}
	}
	return s.IndexSelect(r.data, 0, s.RandInt(g, 0, r.length, n))
}

// SetCursor says how many rows are data and where the next one goes, for restoring a replay.
func (r *Replay) SetCursor(length, next int64) error {
	if length < 0 || length > r.capacity || next < 0 || next >= r.capacity {
		return fmt.Errorf("memory: a cursor of %d rows and index %d does not fit a replay of %d", length, next,
			r.capacity)
	}
	r.length, r.next = length, next
	return nil
}

// Close releases the memory. It may be called twice.
func (r *Replay) Close() { r.scope.Close() }
