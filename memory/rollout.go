// Package memory stores what agents experience: a [Rollout] of the last T timesteps of N environments, which an
// on-policy update reads whole, and a [Replay] of rows in a circle, which a discriminator samples.
package memory

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Field is one column of a memory: rows of Width values.
type Field struct {
	Name  string
	Width int
	// DType is the type of the values, by default float32.
	DType spaces.DType
}

// dtype is the type of the field's tensor.
func (f Field) dtype() tensor.DType {
	if f.DType == spaces.Uint8 {
		return tensor.Uint8
	}
	return tensor.Float32
}

// size is the number of bytes of a value.
func (f Field) size() float64 {
	if f.DType == spaces.Uint8 {
		return 1
	}
	return 4
}

// Rollout is T timesteps of N environments: one resident tensor (T, N, Width) a field, on one device. Its row order is
// time-major: row t·N + i of the flat view is step t of environment i.
type Rollout struct {
	scope   *tensor.Scope
	columns map[string]column
	names   []Field
	steps   int
	envs    int
	next    int
}

// column is the memory of a field, in three shapes.
type column struct {
	all, flat tensor.Tensor   // (T, N, W) and (T·N, W)
	rows      []tensor.Tensor // (N, W) of each step
}

// handle is roughly the number of bytes that libtorch and Go keep for a tensor in addition to its data.
const handle = 512

// room refuses on device d what needs more memory than there is. A GPU's memory is not known here.
func room(what string, bytes float64, d tensor.Device) error {
	if d.IsCPU() {
		return capacity.Check(what, bytes)
	}
	return capacity.CheckDevice(what, bytes)
}

// NewRollout allocates a rollout of the given timesteps and environments. One that does not fit into the machine's
// memory is an error with the number of bytes, and on a GPU one of more than a tebibyte; nothing is allocated then.
func NewRollout(steps, envs int, fields []Field, d tensor.Device) (*Rollout, error) {
	if steps <= 0 || envs <= 0 {
		return nil, fmt.Errorf("memory: a rollout of %d timesteps × %d environments: both must be positive", steps,
			envs)
	}
	seen, row := map[string]bool{}, 0.0 // bytes
	for _, f := range fields {
		if f.Width <= 0 {
			return nil, fmt.Errorf("memory: field %q has width %d; it must be positive", f.Name, f.Width)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("memory: two fields are named %q", f.Name)
		}
		seen[f.Name] = true
		row += f.size() * float64(f.Width)
	}
	bytes := float64(steps) * (float64(envs)*row + handle*float64(len(fields)))
	if err := room(fmt.Sprintf("memory: a rollout of %d timesteps × %d environments", steps, envs), bytes,
		d); err != nil {
		return nil, err
	}
	r := &Rollout{scope: tensor.NoGrad().On(d), steps: steps, envs: envs, names: fields, columns: map[string]column{}}
	t, n := int64(steps), int64(envs)
	for _, f := range fields {
		c := column{all: r.scope.Full(f.dtype(), 0, t, n, int64(f.Width))}
		c.flat = r.scope.Reshape(c.all, t*n, int64(f.Width))
		for i := range t {
			c.rows = append(c.rows, r.scope.Select(c.all, 0, i))
		}
		r.columns[f.Name] = c
	}
	if err := r.scope.Err(); err != nil {
		r.Close()
		return nil, fmt.Errorf("memory: a rollout of %d timesteps × %d environments: %w", steps, envs, err)
	}
	return r, nil
}

// Steps is T.
func (r *Rollout) Steps() int { return r.steps }

// Envs is N.
func (r *Rollout) Envs() int { return r.envs }

// Len is the number of timesteps recorded since the last [Rollout.Clear].
func (r *Rollout) Len() int { return r.next }

// Full reports whether all T timesteps are recorded.
func (r *Rollout) Full() bool { return r.next == r.steps }

// Fields lists the columns.
func (r *Rollout) Fields() []Field { return r.names }

// Row is field name of the step being recorded, (N, Width): write into it, then [Rollout.Advance].
func (r *Rollout) Row(name string) tensor.Tensor { return r.At(name, r.next) }

// At is field name of step t, (N, Width).
func (r *Rollout) At(name string, t int) tensor.Tensor {
	rows := r.column(name).rows
	if t >= len(rows) {
		panic(fmt.Sprintf("memory: timestep %d of a rollout of %d", t, r.steps))
	}
	return rows[t]
}

// Advance ends the step being recorded.
func (r *Rollout) Advance() { r.next++ }

// Clear forgets all timesteps.
func (r *Rollout) Clear() { r.next = 0 }

// SetLen sets the number of recorded timesteps, for restoring a rollout.
func (r *Rollout) SetLen(n int) error {
	if n < 0 || n > r.steps {
		return fmt.Errorf("memory: %d recorded timesteps do not fit a rollout of %d", n, r.steps)
	}
	r.next = n
	return nil
}

// Tensor is field name as (T, N, Width).
func (r *Rollout) Tensor(name string) tensor.Tensor { return r.column(name).all }

// Rows is field name as (T·N, Width), time-major, in the same memory.
func (r *Rollout) Rows(name string) tensor.Tensor { return r.column(name).flat }

// column returns a field's memory, and panics if there is none: a programming error.
func (r *Rollout) column(name string) column {
	c, ok := r.columns[name]
	if !ok {
		panic(fmt.Sprintf("memory: the rollout has no field %q", name))
	}
	return c
}

// Close releases the memory. It may be called twice.
func (r *Rollout) Close() { r.scope.Close() }
