// Package memory stores what agents experience: a [Rollout] of the last T timesteps of N environments, which an
// on-policy update reads whole, and a [Replay] of rows in a circle, which a discriminator samples.
package memory

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

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

// size is the number of bytes of a row.
func (f Field) size() float64 {
	if f.DType == spaces.Uint8 {
		return float64(f.Width)
	}
	return 4 * float64(f.Width)
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
		row += f.size()
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

// Packing is how memories keep rows of a space. Rows of float32 numbers stay what they are. A row with columns of
// uint8, such as a camera's, becomes one of bytes: first its other columns, four bytes each, then those columns, one
// byte each. A picture takes a quarter of the memory, and turns into float32 if a network reads it. A Packing is used
// by one goroutine at a time.
type Packing struct {
	space         spaces.Space
	runs          []spaces.Run
	width, floats int // of a row, and those columns of it that are not uint8
	packed        bool
	buffer        []uint8
}

// NewPacking returns how rows of a space are kept.
func NewPacking(space spaces.Space) *Packing {
	small := space.Bytes()
	return &Packing{space: space, runs: space.Runs(), width: space.Width(), floats: space.Width() - small,
		packed: small > 0}
}

// Packed reports whether rows are kept as bytes. A nil Packing keeps float32.
func (p *Packing) Packed() bool { return p != nil && p.packed }

// Field is a field of the given name that holds such rows.
func (p *Packing) Field(name string) Field {
	if !p.packed {
		return Field{Name: name, Width: p.width}
	}
	return Field{Name: name, Width: p.width + 3*p.floats, DType: spaces.Uint8}
}

// Zeros returns n rows, as they are kept, with all numbers 0.
func (p *Packing) Zeros(s *tensor.Scope, n int64) tensor.Tensor {
	f := p.Field("")
	return s.Full(f.dtype(), 0, n, int64(f.Width))
}

// NewReplay is [NewReplay] for such rows.
func (p *Packing) NewReplay(capacity int, d tensor.Device) (*Replay, error) {
	f := p.Field("")
	return newReplay(capacity, f.Width, f.DType, d)
}

// Stage packs rows, one after another, into a transfer, as a part (n, kept width). A value of a uint8 column that is no
// whole number from 0 to 255 is an error that names the environment.
func (p *Packing) Stage(t *tensor.Transfer, rows []float32) (tensor.Part, error) {
	n := int64(len(rows) / p.width)
	if !p.packed {
		return tensor.Put(t, rows, n, int64(p.width))
	}
	if err := p.pack(rows); err != nil {
		return tensor.Part{}, err
	}
	return tensor.Put(t, p.buffer, n, int64(p.Field("").Width))
}

// Same reports whether a part is what [Packing.Stage] makes of rows.
func (p *Packing) Same(part tensor.Part, rows []float32) bool {
	if !p.packed {
		return bytes.Equal(part.Host(), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), 4*len(rows)))
	}
	return p.pack(rows) == nil && bytes.Equal(part.Host(), p.buffer)
}

// pack fills the buffer.
func (p *Packing) pack(rows []float32) error {
	kept := p.width + 3*p.floats
	p.buffer = slices.Grow(p.buffer[:0], len(rows)/p.width*kept)[:len(rows)/p.width*kept]
	for i, to := 0, p.buffer; i+p.width <= len(rows); i, to = i+p.width, to[kept:] {
		numbers, small := to[:4*p.floats], to[4*p.floats:]
		for _, run := range p.runs {
			from := rows[i+run.From : i+run.To]
			if run.DType != spaces.Uint8 {
				for j, x := range from {
					binary.NativeEndian.PutUint32(numbers[4*j:], math.Float32bits(x))
				}
				numbers = numbers[4*len(from):]
				continue
			}
			for j, x := range from {
				b := uint8(x)
				if float32(b) != x {
					return fmt.Errorf("%v: environment %d, dimension %d is %g; uint8 is a whole number from 0 to 255",
						p.space, i/p.width, run.From+j, x)
				}
				small[j] = b
			}
			small = small[len(from):]
		}
	}
	return nil
}

// Float32 returns rows as numbers, (n, width), of what is kept, (n, kept width). Rows that are numbers already, it
// returns as they are.
func (p *Packing) Float32(s *tensor.Scope, kept tensor.Tensor) tensor.Tensor {
	switch {
	case !p.Packed() || s.Err() != nil || tensor.TypeOf(kept) != tensor.Uint8:
		return kept
	case p.floats == 0:
		return s.As(kept, tensor.Float32)
	}
	n := tensor.Size(kept, 0)
	numbers := s.Bitcast(s.Contiguous(s.Narrow(kept, 1, 0, int64(4*p.floats))), tensor.Float32)
	out := s.Zeros(n, int64(p.width))
	number, small := int64(0), int64(4*p.floats)
	for _, run := range p.runs {
		part, to := int64(run.To-run.From), s.Narrow(out, 1, int64(run.From), int64(run.To-run.From))
		if run.DType == spaces.Uint8 {
			s.Copy(to, s.Narrow(kept, 1, small, part))
			small += part
		} else {
			s.Copy(to, s.Narrow(numbers, 1, number, part))
			number += part
		}
	}
	return out
}

// Span is a range of rows, [Start, Start+Len).
type Span struct{ Start, Len int64 }

// Split cuts n rows into k parts as numpy's array_split does: no row is dropped, the first n mod k parts are one row
// longer. Parts are never empty; with k > n there are n of them.
func Split(n, k int64) []Span {
	k = min(k, n)
	spans := make([]Span, 0, k)
	for i := range k {
		start, end := i*(n/k)+min(i, n%k), (i+1)*(n/k)+min(i+1, n%k)
		spans = append(spans, Span{start, end - start})
	}
	return spans
}

// Chunks cuts n rows into k equal parts of ⌊n/k⌋ rows, as skrl 2.0's sample_all does: the remainder is dropped.
func Chunks(n, k int64) []Span { return Split(n/k*k, k) }
