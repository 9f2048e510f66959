package motions

import "fmt"

// Kind says what a column of a clip means, and with it how it is interpolated and looped.
type Kind uint8

const (
	// Linear is any number interpolated linearly: a height, a pitch angle, something unknown. One value.
	Linear Kind = iota
	// Travel is a position along the ground, in metres. It is interpolated linearly, and every loop of a
	// wrapping clip starts where the last one ended. One value.
	Travel
	// Hinge is the angle of a joint with one axis, in radians. One value.
	Hinge
	// Rotation is a unit quaternion, w first: the root's orientation or a spherical joint. Four values;
	// its velocity is an angular velocity in rad/s, three values, in the frame that the rotation is
	// expressed in (the world for a root, the parent for a joint).
	Rotation
)

// Width is the number of position values of a column of this kind: 4 for Rotation, otherwise 1.
func (k Kind) Width() int {
	if k == Rotation {
		return 4
	}
	return 1
}

// VelocityWidth is the number of velocity values of a column of this kind: 3 for Rotation, otherwise 1.
func (k Kind) VelocityWidth() int {
	if k == Rotation {
		return 3
	}
	return 1
}

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Linear:
		return "linear"
	case Travel:
		return "travel"
	case Hinge:
		return "hinge"
	case Rotation:
		return "rotation"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is one described quantity of a clip.
type Column struct {
	// Name is unique in its description, "right_knee" for instance.
	Name string
	Kind Kind
}

// Description says what the values of a frame are, in order.
type Description struct {
	Columns []Column
	// RotationsWLast says that a file which this description is used to read stores quaternions as
	// x, y, z, w. A clip always holds w first.
	RotationsWLast bool
}

// Width is the number of position values of a frame.
func (d *Description) Width() int {
	n := 0
	for _, c := range d.Columns {
		n += c.Kind.Width()
	}
	return n
}

// VelocityWidth is the number of velocity values of a frame.
func (d *Description) VelocityWidth() int {
	n := 0
	for _, c := range d.Columns {
		n += c.Kind.VelocityWidth()
	}
	return n
}

// Find returns where the named column's values begin in a frame's positions and in its velocities;
// ok is false where there is no such column.
func (d *Description) Find(name string) (position, velocity int, ok bool) {
	for _, c := range d.Columns {
		if c.Name == name {
			return position, velocity, true
		}
		position += c.Kind.Width()
		velocity += c.Kind.VelocityWidth()
	}
	return 0, 0, false
}

// all visits the columns with the index of their first position value.
func (d *Description) all(yield func(at int, c Column) bool) {
	at := 0
	for _, c := range d.Columns {
		if !yield(at, c) {
			return
		}
		at += c.Kind.Width()
	}
}

// field names the position value at index i, for errors.
func (d *Description) field(i int) string {
	for at, c := range d.all {
		switch {
		case i >= at+c.Kind.Width():
			continue
		case c.Kind != Rotation:
			return c.Name
		}
		order := "wxyz"
		if d.RotationsWLast {
			order = "xyzw"
		}
		return c.Name + "." + order[i-at:i-at+1]
	}
	return fmt.Sprintf("value %d", i)
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

// rawDescription describes n values of which nothing is known.
func rawDescription(n int) *Description {
	d := &Description{Columns: make([]Column, n)}
	for i := range d.Columns {
		d.Columns[i].Name = fmt.Sprintf("value %d", i)
	}
	return d
}
