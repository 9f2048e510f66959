package checkpoint

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// NewSnapshot returns an empty snapshot to fill.
func NewSnapshot() *Snapshot {
	return &Snapshot{Arrays: map[string]Array{}, Values: map[string]any{}}
}

// Float32s returns the elements of the F32 array of that name and shape, see Array.Float32s. A missing array, another
// element type or another shape is an error that names it.
func (s *Snapshot) Float32s(name string, shape ...int64) ([]float32, error) {
	return arrayOf(s, name, shape, Array.Float32s)
}

// Float64s is Float32s for F64.
func (s *Snapshot) Float64s(name string, shape ...int64) ([]float64, error) {
	return arrayOf(s, name, shape, Array.Float64s)
}

// Int64s is Float32s for I64.
func (s *Snapshot) Int64s(name string, shape ...int64) ([]int64, error) {
	return arrayOf(s, name, shape, Array.Int64s)
}

// Bytes is Float32s for U8.
func (s *Snapshot) Bytes(name string, shape ...int64) ([]byte, error) {
	return arrayOf(s, name, shape, Array.Bytes)
}

// Bools is Float32s for booleans.
func (s *Snapshot) Bools(name string, shape ...int64) ([]bool, error) {
	return arrayOf(s, name, shape, Array.Bools)
}

func arrayOf[T any](s *Snapshot, name string, shape []int64, read func(Array) ([]T, error)) ([]T, error) {
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

// Int returns the integer at a path through the maps of Values, e.g. Int("scheduler", "epoch"). A float without a
// fraction counts as one. Anything else, or nothing, is an error that names the path.
func (s *Snapshot) Int(path ...string) (int64, error) {
	v, err := s.Value(path...)
	if err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	}
	return 0, wrongType(path, v, "an integer")
}

// Float returns the number at a path through the maps of Values. Anything else, or nothing, is an error that names it.
func (s *Snapshot) Float(path ...string) (float64, error) {
	v, err := s.Value(path...)
	if err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case float64:
		return v, nil
	case float32:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case int:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	}
	return 0, wrongType(path, v, "a number")
}

// Text returns the string at a path through the maps of Values. Anything else, or nothing, is an error that names it.
func (s *Snapshot) Text(path ...string) (string, error) {
	v, err := s.Value(path...)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", wrongType(path, v, "a string")
	}
	return text, nil
}

// Value returns what stands at a path through the maps of Values, or an error that names the path.
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

func wrongType(path []string, v any, want string) error {
	return fmt.Errorf("checkpoint: value %q is %v (%T), want %s", strings.Join(path, "."), v, v, want)
}

// CheckFinite returns an error that names every F32 and F64 array with a NaN or an infinity in it, so that a run that
// has diverged does not overwrite the snapshots of when it had not.
func (s *Snapshot) CheckFinite() error {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
		finite, err := s.Arrays[name].finite()
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

// finite reports whether an array has no NaN and no infinity; an array of another type than F32 and F64 has none.
func (a Array) finite() (bool, error) {
	switch a.DType {
	case F32:
		v, err := a.Float32s()
		return allFinite(v), err
	case F64:
		v, err := a.Float64s()
		return allFinite(v), err
	}
	return true, nil
}

func allFinite[T float32 | float64](v []T) bool {
	return !slices.ContainsFunc(v, func(x T) bool { return x-x != 0 }) // NaN for NaN and infinities
}
