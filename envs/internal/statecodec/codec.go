// Package statecodec writes and reads the small binary states of environments. A state begins with a header that
// names the environment and the format. Numbers are 8 bytes (float32 in lists 4), little-endian; bytes and lists have
// their length in front. States are read back from checkpoint files, so the decoder trusts no length and no number.
package statecodec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encoder appends values to a byte slice.
type Encoder struct{ b []byte }

// NewEncoder starts a state with its header, e.g. "cartpole/1".
func NewEncoder(header string) *Encoder {
	e := &Encoder{}
	e.Bytes([]byte(header))
	return e
}

// add appends a number, a flag, or a list of them. All have a size, so there is no error.
func (e *Encoder) add(v any) { e.b, _ = binary.Append(e.b, binary.LittleEndian, v) }

// Int appends a whole number.
func (e *Encoder) Int(v int) { e.add(int64(v)) }

// Float appends a float64, bit for bit.
func (e *Encoder) Float(v float64) { e.add(v) }

// Numbers appends float64 values without their number.
func (e *Encoder) Numbers(values ...float64) { e.add(values) }

// Floats appends float32 values and their number.
func (e *Encoder) Floats(v []float32) {
	e.Int(len(v))
	e.add(v)
}

// Bools appends flags, a byte each, and their number.
func (e *Encoder) Bools(v []bool) {
	e.Int(len(v))
	e.add(v)
}

// Bytes appends bytes and their number.
func (e *Encoder) Bytes(v []byte) {
	e.Int(len(v))
	e.b = append(e.b, v...)
}

// State returns what was written.
func (e *Encoder) State() []byte { return e.b }

// Decoder reads what an [Encoder] wrote, in the same order. After its first error every value read is zero, so a
// caller need only look at the error that End returns.
type Decoder struct {
	// b is what has not been read yet.
	b      []byte
	header string
	err    error
}

// NewDecoder starts reading a state. A state with another header is an error.
func NewDecoder(header string, b []byte) *Decoder {
	d := &Decoder{b: b, header: header}
	if got := string(d.Bytes()); d.err == nil && got != header {
		d.Fail("it begins with %.32q", got)
	}
	return d
}

// Fail records an error, unless there is one already. Callers use it for values that make no sense to them.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("not a valid %s state: %s", d.header, fmt.Sprintf(format, args...))
	}
}

// Int reads a whole number.
func (d *Decoder) Int() int {
	return int(int64(d.word()))
}

// Float reads a float64 and refuses NaN and infinities.
func (d *Decoder) Float() float64 {
	v := math.Float64frombits(d.word())
	if v-v != 0 {
		d.Fail("it holds %g where a finite number must stand", v)
		return 0
	}
	return v
}

// Numbers fills a list with float64 values, as Float reads them.
func (d *Decoder) Numbers(to []float64) {
	for i := range to {
		to[i] = d.Float()
	}
}

// Floats reads a list of float32 values. There must be n of them, and all must be finite; otherwise it returns nil.
func (d *Decoder) Floats(n int) []float32 {
	if got := d.Int(); d.err == nil && got != n {
		d.Fail("it holds %d values where there must be %d", got, n)
	}
	b := d.take(4 * n)
	if b == nil {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if out[i]-out[i] != 0 {
			d.Fail("it holds %g where a finite number must stand", out[i])
			return nil
		}
	}
	return out
}

// Bools reads a list of n flags, or returns nil after an error.
func (d *Decoder) Bools(n int) []bool {
	b := d.Bytes()
	if d.err == nil && len(b) != n {
		d.Fail("it holds %d flags where there must be %d", len(b), n)
	}
	if d.err != nil {
		return nil
	}
	out := make([]bool, n)
	for i, x := range b {
		if x > 1 {
			d.Fail("it holds %d where a flag, 0 or 1, must stand", x)
		}
		out[i] = x == 1
	}
	return out
}

// Bytes reads a length and so many bytes, or returns nil after an error. The bytes share memory with the state.
func (d *Decoder) Bytes() []byte { return d.take(d.Int()) }

// End returns the first error. Bytes that are left over are an error, too.
func (d *Decoder) End() error {
	if d.err == nil && len(d.b) > 0 {
		d.Fail("%d bytes are left over", len(d.b))
	}
	return d.err
}

// word reads 8 bytes; 0 if there are fewer.
func (d *Decoder) word() uint64 {
	b := d.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// take returns the next n bytes, or nil after an error. n may be any number, because it often comes from the state.
func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.b) {
		d.Fail("it ends too early")
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}
