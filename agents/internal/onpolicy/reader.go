package onpolicy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/tensor"
)

// reader checks the arrays of a snapshot against tensors, collects the writes, and keeps the first error.
type reader struct {
	snap   *checkpoint.Snapshot
	name   string
	writes []func() error
	err    error
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", r.name, err)
	}
}

// then adds a write, which apply makes if the whole snapshot fits.
func (r *reader) then(write func() error) { r.writes = append(r.writes, write) }

// apply makes the writes, in their order.
func (r *reader) apply() error {
	for _, write := range r.writes {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// integer reads a number that must not be negative.
func (r *reader) integer(path ...string) int64 {
	n, err := r.snap.Int(path...)
	if err == nil && n < 0 {
		err = fmt.Errorf("the checkpoint's %q is %d", strings.Join(path, "."), n)
	}
	r.fail(err)
	return n
}

func (r *reader) bytes(name string) []byte {
	a, ok := r.snap.Arrays[name]
	if !ok {
		r.fail(fmt.Errorf("the checkpoint has no array %q", name))
		return nil
	}
	b, err := a.Bytes()
	r.fail(err)
	return b
}

// read reads an array of the tensor's shape, or of its first steps timesteps (-1: all), by get. It writes the array
// later.
func read[T tensor.Element](r *reader, get func(name string, shape ...int64) ([]T, error), name string, t tensor.Tensor,
	steps int64) {
	shape := tensor.Shape(t)
	if steps >= 0 {
		shape = append([]int64{steps}, shape[1:]...)
	}
	data, err := get(name, shape...)
	r.fail(err)
	r.then(func() error {
		s := tensor.NoGrad()
		defer s.Close()
		to := t
		if steps >= 0 {
			to = s.Narrow(t, 0, 0, steps)
		}
		return cmp.Or(s.Err(), tensor.Write(to, data))
	})
}

func (r *reader) float32s(name string, t tensor.Tensor) { read(r, r.snap.Float32s, name, t, -1) }

func (r *reader) float64s(name string, t tensor.Tensor) { read(r, r.snap.Float64s, name, t, -1) }

// rows reads rows as a memory keeps them, numbers or bytes: all, or those of the first steps timesteps.
func (r *reader) rows(name string, t tensor.Tensor, steps int64) {
	if tensor.TypeOf(t) == tensor.Uint8 {
		read(r, r.snap.Bytes, name, t, steps)
	} else {
		read(r, r.snap.Float32s, name, t, steps)
	}
}

// entries reads the parts of a flat tensor by the names of its table of contents. A part of another shape is an error.
func (r *reader) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	all := make([]float32, f.Len())
	for _, e := range f.Entries() {
		data, err := r.snap.Float32s(prefix+e.Name, e.Shape...)
		r.fail(err)
		copy(all[e.Offset:e.Offset+e.Size], data)
	}
	r.then(func() error { return tensor.Write(flat, all) })
}
