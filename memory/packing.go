package memory

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

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

// Packed reports whether rows are kept as bytes.
func (p *Packing) Packed() bool { return p.packed }

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
	case !p.packed || s.Err() != nil || tensor.TypeOf(kept) != tensor.Uint8:
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
