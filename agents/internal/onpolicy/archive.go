package onpolicy

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tensor"
)

// archive carries an agent's state into a snapshot or, with reading set, out of it. Every method does both, so that
// what one part of the agent saves is what it restores. An archive keeps the first error. What it reads is checked at
// once, and reaches the agent by apply if the whole snapshot fits.
type archive struct {
	snap    *checkpoint.Snapshot
	name    string // the agent's, with which errors begin
	reading bool
	views   *tensor.Scope // owns the parts of tensors that are carried alone
	writes  []func() error
	err     error
}

func newArchive(snap *checkpoint.Snapshot, c *Core, reading bool) *archive {
	return &archive{snap: snap, name: c.prefix, reading: reading, views: tensor.NoGrad()}
}

func (a *archive) fail(err error) {
	if a.err == nil && err != nil {
		a.err = fmt.Errorf("%s: %w", a.name, err)
	}
}

// then adds a write, which apply makes if the whole snapshot fits. Nothing applies the writes of an archive that saves.
func (a *archive) then(write func() error) { a.writes = append(a.writes, write) }

// assign is then for a variable.
func assign[T any](a *archive, to *T, value T) {
	a.then(func() error {
		*to = value
		return nil
	})
}

// apply makes the writes, in their order.
func (a *archive) apply() error {
	for _, write := range a.writes {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// carryNumber carries a number with the method of the snapshot that reads it, and returns it.
func carryNumber[T any](a *archive, n T, get func(path ...string) (T, error), path []string) T {
	if !a.reading {
		a.put(n, path)
		return n
	}
	n, err := get(path...)
	a.fail(err)
	return n
}

// integer carries a number that must not be negative, and returns it.
func (a *archive) integer(n int64, path ...string) int64 {
	if n = carryNumber(a, n, a.snap.Int, path); n < 0 {
		a.fail(fmt.Errorf("the checkpoint's %q is %d", strings.Join(path, "."), n))
	}
	return n
}

// put writes a value.
func (a *archive) put(value any, path []string) {
	last, at := len(path)-1, a.snap.Values
	for _, key := range path[:last] {
		if at[key] == nil {
			at[key] = map[string]any{}
		}
		at = at[key].(map[string]any)
	}
	at[path[last]] = value
}

// array carries a tensor of float32, float64 or bytes. The array must have its shape.
func (a *archive) array(name string, t tensor.Tensor) {
	if a.views.Err() != nil { // t is a view that could not be made
		a.fail(a.views.Err())
		return
	}
	switch tensor.TypeOf(t) {
	case tensor.Uint8:
		carry(a, name, t, a.snap.Bytes, checkpoint.ArrayBytes)
	case tensor.Float64:
		carry(a, name, t, a.snap.Float64s, checkpoint.ArrayFloat64)
	default:
		carry(a, name, t, a.snap.Float32s, checkpoint.ArrayFloat32)
	}
}

func carry[T tensor.Element](a *archive, name string, t tensor.Tensor,
	get func(name string, shape ...int64) ([]T, error), array func(shape []int64, data []T) checkpoint.Array) {
	if a.reading {
		data, err := get(name, tensor.Shape(t)...)
		a.fail(err)
		a.then(func() error { return tensor.Write(t, data) })
		return
	}
	data := make([]T, tensor.Numel(t))
	a.fail(tensor.Read(t, data))
	a.snap.Arrays[name] = array(tensor.Shape(t), data)
}

// first returns the first n rows of a tensor.
func (a *archive) first(n int64, t tensor.Tensor) tensor.Tensor { return a.views.Narrow(t, 0, 0, n) }

// entries carries the parts of a flat tensor, each under a prefix and its name in the table of contents. A part of
// another shape is an error.
func (a *archive) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	all := make([]float32, f.Len())
	if !a.reading {
		a.fail(tensor.Read(flat, all))
	}
	for _, e := range f.Entries() {
		part := all[e.Offset : e.Offset+e.Size]
		if !a.reading {
			a.snap.Arrays[prefix+e.Name] = checkpoint.ArrayFloat32(e.Shape, part)
			continue
		}
		data, err := a.snap.Float32s(prefix+e.Name, e.Shape...)
		a.fail(err)
		copy(part, data)
	}
	a.then(func() error { return tensor.Write(flat, all) })
}

// statistics carries the statistics of an agent's scalers, under names that begin with prefix.
func (a *archive) statistics(prefix string, c *scalers) {
	for _, s := range c.all {
		for _, x := range s.statistics() {
			a.array(prefix+layout.Statistic(s.name, x.name), x.Tensor)
		}
	}
}

// marks carries marks (steps, n) of the rollout in progress. Snapshots have the array if some rows are marked.
func (a *archive) marks(field string, marks []bool, n int) {
	name, shape := layout.Rollout(field), []int64{int64(len(marks) / n), int64(n)}
	if !a.reading {
		if slices.Contains(marks, true) {
			a.snap.Arrays[name] = checkpoint.ArrayBool(shape, marks)
		}
		return
	}
	rows := make([]bool, len(marks))
	if _, has := a.snap.Arrays[name]; has {
		data, err := a.snap.Bools(name, shape...)
		a.fail(err)
		copy(rows, data)
	}
	a.then(func() error {
		copy(marks, rows)
		return nil
	})
}

// random carries the states of both random sequences of an agent: the host's as the value key, the device's as the
// array generator. It checks what it reads by setting other sequences to it.
//
// Only the same kind of device understands the state of its generator. An agent on another kind, such as one on the
// CPU that evaluates what CUDA trained, starts a sequence whose seed is a hash of the state. Every restore of the
// checkpoint starts the same one.
func (a *archive) random(c *Core, key, generator string) {
	if !a.reading {
		state, err := c.Gen.State()
		a.fail(err)
		a.snap.Arrays[generator] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
		pcg, err := c.pcg.MarshalBinary()
		a.fail(err)
		a.snap.Values[key] = base64.StdEncoding.EncodeToString(pcg)
		return
	}
	text, err := a.snap.Text(key)
	a.fail(err)
	pcg, err := base64.StdEncoding.DecodeString(text)
	a.fail(err)
	array, ok := a.snap.Arrays[generator]
	if !ok {
		a.fail(fmt.Errorf("the checkpoint has no array %q", generator))
		return
	}
	state, err := array.Bytes()
	if a.fail(err); a.err != nil {
		return
	}
	if err := new(rand.PCG).UnmarshalBinary(pcg); err != nil {
		a.fail(fmt.Errorf("the checkpoint's random state: %w", err))
		return
	}
	a.then(func() error { return c.pcg.UnmarshalBinary(pcg) })
	g, err := tensor.NewGenerator(0, c.Device)
	if err == nil {
		defer g.Close()
		err = g.SetState(state)
	}
	if err == nil {
		a.then(func() error { return c.Gen.SetState(state) })
		return
	}
	if kind, _ := a.snap.Values[layout.RandomDevice].(string); cmp.Or(kind, tensor.CPU.Kind()) == c.Device.Kind() {
		a.fail(fmt.Errorf("the checkpoint's generator: %w", err))
		return
	}
	h := fnv.New64a()
	h.Write(state)
	a.then(func() error { return c.Gen.Seed(int64(h.Sum64())) })
}

// acting carries the parameters and statistics of an actor (Overlap).
func (a *archive) acting(c *Core) {
	a.entries(layout.Acting(""), c.Flat, c.Flat.Values)
	a.statistics(layout.Acting(""), c.scalers)
}
