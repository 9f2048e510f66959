package motions

import (
	"io"

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
func LoadIsaacLab(path string) (*Clip, error) { return loadNpz(path, isaacClip) }

// ReadIsaacLab is [LoadIsaacLab] for a file of size bytes that is open already. The name is the clip's, and
// errors begin with it.
func ReadIsaacLab(r io.ReaderAt, size int64, name string) (*Clip, error) {
	return readNpz(r, size, name, isaacClip)
}

func isaacClip(file *npz.File, name string) (*Clip, error) {
	m := numbersOf(file)
	step, dofs, bodies := m.step(), m.names("dof_names"), m.names("body_names")
	shape := m.numbers("dof_positions").shape
	if len(shape) != 2 || shape[0] == 0 {
		m.fail("dof_positions has shape %v, want (frames, %d)", shape, len(dofs))
	}
	if m.err != nil {
		return nil, m.err
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
		return nil, m.err
	}
	frames := isaacFrames{dofs: dofs, bodies: bodies, step: step}
	for k := range n {
		frames.positions = append(frames.positions, row(k, n, parts[:3]))
		frames.velocities = append(frames.velocities, row(k, n, parts[3:]))
	}
	// Before frames are left out, so that an error names the frame by its number in the file.
	if _, err := frames.clip(name, true); err != nil {
		return nil, err
	}
	c, err := frames.repaired(name)
	if err != nil {
		return nil, err
	}
	c.arrays = m.arrays
	return c, nil
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
