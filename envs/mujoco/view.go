package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"image/color"
	"unsafe"
)

// Shape describes a geom for drawing.
type Shape struct {
	// Kind is the name in MJCF: "plane", "sphere", "capsule", "ellipsoid", "cylinder", "box" or "mesh".
	Kind string
	// Size are MuJoCo's size parameters in metres. A sphere has its radius. A capsule or cylinder has its radius and
	// half its length along the geom's z. An ellipsoid or box has its half axes. A plane has half its sides in x and y,
	// where 0 means infinite.
	Size [3]float64
	// Color is premultiplied by its opacity A, as in image/color.
	Color color.RGBA
	// Vertices (V, 3) are the points of a mesh in metres. Faces (F, 3) are its triangles, as indices of vertices.
	// Shapes of the same mesh share these slices.
	Vertices []float32 `json:",omitempty"`
	Faces    []int32   `json:",omitempty"`
}

// kindWords are the names in MJCF of the geoms that [Env.Shapes] includes.
var kindWords = map[C.int]string{
	C.mjGEOM_PLANE: "plane", C.mjGEOM_SPHERE: "sphere", C.mjGEOM_CAPSULE: "capsule", C.mjGEOM_ELLIPSOID: "ellipsoid",
	C.mjGEOM_CYLINDER: "cylinder", C.mjGEOM_BOX: "box", C.mjGEOM_MESH: "mesh",
}

// visible reports whether [Env.Shapes] includes the geom. Poses uses the same test, so that both have the same order.
func (s *shape) visible() bool { return s.Kind != "" && s.Color.A > 0 }

// Shapes returns the visible geoms in the order of [Env.Poses]. The shapes are the same for every environment and never
// change. The slices of meshes must not be written.
func (e *Env) Shapes() ([]Shape, error) {
	d, err := e.viewed(0)
	if err != nil {
		return nil, err
	}
	var out []Shape
	for i := range d.shapes {
		if s := &d.shapes[i]; s.visible() {
			out = append(out, s.Shape)
		}
	}
	return out, nil
}

// Poses appends the pose of each of [Env.Shapes] in environment i to dst. A pose has seven numbers: the centre x, y, z
// in metres and the rotation as a unit quaternion w, x, y, z.
func (e *Env) Poses(i int, dst []float32) ([]float32, error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, err
	}
	return d.poses(e.batch.data[i], dst), nil
}

// ReferencePoses appends the pose of each shape, as [Env.Poses] does, for the motion with which environment i is
// compared. ok is false if the task has no such motion, see [ReferenceTask].
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

// Contacts appends the positions of the contacts in environment i to dst, with the ground or between geoms: x, y, z in
// the world, in metres.
func (e *Env) Contacts(i int, dst []float32) ([]float32, error) {
	if err := e.has(i); err != nil {
		return nil, err
	}
	for _, c := range contacts(e.batch.data[i]) {
		dst = append(dst, float32(c.pos[0]), float32(c.pos[1]), float32(c.pos[2]))
	}
	return dst, nil
}

// contacts returns the contacts of a simulation's last time step. The slice is C memory, valid until the next step.
func contacts(data *C.mjData) []C.mjContact { return unsafe.Slice(data.contact, int(data.ncon)) }

// follow sets the drawing's own simulation to the motion with which the environment of s is compared. It returns false
// if the task has no such motion.
func (d *drawing) follow(task Task, s *State) (bool, error) {
	t, ok := task.(ReferenceTask)
	if !ok || !t.ReferencePose(s, d.pose.QPos(0)) {
		return false, nil
	}
	return true, d.pose.forward(0, 0, 1)
}

// has returns an error if the environment is closed or has no environment i.
func (e *Env) has(i int) error {
	if e.batch.c == nil {
		return errClosed
	}
	if i < 0 || i >= len(e.states) {
		return fmt.Errorf("mujoco: environment %d of %d", i, len(e.states))
	}
	return nil
}

// viewed checks the index i and returns the drawing, which all environments share. The first call makes it.
func (e *Env) viewed(i int) (*drawing, error) {
	if err := e.has(i); err != nil {
		return nil, err
	}
	if e.drawing == nil {
		d, err := newDrawing(e.model, e.cfg.Render)
		if err != nil {
			return nil, err
		}
		if e.random != nil {
			d.scene.terrain = e.random.terrain
		}
		e.drawing = d
	}
	return e.drawing, nil
}

// poses appends the poses of the visible shapes in data, see [Env.Poses].
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
