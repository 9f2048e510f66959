package motions

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/npz"
)

// LoadIsaacLab reads an Isaac Lab motion file (npz). It must hold fps, dof_names (D), body_names (B) and,
// over N frames, dof_positions and dof_velocities (N, D), body_positions, body_linear_velocities and
// body_angular_velocities (N, B, 3) and body_rotations (N, B, 4; w first).
//
// The columns are the D degrees of freedom (hinges, by their names), then "body/x", "body/y", "body/z" for each
// body, then "body/rotation" for each body. The clip does not loop and is named after the file.
//
// Isaac Lab's own clips are repaired, and [Clip.Repairs] says how: frames that only repeat the one before are left out
// (their 60 frames a second are 30), exponential maps in the joints' columns become hinge angles, velocities that are
// not the positions' become their differences, and its humanoid is put on the floor. A file without these faults keeps
// its numbers, its own velocities among them, and lasts (N − 1)/fps seconds. [Clip.Array] has every array as it is in
// the file.
func LoadIsaacLab(path string) (*Clip, error) {
	file, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("motions: %w", err)
	}
	return isaacLab(file, clipName(path), path)
}

// ReadIsaacLab is [LoadIsaacLab] for a file of size bytes that is open already. The name is the clip's, and
// errors begin with it.
func ReadIsaacLab(r io.ReaderAt, size int64, name string) (*Clip, error) {
	file, err := npz.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(name), err)
	}
	return isaacLab(file, name, nameOr(name))
}

func isaacLab(file *npz.File, name, origin string) (*Clip, error) {
	m := isaacMotion{file: file, repair: true, arrays: make(map[string]array)}
	m.convert()
	c := m.clip(name)
	if m.err != nil {
		return nil, fmt.Errorf("motions: %s: %w", origin, m.err)
	}
	return c, nil
}

// isaacMotion is a file that is being read. It keeps its first error, after which arrays are empty.
type isaacMotion struct {
	file   *npz.File
	repair bool
	arrays map[string]array
	err    error
}

func (m *isaacMotion) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

func (m *isaacMotion) clip(name string) *Clip {
	step, dofs, bodies := m.step(), m.names("dof_names"), m.names("body_names")
	shape := m.numbers("dof_positions").shape
	if len(shape) != 2 || shape[0] == 0 {
		m.fail("dof_positions has shape %v, want (frames, %d)", shape, len(dofs))
	}
	if m.err != nil {
		return nil
	}
	n, d, b := shape[0], len(dofs), len(bodies)
	var parts [6][]float64
	for i, want := range []struct {
		name  string
		shape []int
	}{
		{"dof_positions", []int{n, d}}, {"body_positions", []int{n, b, 3}}, {"body_rotations", []int{n, b, 4}},
		{"dof_velocities", []int{n, d}}, {"body_linear_velocities", []int{n, b, 3}},
		{"body_angular_velocities", []int{n, b, 3}},
	} {
		parts[i] = m.floats(want.name, want.shape, dofs, bodies)
	}
	if m.err != nil {
		return nil
	}
	frames := isaacFrames{dofs: dofs, bodies: bodies, step: step}
	for k := range n {
		frames.positions = append(frames.positions, row(k, n, parts[:3]))
		frames.velocities = append(frames.velocities, row(k, n, parts[3:]))
	}
	c, err := frames.clip(name, true)
	if err == nil && m.repair {
		c, err = frames.repaired(name)
	}
	if err != nil {
		m.err = err
		return nil
	}
	c.arrays = m.arrays
	return c
}

// row joins frame k of several arrays of n frames.
func row(k, n int, parts [][]float64) []float64 {
	var out []float64
	for _, p := range parts {
		w := len(p) / n
		out = append(out, p[k*w:(k+1)*w]...)
	}
	return out
}

func isaacDescription(dofs, bodies []string) *Description {
	d := &Description{}
	for _, name := range dofs {
		d.Columns = append(d.Columns, Column{name, Hinge})
	}
	for _, b := range bodies {
		d.Columns = append(d.Columns, Column{b + "/x", Travel}, Column{b + "/y", Travel}, Column{b + "/z", Linear})
	}
	for _, b := range bodies {
		d.Columns = append(d.Columns, Column{b + "/rotation", Rotation})
	}
	return d
}

// convert turns every numeric array into float64, whatever it is for.
func (m *isaacMotion) convert() {
	for name, a := range m.file.Arrays {
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
}

// numbers returns an array of numbers, an empty one where there is none.
func (m *isaacMotion) numbers(name string) array {
	a, ok := m.arrays[name]
	if !ok {
		m.missing(name)
	}
	return a
}

func (m *isaacMotion) missing(name string) {
	if _, ok := m.file.Arrays[name]; ok {
		m.fail("array %s holds no numbers", name)
		return
	}
	m.fail("missing array %s; there are %s", name, strings.Join(m.file.Names(), ", "))
}

// step is the time between frames.
func (m *isaacMotion) step() float64 {
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

func (m *isaacMotion) names(key string) []string {
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

// floats returns an array that must have a shape and hold finite numbers.
func (m *isaacMotion) floats(name string, shape []int, dofs, bodies []string) []float64 {
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
