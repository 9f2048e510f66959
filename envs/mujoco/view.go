package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"image/color"
	"unsafe"
)

// Shape is a geom as one who draws it needs it.
type Shape struct {
	// Kind is MJCF's word: "plane", "sphere", "capsule", "ellipsoid", "cylinder", "box" or "mesh".
	Kind string
	// Size are MuJoCo's numbers in metres: the radius of a sphere; radius and half the length, along the geom's z, of a
	// capsule or cylinder; the half axes of an ellipsoid or box; half the sides of a plane in x and y, 0 for infinite.
	Size [3]float64
	// Color is multiplied by its opacity A, as image/color has it.
	Color color.RGBA
	// Vertices are those of a mesh, (3) each in metres, and Faces three of their indices a triangle.
	Vertices []float32 `json:",omitempty"`
	Faces    []int32   `json:",omitempty"`
}

// kindWords are MJCF's words for what can be drawn.
var kindWords = map[C.int]string{
	C.mjGEOM_PLANE: "plane", C.mjGEOM_SPHERE: "sphere", C.mjGEOM_CAPSULE: "capsule", C.mjGEOM_ELLIPSOID: "ellipsoid",
	C.mjGEOM_CYLINDER: "cylinder", C.mjGEOM_BOX: "box", C.mjGEOM_MESH: "mesh",
}

// visible reports whether a geom is one of [Env.Shapes].
func (s *shape) visible() bool { return kindWords[s.kind] != "" && s.color.A > 0 }

// Shapes returns the visible geoms in the order of [Env.Poses]. They are the same for every environment and do not
// change; the slices of meshes must not be written.
func (e *Env) Shapes() ([]Shape, error) {
	d, err := e.viewed(0)
	if err != nil {
		return nil, err
	}
	var out []Shape
	for i := range d.shapes {
		if s := &d.shapes[i]; s.visible() {
			out = append(out, Shape{Kind: kindWords[s.kind], Size: s.size, Color: s.color, Vertices: s.vertices,
				Faces: s.faces})
		}
	}
	return out, nil
}

// Poses appends where each of [Env.Shapes] is in environment i: seven numbers, the centre x, y, z in metres and the
// rotation as a unit quaternion w, x, y, z.
func (e *Env) Poses(i int, dst []float32) ([]float32, error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, err
	}
	return d.poses(e.batch.data[i], dst), nil
}

// ReferencePoses appends, as [Env.Poses] does, where each shape would be if environment i stood as the motion that it
// is compared with. ok is false where the task has none, see [ReferenceTask].
func (e *Env) ReferencePoses(i int, dst []float32) (poses []float32, ok bool, err error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, false, err
	}
	if ok, err := d.follow(e.task, &e.states[i]); err != nil || !ok {
		return dst, false, err
	}
	return d.poses(d.pose.data[0], dst), true, nil
}

// Contacts appends the places in the world where geoms of environment i touch the ground or each other: x, y, z in
// metres each.
func (e *Env) Contacts(i int, dst []float32) ([]float32, error) {
	if err := e.has(i); err != nil {
		return nil, err
	}
	for _, c := range contacts(e.batch.data[i]) {
		dst = append(dst, float32(c.pos[0]), float32(c.pos[1]), float32(c.pos[2]))
	}
	return dst, nil
}

// contacts are those of a simulation's last time step.
func contacts(data *C.mjData) []C.mjContact { return unsafe.Slice(data.contact, int(data.ncon)) }

// follow puts the drawing's own simulation where the motion is that an environment is compared with. It returns false
// if the task has none.
func (d *drawing) follow(task Task, s *State) (bool, error) {
	t, ok := task.(ReferenceTask)
	if !ok || !t.ReferencePose(s, d.pose.QPos(0)) {
		return false, nil
	}
	return true, d.pose.forward(0, 1)
}

// has checks an environment's number.
func (e *Env) has(i int) error {
	if e.batch.c == nil {
		return errClosed
	}
	if i < 0 || i >= len(e.states) {
		return fmt.Errorf("mujoco: environment %d of %d", i, len(e.states))
	}
	return nil
}

// viewed checks an environment's number and returns the drawing that all share.
func (e *Env) viewed(i int) (*drawing, error) {
	if err := e.has(i); err != nil {
		return nil, err
	}
	if e.drawing == nil {
		d, err := newDrawing(e.model, e.cfg.Render)
		if err != nil {
			return nil, err
		}
		e.drawing = d
	}
	return e.drawing, nil
}

func (d *drawing) poses(data *C.mjData, dst []float32) []float32 {
	n := len(d.shapes)
	pos, mat := floats(data.geom_xpos, 3*n), unsafe.Slice(data.geom_xmat, 9*n)
	for g := range d.shapes {
		if !d.shapes[g].visible() {
			continue
		}
		var q [4]C.mjtNum
		C.mju_mat2Quat(&q[0], &mat[9*g])
		for _, v := range pos[3*g : 3*g+3] {
			dst = append(dst, float32(v))
		}
		for _, v := range q {
			dst = append(dst, float32(v))
		}
	}
	return dst
}
