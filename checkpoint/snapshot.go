// Package checkpoint stores the state of a training run: snapshots as safetensors files with a JSON manifest, written
// atomically, checksummed, and read without executing anything.
//
// Read [Snapshot] and [Array] first, then [Store]: store.go saves, load.go finds and reads, retain.go deletes. The file
// formats are in safetensors.go, safetensors_decode.go, values.go and manifest.go.
package checkpoint

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Snapshot is the state of something that trains: named arrays and a tree of plain values.
type Snapshot struct {
	// Arrays are found by name, for example "parameters", "optimizer/exp_avg" or "policy/net.0.weight".
	Arrays map[string]Array
	// Values are numbers, strings, booleans, lists and maps, as in JSON. Numbers must be finite. A reader gets integers
	// as int64 (as uint64 above its range), other numbers as float64, lists as []any and maps as map[string]any.
	Values map[string]any
	// Metadata are the other text entries of a safetensors header, for example "format": "pt". The entry "gorl" is
	// reserved: it holds Values. Metadata may be nil.
	Metadata map[string]string
}

// NewSnapshot returns an empty snapshot.
func NewSnapshot() *Snapshot {
	return &Snapshot{Arrays: map[string]Array{}, Values: map[string]any{}}
}

// Float32s returns the elements of the F32 array with this name and shape, as [Array.Float32s] does. A missing array,
// another element type and another shape are errors that name the array.
func (s *Snapshot) Float32s(name string, shape ...int64) ([]float32, error) {
	return readArray(s, name, shape, Array.Float32s)
}

// Float64s is Float32s for F64.
func (s *Snapshot) Float64s(name string, shape ...int64) ([]float64, error) {
	return readArray(s, name, shape, Array.Float64s)
}

// Int64s is Float32s for I64.
func (s *Snapshot) Int64s(name string, shape ...int64) ([]int64, error) {
	return readArray(s, name, shape, Array.Int64s)
}

// Bytes is Float32s for U8.
func (s *Snapshot) Bytes(name string, shape ...int64) ([]byte, error) {
	return readArray(s, name, shape, Array.Bytes)
}

// Bools is Float32s for BOOL.
func (s *Snapshot) Bools(name string, shape ...int64) ([]bool, error) {
	return readArray(s, name, shape, Array.Bools)
}

func readArray[T any](s *Snapshot, name string, shape []int64, read func(Array) ([]T, error)) ([]T, error) {
	a, ok := s.Arrays[name]
	if !ok {
		return nil, fmt.Errorf("checkpoint: the snapshot has no array %q", name)
	}
	if !slices.Equal(a.Shape, shape) {
		return nil, fmt.Errorf("checkpoint: array %q has shape %v, want %v", name, a.Shape, shape)
	}
	v, err := read(a)
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	return v, nil
}

// Int returns the integer at a path through the maps of Values, for example Int("scheduler", "epoch"). A float without
// a fraction counts as an integer. Any other value, or a missing one, is an error that names the path.
func (s *Snapshot) Int(path ...string) (int64, error) {
	return readValue(s, path, "an integer", func(v reflect.Value) (int64, bool) {
		switch {
		case v.CanInt():
			return v.Int(), true
		case v.CanFloat():
			x := v.Float()
			return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<53
		}
		return 0, false
	})
}

// Float returns the number at a path through the maps of Values. Any other value, or a missing one, is an error that
// names the path.
func (s *Snapshot) Float(path ...string) (float64, error) {
	return readValue(s, path, "a number", func(v reflect.Value) (float64, bool) {
		if float := reflect.TypeFor[float64](); v.CanFloat() || v.CanInt() || v.CanUint() {
			return v.Convert(float).Float(), true
		}
		return 0, false
	})
}

// Text returns the string at a path through the maps of Values. Any other value, or a missing one, is an error that
// names the path.
func (s *Snapshot) Text(path ...string) (string, error) {
	return readValue(s, path, "a string", func(v reflect.Value) (string, bool) {
		return v.String(), v.Kind() == reflect.String
	})
}

// readValue returns the value at a path as read converts it. ok is false for a value of another type.
func readValue[T any](s *Snapshot, path []string, want string, read func(reflect.Value) (x T, ok bool)) (T, error) {
	var none T
	v, err := s.Value(path...)
	if err != nil {
		return none, err
	}
	if x, ok := read(reflect.ValueOf(v)); ok {
		return x, nil
	}
	return none, fmt.Errorf("checkpoint: value %q is %v (%T), want %s", strings.Join(path, "."), v, v, want)
}

// Value returns the value at a path through the maps of Values, or an error that names the path.
func (s *Snapshot) Value(path ...string) (any, error) {
	var v any = s.Values
	for i, key := range path {
		m, ok := v.(map[string]any)
		if ok {
			v, ok = m[key]
		}
		if !ok {
			return nil, fmt.Errorf("checkpoint: the snapshot has no value %q", strings.Join(path[:i+1], "."))
		}
	}
	return v, nil
}

// CheckFinite returns an error that names every F32 and F64 array with a NaN or an infinity. A run that has diverged
// calls it before saving, so that it does not replace the snapshots of the time before.
func (s *Snapshot) CheckFinite() error {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
		finite, err := s.Arrays[name].isFinite()
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		if !finite {
			bad = append(bad, fmt.Sprintf("%q", name))
		}
	}
	if bad != nil {
		return fmt.Errorf("checkpoint: not finite: %s; go back to an earlier snapshot", strings.Join(bad, ", "))
	}
	return nil
}
