package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gorl-dev/gorl/envs/mujoco/mjcf"
)

// motors replaces the file's actuators by one position actuator per hinge, in the order of the hinges, and sets the
// body's gains.
func (l *loader) motors() error {
	own, err := l.fileActuators()
	if err != nil {
		return err
	}
	taken := make([]string, len(l.hinges))
	for _, a := range l.cfg.Actuators {
		matched, err := l.matching("Actuators", a.Joints)
		if err != nil {
			return err
		}
		for _, i := range matched {
			if taken[i] != "" {
				return fmt.Errorf("Actuators: %q and %q both match the joint %s", taken[i], a.Joints, l.hinges[i])
			}
			taken[i], own[i] = a.Joints, a
		}
	}
	l.root.Remove("actuator", "keyframe")
	section := mjcf.New("actuator")
	for i, name := range l.hinges {
		if l.newer != "" && taken[i] == "" {
			return fmt.Errorf("the file's actuators have the attribute %s, which MuJoCo %s lacks; add an entry of "+
				"Actuators that matches the joint %s", l.newer, Version(), name)
		}
		a := &own[i]
		if a.Stiffness == 0 {
			return fmt.Errorf("the joint %s has no position actuator; add an entry of Actuators that matches it", name)
		}
		a.Joints = name
		switch {
		case a.ActionScale > 0:
		case a.EffortLimit > 0:
			a.ActionScale = 0.25 * a.EffortLimit / a.Stiffness
		default:
			a.ActionScale = 0.25
		}
		_, joint := l.root.Find("joint", name)
		if joint == nil {
			return fmt.Errorf("the joint %s is not in the file's <worldbody>", name)
		}
		joint.Set("damping", numbers(a.Damping))
		joint.Set("armature", numbers(a.Armature))
		// All attributes are set, because the file's default classes would supply missing ones.
		e := mjcf.New("general", "name", name, "joint", name, "gear", "1", "ctrllimited", "false", "dyntype", "none",
			"gaintype", "fixed", "gainprm", numbers(a.Stiffness), "biastype", "affine", "biasprm",
			numbers(0, -a.Stiffness, 0), "forcelimited", "false")
		if a.EffortLimit > 0 {
			e.Set("forcelimited", "true")
			e.Set("forcerange", numbers(-a.EffortLimit, a.EffortLimit))
		}
		section.Children = append(section.Children, e)
		l.body.Actuators = append(l.body.Actuators, *a)
	}
	l.root.Children = append(l.root.Children, section)
	return nil
}

// fileActuators returns one entry per hinge from the file's actuators. Stiffness is 0 for a hinge without a position
// actuator.
func (l *loader) fileActuators() ([]ActuatorConfig, error) {
	m := l.model
	own := make([]ActuatorConfig, len(l.hinges))
	// A free joint has six velocities, a hinge one.
	damping, armature := floats(m.m.dof_damping, m.NV()), floats(m.m.dof_armature, m.NV())
	for i := range own {
		own[i].Damping, own[i].Armature = damping[rootVelocities+i], armature[rootVelocities+i]
	}
	n := Actuator.count(m.m)
	for i, name := range m.Names(Actuator) {
		gain := floats(m.m.actuator_gainprm, n*C.mjNGAIN)[i*C.mjNGAIN:]
		bias := floats(m.m.actuator_biasprm, n*C.mjNBIAS)[i*C.mjNBIAS:]
		joint := int(unsafe.Slice(m.m.actuator_trnid, 2*n)[2*i])
		switch {
		case unsafe.Slice(m.m.actuator_trntype, n)[i] != C.mjTRN_JOINT || joint < 1:
			return nil, fmt.Errorf("the actuator %q moves no hinge; a character's move hinges", name)
		case unsafe.Slice(m.m.actuator_biastype, n)[i] != C.mjBIAS_AFFINE || gain[0] <= 0 ||
			math.Abs(gain[0]+bias[1]) > 1e-9*gain[0] || unsafe.Slice(m.m.actuator_dyntype, n)[i] != C.mjDYN_NONE:
			continue // a motor: it needs an entry of Actuators
		}
		a := &own[joint-1]
		a.Stiffness, a.Damping = gain[0], a.Damping-bias[2]
		if flagAt(unsafe.Pointer(m.m.actuator_forcelimited), i) {
			low, high := limits(m.m.actuator_forcerange, i)
			a.EffortLimit = min(-low, high)
		}
	}
	return own, nil
}

