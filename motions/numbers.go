package motions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/npz"
)

// npzNumbers are the arrays of a file that is being read. It keeps its first error, after which arrays are empty.
type npzNumbers struct {
	file   *npz.File
	arrays map[string]array
	err    error
}

func (m *npzNumbers) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// numbersOf turns every numeric array of a file into float64, whatever it is for.
func numbersOf(file *npz.File) *npzNumbers {
	m := &npzNumbers{file: file, arrays: make(map[string]array)}
	for name, a := range file.Arrays {
		values, err := a.Float64s()
		if err != nil {
			integers, notInteger := a.Int64s()
			if notInteger != nil {
				continue // names, or truth values
			}
			for _, x := range integers {
				values = append(values, float64(x))
			}
		}
		m.arrays[name] = array{shape: a.Shape, values: values}
	}
	return m
}

// numbers returns an array of numbers, an empty one where there is none.
func (m *npzNumbers) numbers(name string) array {
	a, ok := m.arrays[name]
	if !ok {
		m.missing(name)
	}
	return a
}

func (m *npzNumbers) missing(name string) {
	if _, ok := m.file.Arrays[name]; ok {
		m.fail("array %s holds no numbers", name)
		return
	}
	m.fail("missing array %s; there are %s", name, strings.Join(m.file.Names(), ", "))
}

// step is the time between frames.
func (m *npzNumbers) step() float64 {
	fps := m.numbers("fps")
	if len(fps.values) != 1 {
		m.fail("fps has shape %v, want a single number", fps.shape)
		return 0
	}
	step := 1 / fps.values[0]
	if !(step > 0) || !finite(step) {
		m.fail("fps must be positive and finite, and is %g", fps.values[0])
	}
	return step
}

func (m *npzNumbers) names(key string) []string {
	a, ok := m.file.Arrays[key]
	if !ok {
		m.missing(key)
		return nil
	}
	if len(a.Shape) != 1 || a.Len() == 0 {
		m.fail("%s has shape %v, want a list of names", key, a.Shape)
	}
	names, err := a.Strings()
	if err != nil {
		m.fail("%s must hold strings, and has dtype %s", key, a.DType)
	}
	return names
}

// floats returns an array of Isaac Lab's that must have a shape and hold finite numbers.
func (m *npzNumbers) floats(name string, shape []int, dofs, bodies []string) []float64 {
	a := m.numbers(name)
	if !slices.Equal(a.shape, shape) {
		m.fail("%s has shape %v, want %v (%d dof_names, %d body_names)", name, a.shape, shape, len(dofs), len(bodies))
		return nil
	}
	if i := slices.IndexFunc(a.values, infinite); i >= 0 {
		w := len(a.values) / shape[0]
		owner := dofs
		if len(shape) == 3 {
			owner = bodies
		}
		m.fail("frame %d: %s of %s is %g, not a finite number", i/w, name, owner[i%w/(w/len(owner))], a.values[i])
	}
	return a.values
}
