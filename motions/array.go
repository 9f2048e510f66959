package motions

import (
	"maps"
	"slices"
)

// array is a named array of the file that a clip was read from.
type array struct {
	shape  []int
	values []float64
}

// Array returns the values (row-major) and the shape of a named array of the file that the clip was
// read from, "body_positions" of an Isaac Lab clip for instance; ok is false where there is none. The
// values belong to the clip: read them only.
func (c *Clip) Array(name string) (values []float64, shape []int, ok bool) {
	a, ok := c.arrays[name]
	return a.values, append([]int(nil), a.shape...), ok
}

// ArrayNames returns the names that [Clip.Array] knows, sorted.
func (c *Clip) ArrayNames() []string { return slices.Sorted(maps.Keys(c.arrays)) }

// Joints returns the names of the described joints in order: hinges, and rotations that are neither the
// root's nor a body's.
func (c *Clip) Joints() []string {
	if !c.described {
		return nil
	}
	skip := map[string]bool{rootRotation: true}
	for _, b := range c.bodies {
		skip[b+"/rotation"] = true
	}
	var names []string
	for _, col := range c.description.Columns {
		if (col.Kind == Hinge || col.Kind == Rotation) && !skip[col.Name] {
			names = append(names, col.Name)
		}
	}
	return names
}

// Bodies returns the names of the bodies whose positions and rotations the clip holds; nil for clips
// that hold joints only.
func (c *Clip) Bodies() []string { return append([]string(nil), c.bodies...) }

// rootRotation is the name of the root's orientation in every description of this package.
const rootRotation = "root_rotation"
