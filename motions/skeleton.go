package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// Skeleton is a tree of bodies whose root moves freely. It gives a clip's rows a meaning in space. z is up and the
// character faces x in the zero pose. Lengths are in metres, angles in radians.
//
// A row of positions is MuJoCo's qpos of the same tree: the root's position (3) and rotation (4, w first), then every
// joint of every body in order, one value for a hinge and a quaternion for a ball joint.
type Skeleton struct {
	Name string
	// Bodies come after their parents. The first body is the root.
	Bodies []Body
}

// Body is a rigid part of a [Skeleton].
type Body struct {
	Name string
	// Parent is the index of the parent. It is -1 for the root.
	Parent int
	// Offset is the position of the body's origin in its parent's frame. It is unused for the root.
	Offset [3]float64
	// Orientation is the rotation of the body against its parent in the zero pose, w first. All zero means none. It is
	// unused for the root.
	Orientation [4]float64
	// Joints turn the body against its parent about the body's origin: the first joint's rotation times the second's,
	// and so on, as in MuJoCo. A body without joints is fixed to its parent. The root has no joints.
	Joints []Joint
	// Contacts are the balls that touch the floor when the body stands, for example the corners of a sole. Bodies with
	// contacts are feet.
	Contacts []Contact
	// Capsules are the parts of the body that may not enter those of other bodies.
	Capsules []Capsule
}

// Joint turns a body against its parent.
type Joint struct {
	Name string
	// Kind is [Hinge], a turn about Axis, or [Rotation], a ball joint.
	Kind Kind
	// Axis is the unit axis of a hinge in the body's frame.
	Axis [3]float64
	// Lower and Upper are the limits of a hinge in radians. Both zero: no limits.
	Lower, Upper float64
}

// Contact is a ball fixed to a body.
type Contact struct {
	// At is the ball's centre in the body's frame.
	At [3]float64
	// Radius is in metres. Zero makes the ball a point.
	Radius float64
}

// Capsule is what lies within Radius metres of the line between two points of a body's frame.
type Capsule struct {
	From, To [3]float64
	Radius   float64
}

// Width returns the number of positions of a row: 7 for the root, 1 for a hinge, 4 for a ball joint.
func (s *Skeleton) Width() int { return s.description().Width() }

// Joints returns all joints in the order of a row.
func (s *Skeleton) Joints() []Joint {
	var all []Joint
	for _, b := range s.Bodies {
		all = append(all, b.Joints...)
	}
	return all
}

// Body returns the index of the named body, or -1 if there is no such body.
func (s *Skeleton) Body(name string) int {
	return slices.IndexFunc(s.Bodies, func(b Body) bool { return b.Name == name })
}

// Forward computes the poses of the bodies in the world for a row of positions: their origins (3 values a body) and
// orientations (4 values a body, w first). Either result may be nil. Forward panics if a slice has another length. It
// does not allocate if both results are given.
func (s *Skeleton) Forward(row, positions, rotations []float64) {
	n := len(s.Bodies)
	if positions == nil {
		positions = make([]float64, 3*n)
	}
	if rotations == nil {
		rotations = make([]float64, 4*n)
	}
	if len(positions) != 3*n || len(rotations) != 4*n || len(row) < 7 {
		panic("motions: Skeleton.Forward: want rows of the skeleton's width, 3 and 4 values a body")
	}
	at := 7
	for i := range s.Bodies {
		b := &s.Bodies[i]
		p, q := positions[3*i:3*i+3], rotation.Quat{}
		if b.Parent < 0 {
			copy(p, row[:3])
			q = rotation.Of(row[3:])
		} else {
			q = rotation.Of(rotations[4*b.Parent:])
			o := q.Rotate(b.Offset)
			for k := range p {
				p[k] = positions[3*b.Parent+k] + o[k]
			}
			if b.Orientation != [4]float64{} {
				q = q.Mul(b.Orientation)
			}
		}
		for j := range b.Joints {
			joint := &b.Joints[j]
			q = q.Mul(joint.rotation(row[at:]))
			at += joint.Kind.Width()
		}
		copy(rotations[4*i:], q[:])
	}
	if at != len(row) {
		panic("motions: Skeleton.Forward: the row is not as wide as the skeleton's")
	}
}

// rotation returns the joint's turn at the values that begin a slice.
func (j *Joint) rotation(values []float64) rotation.Quat {
	if j.Kind == Rotation {
		return rotation.Of(values)
	}
	return rotation.About(j.Axis, values[0])
}

// limited reports whether a hinge has limits.
func (j *Joint) limited() bool { return j.Kind == Hinge && (j.Lower != 0 || j.Upper != 0) }

// rotation returns the turn of all joints of the body against its parent.
func (b *Body) rotation(values []float64) rotation.Quat {
	q := rotation.Quat{1, 0, 0, 0}
	for i := range b.Joints {
		q = q.Mul(b.Joints[i].rotation(values))
		values = values[b.Joints[i].Kind.Width():]
	}
	return q
}

// description returns the columns of a row.
func (s *Skeleton) description() *Description {
	d := &Description{Columns: freeRoot()}
	for _, j := range s.Joints() {
		d.Columns = append(d.Columns, Column{j.Name, j.Kind})
	}
	return d
}

// zero returns the row of the zero pose, upright at the origin.
func (s *Skeleton) zero() []float64 {
	row := make([]float64, s.Width())
	for at, col := range s.description().each {
		if col.Kind == Rotation {
			row[at.pos] = 1
		}
	}
	return row
}

func (s *Skeleton) check() error {
	if len(s.Bodies) == 0 {
		return errors.New("the skeleton has no bodies")
	}
	names := map[string]bool{}
	for i, b := range s.Bodies {
		switch {
		case b.Name == "" || names[b.Name]:
			return fmt.Errorf("body %d of the skeleton: the name %q is empty or there twice", i, b.Name)
		case (i == 0) != (b.Parent == -1) || b.Parent >= i || b.Parent < -1:
			return fmt.Errorf("body %s: Parent must be -1 for the first body and an earlier body for the others, and "+
				"is %d", b.Name, b.Parent)
		case i == 0 && len(b.Joints) > 0:
			return fmt.Errorf("body %s: the root moves freely, so it has no joints of its own", b.Name)
		}
		names[b.Name] = true
		if q := rotation.Quat(b.Orientation); q != (rotation.Quat{}) && !(math.Abs(q.Dot(q)-1) < 1e-6) {
			return fmt.Errorf("body %s: Orientation must have length 1 or be all zero, and is %g", b.Name, q)
		}
		for _, j := range b.Joints {
			if j.Kind != Hinge && j.Kind != Rotation {
				return fmt.Errorf("joint %s: Kind must be Hinge or Rotation, and is %s", j.Name, j.Kind)
			}
			if n := norm(j.Axis); j.Kind == Hinge && !(math.Abs(n-1) < 1e-6) {
				return fmt.Errorf("joint %s: Axis must have length 1, and has %g", j.Name, n)
			}
			if j.Lower > j.Upper {
				return fmt.Errorf("joint %s: Lower (%g) is above Upper (%g)", j.Name, j.Lower, j.Upper)
			}
		}
	}
	return s.description().check()
}

func (s *Skeleton) clone() *Skeleton {
	other := &Skeleton{Name: s.Name, Bodies: slices.Clone(s.Bodies)}
	for i, b := range other.Bodies {
		other.Bodies[i].Joints = slices.Clone(b.Joints)
		other.Bodies[i].Contacts = slices.Clone(b.Contacts)
		other.Bodies[i].Capsules = slices.Clone(b.Capsules)
	}
	return other
}
