package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unsafe"
)

// lowSole is the height in metres above the lowest point of a character up to which a geom counts as a foot.
const lowSole = 0.03

// ModelReport describes an MJCF file, and what it lacks for a [Character].
type ModelReport struct {
	Name string
	// Mass is in kg and TimeStep in s. Height is the root's height in the default pose in m, or 0 without a free root.
	Mass, TimeStep, Height float64
	// Meshes and Motors are the numbers of meshes and of the file's own actuators.
	Meshes, Motors int
	Bodies         []BodyReport
	// Feet are the configured feet. If there are none, Proposed is true, and Feet are the lowest parts in the default
	// pose.
	Feet     []string
	Proposed bool
	// Missing says what a Character still needs, and which setting gives it. It is empty if nothing is missing.
	Missing []string
	// Pose is the default pose (NQ), for [Model.Pictures].
	Pose []float64 `json:"-"`
}

// BodyReport is a body of a model.
type BodyReport struct {
	Name, Parent string
	Mass         float64
	Joints       []JointReport
}

// JointReport is a joint of a model.
type JointReport struct {
	// Name may be empty. Kind is "free", "ball", "slide" or "hinge".
	Name, Kind string
	// Low and High are the limits in rad (of a slide in m) if it is Limited.
	Low, High float64
	Limited   bool
	// Default is the angle in the default pose. Motor is the hinge's position actuator. Its Stiffness is 0 if there is
	// none.
	Default float64
	Motor   ActuatorConfig
}

// InspectModel describes an MJCF file. cfg are the settings for [LoadBody]. What file and settings lack is listed in
// the report. It is not an error, unless MuJoCo cannot compile the file.
func InspectModel(path string, cfg BodyConfig) (_ *ModelReport, err error) {
	defer explain(&err, "model "+path)
	l, err := openModel(path, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.model.Close() }() // everything taken from it is copied
	m := l.model
	r := &ModelReport{Name: cmp.Or(cfg.Name, l.root.Get("model"), "character"), Mass: m.Mass(), TimeStep: m.TimeStep(),
		Meshes: int(m.m.nmesh), Motors: m.NU(), Pose: m.InitialQPos(), Feet: cfg.Feet}
	body, whole := LoadBody(path, cfg)
	motors := body.Actuators
	if err := l.read(); err == nil {
		r.Height = l.body.DefaultHeight
		r.Pose = append([]float64{0, 0, r.Height, 1, 0, 0, 0}, l.body.DefaultPose...)
		if motors == nil {
			motors, _ = l.fileActuators() // the error of LoadBody, added below, says why there are none
		}
		if len(cfg.Feet) == 0 {
			r.Proposed = true
			if r.Feet, err = l.soles(); err != nil {
				return nil, err
			}
			r.Missing = append(r.Missing, fmt.Sprintf("feet: none are given, so contacts end no episode. Lowest are "+
				"feet: [%s]", strings.Join(r.Feet, ", ")))
		}
		for i, name := range l.hinges {
			low, high, limited := m.jointRange(i + 1)
			if a := l.body.DefaultPose[i]; limited && (a < low || a > high) {
				r.Missing = append(r.Missing, fmt.Sprintf("default_pose: the joint %s is at %.3g rad, and its range "+
					"is %.3g to %.3g. Give default_pose: {%s: ...}", name, a, low, high, name))
			}
		}
		var without []string
		for i, a := range motors {
			if a.Stiffness == 0 {
				without = append(without, l.hinges[i])
			}
		}
		if without != nil {
			r.Missing = append(r.Missing, fmt.Sprintf("actuators: %d hinges have no position actuator. Give "+
				"actuators: [{joints: %q, stiffness: ..., damping: ..., effort_limit: ...}]", len(without),
				strings.Join(without, "|")))
			whole = nil // the entry above says so already
		}
	}
	if whole != nil {
		r.Missing = append(r.Missing, strings.TrimPrefix(whole.Error(), "mujoco: body "+path+": "))
	}
	r.bodies(m, l.hinges, motors)
	return r, nil
}

// bodies describes the bodies of a model. hinges and motors have one entry per hinge, or are nil.
func (r *ModelReport) bodies(m *Model, hinges []string, motors []ActuatorConfig) {
	n, joints := m.NumBodies(), int(m.m.njnt)
	names, parents := m.Names(Body), unsafe.Slice(m.m.body_parentid, n)
	masses := floats(m.m.body_mass, n)
	for i := 1; i < n; i++ {
		r.Bodies = append(r.Bodies, BodyReport{Name: names[i], Parent: names[parents[i]], Mass: masses[i]})
	}
	owners, kinds := unsafe.Slice(m.m.jnt_bodyid, joints), unsafe.Slice(m.m.jnt_type, joints)
	at := unsafe.Slice(m.m.jnt_qposadr, joints)
	for i, name := range m.Names(Joint) {
		j := JointReport{Name: name, Kind: map[C.int]string{C.mjJNT_FREE: "free", C.mjJNT_BALL: "ball",
			C.mjJNT_SLIDE: "slide", C.mjJNT_HINGE: "hinge"}[kinds[i]]}
		if kinds[i] == C.mjJNT_HINGE || kinds[i] == C.mjJNT_SLIDE {
			j.Default = r.Pose[at[i]]
		}
		if low, high, limited := m.jointRange(i); limited {
			j.Low, j.High, j.Limited = low, high, true
		}
		if k := slices.Index(hinges, name); k >= 0 && k < len(motors) {
			j.Motor = motors[k]
		}
		b := &r.Bodies[owners[i]-1]
		b.Joints = append(b.Joints, j)
	}
}

// soles returns patterns for the lowest geoms in the default pose, or for their bodies if they have no names.
func (l *loader) soles() ([]string, error) {
	batch, err := posed(l.model, l.body.DefaultPose)
	if err != nil {
		return nil, err
	}
	defer func() { _ = batch.Close() }()
	m := l.model
	geoms, bodies, owners := m.Names(Geom), m.Names(Body), unsafe.Slice(m.m.geom_bodyid, int(m.m.ngeom))
	heights, low := bottoms(m, batch.data[0])
	var out []string
	for g, name := range geoms {
		if !(heights[g] <= low+lowSole) {
			continue
		}
		// If all geoms of a body are near the floor, the body is the foot, otherwise its lowest geom is.
		top, lowest := heights[g], true
		for k := range geoms {
			if heights[k] == heights[k] && owners[k] == owners[g] {
				top, lowest = max(top, heights[k]), lowest && heights[g] <= heights[k]
			}
		}
		if name == "" || top <= low+lowSole {
			name = bodies[owners[g]]
		} else if !lowest {
			continue
		}
		if name = regexp.QuoteMeta(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}
