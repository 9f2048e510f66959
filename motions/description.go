package motions

import "fmt"

// Kind says what a column of a clip means, and thereby how the column is interpolated and looped.
type Kind uint8

const (
	// Linear is a number that is interpolated linearly: a height, a pitch angle, something unknown. One value.
	Linear Kind = iota
	// Travel is a position along the ground in metres. It is interpolated linearly, and each loop of a wrapping clip
	// starts where the previous loop ended. One value.
	Travel
	// Hinge is the angle of a joint with one axis, in radians. One value.
	Hinge
	// Rotation is a unit quaternion, w first: the root's orientation or a ball joint. Four values. Its velocity is an
	// angular velocity in rad/s, three values, in the frame of the rotation: the world for a root, the parent for a
	// joint.
	Rotation
)

var kindNames = []string{"linear", "travel", "hinge", "rotation"}

// Width returns the number of position values of a column of this kind: 4 for Rotation, otherwise 1.
func (k Kind) Width() int {
	if k == Rotation {
		return 4
	}
	return 1
}

// VelocityWidth returns the number of velocity values of a column of this kind: 3 for Rotation, otherwise 1.
func (k Kind) VelocityWidth() int {
	if k == Rotation {
		return 3
	}
	return 1
}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is one quantity of a clip.
type Column struct {
	// Name is unique in its description, for example "right_knee".
	Name string
	Kind Kind
}

// Description says what the values of a frame are, in order.
type Description struct {
	Columns []Column
	// RotationsWLast says that the frames from which a clip is made store quaternions as x, y, z, w. A clip itself
	// always has w first.
	RotationsWLast bool
}

// Width returns the number of position values of a frame.
func (d *Description) Width() int { return d.end().pos }

// VelocityWidth returns the number of velocity values of a frame.
func (d *Description) VelocityWidth() int { return d.end().vel }

// Find returns the index of the named column's first value in a row of positions and in a row of velocities. ok is
// false if there is no such column.
func (d *Description) Find(name string) (position, velocity int, ok bool) {
	for at, c := range d.each {
		if c.Name == name {
			return at.pos, at.vel, true
		}
	}
	return 0, 0, false
}

// place is the index of a column, of its first value in a row of positions, and of that in a row of velocities.
type place struct{ index, pos, vel int }

// end returns the numbers of columns and of values in rows of positions and of velocities.
func (d *Description) end() (n place) {
	for _, c := range d.Columns {
		n = place{n.index + 1, n.pos + c.Kind.Width(), n.vel + c.Kind.VelocityWidth()}
	}
	return n
}

// each visits the columns in order.
func (d *Description) each(yield func(at place, c Column) bool) {
	at := place{}
	for _, c := range d.Columns {
		if !yield(at, c) {
			return
		}
		at = place{at.index + 1, at.pos + c.Kind.Width(), at.vel + c.Kind.VelocityWidth()}
	}
}

// nameValue returns the name of the column of position value i, for errors.
func (d *Description) nameValue(i int) string {
	name := ""
	for at, c := range d.each {
		if at.pos <= i {
			name = c.Name
		}
	}
	return name
}

func (d *Description) check() error {
	seen := make(map[string]bool, len(d.Columns))
	for i, c := range d.Columns {
		switch {
		case c.Name == "":
			return fmt.Errorf("column %d has no name", i)
		case seen[c.Name]:
			return fmt.Errorf("two columns are named %q", c.Name)
		case c.Kind > Rotation:
			return fmt.Errorf("column %q has the unknown kind %d", c.Name, c.Kind)
		}
		seen[c.Name] = true
	}
	return nil
}

func (d *Description) clone() *Description {
	return &Description{Columns: append([]Column(nil), d.Columns...), RotationsWLast: d.RotationsWLast}
}

// add appends n columns NAME_0, NAME_1 and so on.
func (d *Description) add(name string, n int, kind Kind) {
	for i := range n {
		d.Columns = append(d.Columns, Column{fmt.Sprintf("%s_%d", name, i), kind})
	}
}

// addBodies appends the places of bodies, BODY/x, BODY/y and BODY/z for each, and then their rotations.
func (d *Description) addBodies(names []string) {
	for _, b := range names {
		d.Columns = append(d.Columns, Column{b + "/x", Travel}, Column{b + "/y", Travel}, Column{b + "/z", Linear})
	}
	for _, b := range names {
		d.Columns = append(d.Columns, Column{b + "/rotation", Rotation})
	}
}

// rawDescription describes n unknown values.
func rawDescription(n int) *Description {
	d := &Description{Columns: make([]Column, n)}
	for i := range d.Columns {
		d.Columns[i].Name = fmt.Sprintf("value %d", i)
	}
	return d
}

// rootRotation is the name of the root's orientation in every description of this package.
const rootRotation = "root_rotation"

// rootAndHinges describes a root and n hinges, which are named or else "joint_0" and so on.
func rootAndHinges(n int, names ...string) *Description {
	d := &Description{Columns: freeRoot()}
	d.add("joint", n, Hinge)
	for i, name := range names {
		d.Columns[4+i].Name = name
	}
	return d
}

// freeRoot returns the columns of a root's position and rotation, z up.
func freeRoot() []Column {
	return []Column{{"root_x", Travel}, {"root_y", Travel}, {"root_z", Linear}, {rootRotation, Rotation}}
}