// finish completes the body, and tries it in its default pose.
func (l *loader) finish() error {
	b, frequency := &l.body, l.cfg.ControlFrequency
	b.Name, b.XML, b.Assets = cmp.Or(l.cfg.Name, l.root.Get("model"), "character"), l.root.Text(), l.assets
	b.MinHeight, b.MaxTilt = cmp.Or(l.cfg.MinHeight, b.DefaultHeight/2), l.cfg.MaxTilt
	m, err := parseModel(b.XML, b.Assets)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	steps := 1 / (frequency * m.TimeStep())
	b.Substeps = int(math.Round(steps))
	if b.Substeps < 1 || math.Abs(steps-float64(b.Substeps)) > 1e-6*steps {
		return fmt.Errorf("ControlFrequency is %g Hz, and the time step %g s; a control step must be a whole number "+
			"of time steps", frequency, m.TimeStep())
	}
	if names := m.Names(Joint)[1:]; !slices.Equal(names, l.hinges) {
		return fmt.Errorf("the compiled model has the hinges %q, not %q", names, l.hinges)
	}
	batch, err := posed(m, b.DefaultPose)
	if err != nil {
		return err
	}
	defer func() { _ = batch.Close() }()
	batch.QPos(0)[2] = b.DefaultHeight
	for i, a := range b.Actuators { // an action of 1 for 10 control steps
		batch.Ctrl(0)[i] = b.DefaultPose[i] + a.ActionScale
	}
	if err := cmp.Or(batch.Reset(0), batch.Step(10*b.Substeps)); err != nil {
		return err
	}
	if batch.Status(0)&Diverged != 0 {
		return errors.New("the simulation diverges in the default pose: the mass or inertia of a body is too small " +
			"for its actuator's stiffness or for the time step; give the actuator damping, the joint armature, or " +
			"the body more mass")
	}
	return nil
}

// posed returns a simulation of the model with the root upright at the origin and the given angles of the hinges, or in
// the model's first pose if hinges is nil.
func posed(m *Model, hinges []float64) (*Batch, error) {
	batch, err := NewBatch(m, 1, 1)
	if err != nil {
		return nil, err
	}
	if q := batch.QPos(0); hinges != nil {
		copy(q, []float64{0, 0, 0, 1, 0, 0, 0})
		copy(q[rootPositions:], hinges)
	}
	if err := batch.forward(0, 0, 1); err != nil {
		return nil, errors.Join(err, batch.Close())
	}
	return batch, nil
}

// bottoms returns the heights in metres of the lowest points of a model's geoms in the world, and the least of them. A
// height is NaN for geoms of the world body and for geoms that do not collide. Without others low is infinite.
func bottoms(m *Model, d *C.mjData) (heights []float64, low float64) {
	low = math.Inf(1)
	for g := range int(m.m.ngeom) {
		heights = append(heights, bottom(m, d, g))
		if heights[g] < low {
			low = heights[g]
		}
	}
	return heights, low
}

// collides reports whether a geom can touch another, by its contype and conaffinity or by a pair in <contact>.
func (m *Model) collides(g int) bool {
	n, pairs := int(m.m.ngeom), int(m.m.npair)
	if unsafe.Slice(m.m.geom_contype, n)[g]|unsafe.Slice(m.m.geom_conaffinity, n)[g] != 0 {
		return true
	}
	return slices.Contains(unsafe.Slice(m.m.pair_geom1, pairs), C.int(g)) ||
		slices.Contains(unsafe.Slice(m.m.pair_geom2, pairs), C.int(g))
}

// bottom returns the height of the lowest point of a geom in the world, see bottoms.
func bottom(m *Model, d *C.mjData, g int) float64 {
	c := m.m
	n := int(c.ngeom)
	if unsafe.Slice(c.geom_bodyid, n)[g] == 0 || !m.collides(g) {
		return math.NaN()
	}
	size, z := floats(c.geom_size, 3*n)[3*g:], floats(d.geom_xpos, 3*n)[3*g+2]
	up := floats(d.geom_xmat, 9*n)[9*g+6 : 9*g+9] // how far each axis of the geom points up
	switch unsafe.Slice(c.geom_type, n)[g] {
	case C.mjGEOM_SPHERE:
		return z - size[0]
	case C.mjGEOM_CAPSULE:
		return z - size[0] - size[1]*math.Abs(up[2])
	case C.mjGEOM_CYLINDER:
		return z - size[0]*math.Hypot(up[0], up[1]) - size[1]*math.Abs(up[2])
	case C.mjGEOM_ELLIPSOID:
		return z - math.Sqrt(size[0]*size[0]*up[0]*up[0]+size[1]*size[1]*up[1]*up[1]+size[2]*size[2]*up[2]*up[2])
	case C.mjGEOM_BOX:
		return z - size[0]*math.Abs(up[0]) - size[1]*math.Abs(up[1]) - size[2]*math.Abs(up[2])
	case C.mjGEOM_MESH:
		low := math.Inf(1)
		for v := m.vertices(g); len(v) > 0; v = v[3:] {
			low = min(low, z+float64(v[0])*up[0]+float64(v[1])*up[1]+float64(v[2])*up[2])
		}
		return low
	}
	return math.NaN()
}
