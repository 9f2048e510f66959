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

// visible reports whether [Env.Shapes] includes the geom. Look uses the same test, so that both have the same order.
func (s *shape) visible() bool { return s.Kind != "" && s.Color.A > 0 }

// Shapes returns the visible geoms in the order of [Look]. The shapes are the same for every environment and never
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

// Look is what a viewer draws of an environment.
type Look struct {
	// Poses are those of [Env.Shapes]. A pose has seven numbers: the centre x, y, z in metres and the rotation as a
	// unit quaternion w, x, y, z.
	Poses []float32
	// Reference are the poses in the motion with which the environment is compared. It is nil if the task has no such
	// motion, see [ReferenceTask].
	Reference []float32
	// Contacts are the positions of the contacts with the ground or between geoms: x, y, z in the world, in metres.
	Contacts []float32
}

// Look returns what a viewer draws of environment i.
func (e *Env) Look(i int) (Look, error) {
	d, err := e.viewed(i)
	if err != nil {
		return Look{}, err
	}
	data := e.batch.data[i]
	l := Look{Poses: d.poses(data)}
	for _, c := range contacts(data) {
		l.Contacts = append(l.Contacts, float32(c.pos[0]), float32(c.pos[1]), float32(c.pos[2]))
	}
	ok, err := d.follow(e.task, &e.states[i])
	if ok {
		l.Reference = d.poses(d.pose.data[0])
	}
	return l, err
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

// poses returns the poses of the visible shapes in data.
func (d *drawing) poses(data *C.mjData) (dst []float32) {
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
