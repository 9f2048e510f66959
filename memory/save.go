package memory

import (
	"fmt"
	"io"
	"os"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/tensor"
)

// Save writes the replay's rows to a safetensors file at path, replacing it at once or not at all.
func (r *Replay) Save(path string) error {
	s := tensor.NoGrad().On(r.scope.Device())
	defer s.Close()
	rows := s.Narrow(r.data, 0, 0, r.length)
	if err := s.Err(); err != nil {
		return fmt.Errorf("memory: %s: %w", path, err)
	}
	data, err := tensor.Float32s(rows)
	if err != nil {
		return fmt.Errorf("memory: %s: %w", path, err)
	}
	snap := checkpoint.NewSnapshot()
	snap.Arrays["rows"] = checkpoint.ArrayFloat32([]int64{r.length, r.width}, data)
	snap.Values["next"], snap.Values["capacity"] = r.next, r.capacity
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, snap) }); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// Load replaces the replay's rows by those that [Replay.Save] wrote to path from a replay of the same capacity and width.
// On error the replay stays as it is.
func (r *Replay) Load(path string) error {
	fail := func(err error) error { return fmt.Errorf("memory: %s: %w", path, err) }
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	snap, err := checkpoint.DecodeSafetensors(data)
	if err != nil {
		return fail(err)
	}
	shape := snap.Arrays["rows"].Shape
	capacity, err := snap.Int("capacity")
	if err != nil {
		return fail(err)
	}
	next, err := snap.Int("next")
	if err != nil {
		return fail(err)
	}
	if len(shape) != 2 || shape[1] != r.width || capacity != r.capacity {
		return fail(fmt.Errorf("it holds rows of shape %v of a replay of %d rows; this one has %d rows of width %d", shape, capacity, r.capacity, r.width))
	}
	rows, err := snap.Float32s("rows", shape...)
	if err != nil {
		return fail(err)
	}
	length := shape[0]
	if length > r.capacity || next < 0 || next >= r.capacity || length < r.capacity && next != length {
		return fail(fmt.Errorf("%d rows with the next at %d do not fit a replay of %d", length, next, r.capacity))
	}
	s := tensor.NoGrad().On(r.scope.Device())
	defer s.Close()
	s.Copy(s.Narrow(r.data, 0, 0, length), tensor.From(s, rows, length, r.width))
	if err := s.Err(); err != nil {
		return fail(err)
	}
	return r.SetCursor(length, next)
}
