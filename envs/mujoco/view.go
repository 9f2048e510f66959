package mujoco

/*
#include "engine.h"

// gm_push changes the velocities of simulation i by an impulse (3, N·s, in the world) at the centre of mass of a body:
// by M⁻¹ Jᵀ p. work has room for nv numbers. It returns -1, or i where MuJoCo raised an error.
int gm_push(gm_batch* b, int i, int body, const double* impulse, double* work, char* message);
*/
import "C"

import (
	"fmt"
	"image/color"
	"math"
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
	if e.batch.c == nil {
		return nil, errClosed
	}
	d, err := e.draw()
	if err != nil {
		return nil, err
	}
	var out []Shape
	for i := range d.shapes {
		if s := &d.shapes[i]; s.visible() {
			out = append(out, Shape{Kind: kindWords[s.kind], Size: s.size, Color: s.color, Vertices: s.vertices, Faces: s.faces})
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

// ReferencePoses appends, as [Env.Poses] does, where each shape would be if environment i stood as the motion that it is
// compared with. ok is false where the task has none, see [ReferenceTask].
func (e *Env) ReferencePoses(i int, dst []float32) (poses []float32, ok bool, err error) {
	d, err := e.viewed(i)
	if err != nil {
		return nil, false, err
	}
	t, ok := e.task.(ReferenceTask)
	if !ok || !t.ReferencePose(&e.states[i], d.pose.QPos(0)) {
		return dst, false, nil
	}
	if err := d.pose.forward(0, 1); err != nil {
		return nil, false, err
	}
	return d.poses(d.pose.data[0], dst), true, nil
}

// viewed checks an environment's number and returns the drawing that all share.
func (e *Env) viewed(i int) (*drawing, error) {
	if e.batch.c == nil {
		return nil, errClosed
	}
	if i < 0 || i >= len(e.states) {
		return nil, fmt.Errorf("mujoco: environment %d of %d", i, len(e.states))
	}
	return e.draw()
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

// Push gives a body of environment i an impulse in N·s, x, y and z in the world, at its centre of mass: the velocities of
// the whole model change at once as the masses and joints that hang on it demand (by M⁻¹Jᵀp, the limit of a short force),
// and contacts answer in the next step. Nothing of it stays on. What the policy sees next is from before the push. The
// root of a character is body 1. Numbers that are not finite and bodies that do not exist are errors, and nothing
// happens.
func (e *Env) Push(i, body int, impulse [3]float64) error {
	if _, err := e.viewed(i); err != nil {
		return err
	}
	if body < 1 || body >= e.model.NumBodies() {
		return fmt.Errorf("mujoco: a push of body %d; the model has the bodies 1 to %d", body, e.model.NumBodies()-1)
	}
	for _, v := range impulse {
		if v-v != 0 {
			return fmt.Errorf("mujoco: a push of %g N·s; it must be finite", impulse)
		}
	}
	if !e.started {
		return fmt.Errorf("mujoco: Reset before a push")
	}
	work := make([]C.double, e.model.NV())
	p := [3]C.double{C.double(impulse[0]), C.double(impulse[1]), C.double(impulse[2])}
	failed := C.gm_push(e.batch.c, C.int(i), C.int(body), &p[0], &work[0], e.batch.message[0])
	if err := e.batch.failure("push", 0, int(failed)); err != nil {
		return err
	}
	return e.batch.forward(i, i+1)
}

// Mass is the mass of the whole model in kg.
func (m *Model) Mass() float64 { return float64(*m.m.body_subtreemass) }

// Commanded is the direction and speed that a character shall move in, see the task [Command].
type Commanded struct {
	// Direction is an angle in radians about the vertical, in the world: 0 is along x, π/2 along y.
	Direction float64
	// Speed is in m/s. MinSpeed and MaxSpeed bound those that the task draws, which a policy has learned.
	Speed, MinSpeed, MaxSpeed float64
}

// commander is a task that is commanded.
type commander interface {
	commanded(s *State) (Commanded, bool)
	setCommand(s *State, direction, speed float64)
}

// Commanded returns what environment i is told to do; ok is false where the task has no commands.
func (e *Env) Commanded(i int) (c Commanded, ok bool) {
	t, ok := e.task.(commander)
	if !ok || i < 0 || i >= len(e.states) || e.batch.c == nil {
		return Commanded{}, false
	}
	return t.commanded(&e.states[i])
}

// SetCommand tells environment i what to do until its episode ends, instead of what the task draws. The direction and the
// speed are those of [Commanded]; the next observation after a step shows them. A task without commands, and numbers
// that are not finite or a negative speed, are errors.
func (e *Env) SetCommand(i int, direction, speed float64) error {
	if _, err := e.viewed(i); err != nil {
		return err
	}
	if _, ok := e.Commanded(i); !ok {
		return fmt.Errorf("mujoco: the task %q has no commands; of characters that is the task %q", e.spec.Name, Command)
	}
	if direction-direction != 0 || !(speed >= 0) || math.IsInf(speed, 0) {
		return fmt.Errorf("mujoco: a command of %g m/s in direction %g; both must be finite, the speed not negative", speed,
			direction)
	}
	e.task.(commander).setCommand(&e.states[i], direction, speed)
	return nil
}

func (c *characterTask) commanded(s *State) (Commanded, bool) {
	mem, d := c.memory(s), &c.cfg.Command
	return Commanded{mem[memoryDirection], mem[memorySpeed], d.MinSpeed, d.MaxSpeed}, c.cfg.Task == Command
}

func (c *characterTask) setCommand(s *State, direction, speed float64) {
	mem := c.memory(s)
	mem[memoryDirection], mem[memorySpeed], mem[memoryLeft] = direction, speed, math.Inf(1)
}
