package motions

import (
	"fmt"
	"math"
)

// guess returns the description of a well-known skeleton whose frames have this many values, or nil. A
// frame of the same length in which a rotation could be none (its four numbers are neither of length one nor
// all zero, which is a damaged rotation) belongs to another skeleton.
func guess(frame []float64, quadruped bool) *Description {
	var d *Description
	switch {
	case len(frame) == 43:
		d = humanoid3D()
	case quadruped && (len(frame) == 19 || len(frame) == 61):
		d = quadrupedDescription(len(frame))
	default:
		return nil
	}
	for at, col := range d.all {
		if col.Kind == Rotation {
			q := quatOf(frame[at:])
			if n := math.Sqrt(q.dot(q)); n > 1e-3 && math.Abs(n-1) > 0.1 {
				return nil
			}
		}
	}
	return d
}

// humanoid3D is DeepMimic's humanoid: y is up.
func humanoid3D() *Description {
	d := &Description{Columns: []Column{{"root_x", Travel}, {"root_y", Linear}, {"root_z", Travel},
		{rootRotation, Rotation}, {"chest", Rotation}, {"neck", Rotation}}}
	for _, side := range []string{"right_", "left_"} {
		d.Columns = append(d.Columns, Column{side + "hip", Rotation}, Column{side + "knee", Hinge},
			Column{side + "ankle", Rotation},
			Column{side + "shoulder", Rotation}, Column{side + "elbow", Hinge})
	}
	return d
}

// quadrupedDescription is the twelve-joint quadruped of the LoopMode files: z is up, quaternions have w
// last. The long form adds the feet's positions and the velocities of everything.
func quadrupedDescription(width int) *Description {
	d := &Description{RotationsWLast: true, Columns: freeRoot()}
	add := func(name string, n int, kind Kind) {
		for i := range n {
			d.Columns = append(d.Columns, Column{fmt.Sprintf("%s_%d", name, i), kind})
		}
	}
	d.hinges(12)
	if width == 61 {
		add("foot_position", 12, Linear)
		add("root_linear_velocity", 3, Linear)
		add("root_angular_velocity", 3, Linear)
		add("joint_velocity", 12, Linear)
		add("foot_velocity", 12, Linear)
	}
	return d
}

// freeRoot is where a root is and how it is turned: z is up.
func freeRoot() []Column {
	return []Column{{"root_x", Travel}, {"root_y", Travel}, {"root_z", Linear}, {rootRotation, Rotation}}
}

// hinges appends n hinges "joint_0" and so on, for files that name none.
func (d *Description) hinges(n int) {
	for i := range n {
		d.Columns = append(d.Columns, Column{fmt.Sprintf("joint_%d", i), Hinge})
	}
}
