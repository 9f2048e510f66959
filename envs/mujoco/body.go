package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unsafe"

	"github.com/gorl-dev/gorl/envs/mujoco/mjcf"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/motions"
)

// ActuatorConfig gives hinges a position actuator: torque = Stiffness · (target − angle) − Damping · velocity.
//
// Damping becomes the joint's damping, which the Euler integrator treats implicitly. EffortLimit bounds the term with
// Stiffness only. A robot's motor, and an actuator of MuJoCo 3 with kv, bound the sum of both terms.
type ActuatorConfig struct {
	// Joints is a regular expression for whole names of hinges.
	Joints string `yaml:"joints"`
	// Stiffness is in N·m/rad.
	//
	// A larger one follows targets more closely. It needs a smaller time step. It must be positive.
	Stiffness float64 `yaml:"stiffness" config:"gt=0"`
	// Damping is in N·m·s/rad.
	Damping float64 `yaml:"damping" config:"min=0"`
	// Armature is the rotor's inertia in kg·m².
	//
	// It is the inertia as the joint feels it.
	Armature float64 `yaml:"armature" config:"min=0"`
	// EffortLimit is the largest torque in N·m; 0 is none.
	EffortLimit float64 `yaml:"effort_limit" config:"min=0"`
	// ActionScale is the change of the target in rad by an action of 1; 0 is 0.25 · effort_limit / stiffness.
	//
	// Zero is mjlab's choice. Without a limit it is 0.25 rad.
	ActionScale float64 `yaml:"action_scale" config:"min=0"`
}

// BodyConfig holds the settings of [LoadBody]. The zero value takes everything from the file. The tags are for the
// environment Character of package catalog.
type BodyConfig struct {
	// Name is a short word for metrics. Default: the name in the file.
	Name string `yaml:"name"`
	// Actuators are the hinges' motors. Default: the file's position actuators.
	//
	// At most one entry may match a hinge. A hinge without an entry keeps the file's position actuator.
	Actuators []ActuatorConfig `yaml:"actuators"`
	// DefaultPose maps regular expressions for whole names of hinges to angles in rad. Other hinges are at 0. Default:
	// the file's first keyframe.
	//
	// A hinge's own name takes precedence over patterns. Without a keyframe the default is 0 for all hinges.
	DefaultPose map[string]float64 `yaml:"default_pose"`
	// DefaultHeight is the height of the root in the default pose in metres; 0 puts the pose on the floor.
	//
	// If the pose is the keyframe's, zero means the keyframe's height.
	DefaultHeight float64 `yaml:"default_height" config:"min=0"`
	// ControlFrequency is the number of actions a second.
	//
	// Zero means 50 Hz. It must divide 1/TimeStep.
	ControlFrequency float64 `yaml:"control_frequency" config:"gt=0"`
	// TimeStep is the simulation's step in seconds; 0 is the file's. Long steps are fast and can be unstable.
	TimeStep float64 `yaml:"time_step" config:"min=0"`
	// Iterations is the contact solver's limit; 0 is the file's. With few, steps are fast, and feet sink in and slide.
	Iterations int `yaml:"iterations" config:"min=0"`
	// Feet are regular expressions for the bodies, geoms or sites that may touch the floor. Without feet, contacts end
	// no episode.
	//
	// They are for whole names, see [CharacterBody]. Geoms and sites count if no body matches. They become bodies of
	// their own.
	Feet []string `yaml:"feet"`
	// Keys are such expressions for the bodies whose positions are observed. Default: the feet.
	Keys []string `yaml:"keys"`
	// MinHeight is the root's height in metres below which the character has fallen; 0 is half the default height.
	MinHeight float64 `yaml:"min_height" config:"min=0"`
	// MaxTilt is the angle in radians from the vertical above which the character has fallen.
	//
	// Zero means 1 rad.
	MaxTilt float64 `yaml:"max_tilt" config:"gt=0"`
}

// LoadBody reads a character's body from an MJCF file, for example a robot's. It reads includes and meshes, adds a
// floor if the file has none, gives every hinge a position actuator, and integrates by Euler's method. The file's
// actuators, sensors and keyframes are not in the result. Errors name the file's body, joint or attribute.
func LoadBody(path string, cfg BodyConfig) (_ CharacterBody, err error) {
	defer explain(&err, "body "+path)
	cfg.ControlFrequency, cfg.MaxTilt = cmp.Or(cfg.ControlFrequency, 50), cmp.Or(cfg.MaxTilt, 1)
	if err := config.Check(cfg, ""); err != nil {
		return CharacterBody{}, err
	}
	l, err := openModel(path, cfg)
	if err != nil {
		return CharacterBody{}, err
	}
	defer func() { _ = l.model.Close() }() // everything taken from it is copied
	for _, step := range []func() error{l.read, l.parts, l.motors, l.finish} {
		if err := step(); err != nil {
			return CharacterBody{}, err
		}
	}
	return l.body, nil
}

// parts finds the feet and the key bodies.
func (l *loader) parts() (err error) {
	if l.body.Feet, err = l.bodies("Feet", l.cfg.Feet); err != nil {
		return err
	}
	if l.body.Keys = l.body.Feet; len(l.cfg.Keys) > 0 {
		l.body.Keys, err = l.bodies("Keys", l.cfg.Keys)
	}
	return err
}

// whole compiles a regular expression for whole names.
func whole(setting, pattern string) (*regexp.Regexp, error) {
	r, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a regular expression: %w", setting, pattern, err)
	}
	return r, nil
}

// Trot makes a clip in which a body, whose Keys are its four feet, trots from its default pose: forwards and to the
// left in m/s, turning to the left in rad/s. See [motions.Skeleton.Trot].
func (b *CharacterBody) Trot(forward, left, turn float64) (*motions.Clip, error) {
	m, err := parseModel(b.XML, b.Assets)
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Close() }() // everything taken from it is copied
	s, err := m.Skeleton()
	if err != nil {
		return nil, err
	}
	if len(b.DefaultPose) != s.Width()-rootPositions {
		return nil, fmt.Errorf("mujoco: trot of %s: the body has no DefaultPose", b.Name)
	}
	stand := append([]float64{0, 0, b.DefaultHeight, 1, 0, 0, 0}, b.DefaultPose...)
	return s.Trot(motions.TrotConfig{Stand: stand, Feet: b.Keys, Forward: forward, Left: left, Turn: turn})
}

// loader makes a body from a document.
type loader struct {
	cfg    BodyConfig
	root   *mjcf.Element
	assets map[string][]byte
	// model is the compiled document before its joints and actuators change.
	model *Model
	// newer names attributes of the file's actuators that this version of MuJoCo lacks, "" if there are none.
	newer string
	// hinges are the names of all joints except the root's.
	hinges []string
	body   CharacterBody
}

// read takes the joints and the default pose from the compiled model.
func (l *loader) read() error {
	m := l.model
	n := int(m.m.njnt)
	types, owners := unsafe.Slice(m.m.jnt_type, n), unsafe.Slice(m.m.jnt_bodyid, n)
	bodies := m.Names(Body)
	for i, name := range m.Names(Joint) {
		switch body, kind := bodies[owners[i]], types[i]; {
		case i == 0 && kind != C.mjJNT_FREE:
			return fmt.Errorf("the first joint, %q of the body %q, is no free joint; give the robot's root "+
				"a <freejoint/>", name, body)
		case i > 0 && kind != C.mjJNT_HINGE:
			what := map[C.int]string{C.mjJNT_FREE: "another free joint", C.mjJNT_BALL: "a ball joint",
				C.mjJNT_SLIDE: "a slide"}[kind]
			return fmt.Errorf("the joint %q of the body %q is %s; a character has one free joint and hinges", name,
				body, what)
		case i > 0 && name == "":
			return fmt.Errorf("a hinge of the body %q has no name; name it in the file", body)
		case i > 0:
			l.hinges = append(l.hinges, name)
		}
	}
	if len(l.hinges) == 0 {
		return errors.New("the model has no hinges; a character needs a free joint and hinges")
	}
	pose, err := l.pose()
	if err != nil {
		return err
	}
	l.body.DefaultPose, l.body.DefaultHeight = pose, l.cfg.DefaultHeight
	if m.m.nkey > 0 && l.body.DefaultHeight == 0 && l.cfg.DefaultPose == nil {
		l.body.DefaultHeight = floats(m.m.key_qpos, m.NQ())[2]
	}
	if l.body.DefaultHeight != 0 {
		return nil
	}
	batch, err := posed(m, pose)
	if err != nil {
		return err
	}
	defer func() { _ = batch.Close() }()
	_, low := bottoms(m, batch.data[0])
	if l.body.DefaultHeight = -low; math.IsInf(low, 1) {
		return errors.New("no geom of the model collides; give some contype and conaffinity 1")
	}
	return nil
}

// matching returns the indices of the hinges that a pattern matches. It is an error if there are none.
func (l *loader) matching(setting, pattern string) (hinges []int, err error) {
	r, err := whole(setting, pattern)
	if err != nil {
		return nil, err
	}
	for i, name := range l.hinges {
		if r.MatchString(name) {
			hinges = append(hinges, i)
		}
	}
	if hinges == nil {
		return nil, fmt.Errorf("%s: no hinge matches %q; there are %q", setting, pattern, l.hinges)
	}
	return hinges, nil
}

// pose returns the default angles of the hinges.
func (l *loader) pose() ([]float64, error) {
	m, given := l.model, l.cfg.DefaultPose
	pose, by := make([]float64, len(l.hinges)), make([]string, len(l.hinges))
	if given == nil {
		if m.m.nkey > 0 {
			copy(pose, floats(m.m.key_qpos, m.NQ())[rootPositions:])
		}
		return pose, nil
	}
	for pattern, angle := range given {
		matched, err := l.matching("DefaultPose", pattern)
		if err != nil {
			return nil, err
		}
		for _, i := range matched {
			switch name := l.hinges[i]; {
			case by[i] == name: // the name itself has precedence
				continue
			case by[i] != "" && pattern != name && pose[i] != angle:
				return nil, fmt.Errorf("DefaultPose: %q and %q both match the joint %s and differ", by[i],
					pattern, name)
			}
			pose[i], by[i] = angle, pattern
		}
	}
	for i, name := range l.hinges {
		low, high, limited := m.jointRange(i + 1)
		if a := pose[i]; a-a != 0 || limited && (a < low-1e-6 || a > high+1e-6) {
			return nil, fmt.Errorf("DefaultPose: the joint %s is at %g rad; its range is %g to %g", name, a, low, high)
		}
	}
	return pose, nil
}

// bodies returns the names of the bodies that patterns match. Geoms and sites that they match become bodies.
func (l *loader) bodies(setting string, patterns []string) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		r, err := whole(setting, pattern)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, kind := range []Kind{Body, Geom, Site} {
			for id, name := range l.model.Names(kind) {
				if name == "" || name == "world" || !r.MatchString(name) {
					continue
				}
				if kind != Body {
					if name, err = l.split(kind, id, name); err != nil {
						return nil, err
					}
				}
				found = append(found, name)
			}
			if found != nil {
				break
			}
		}
		if found == nil {
			return nil, fmt.Errorf("%s: no body, geom or site matches %q; there are the bodies %q", setting, pattern,
				l.model.Names(Body)[1:])
		}
		all = append(all, found...)
	}
	return all, nil
}

// split makes a geom or site a body of its own at the same place, fixed to the body that has it, and returns the body's
// name. The geom's contacts can then be distinguished from those of the rest of the body.
func (l *loader) split(kind Kind, id int, name string) (string, error) {
	if _, taken := l.root.Find("body", name); taken != nil {
		return name, nil // split before, or a body after all
	}
	parent, e := l.root.Find(kind.String(), name)
	if e == nil {
		return "", fmt.Errorf("%v %s is not in the file's <worldbody>", kind, name)
	}
	places := l.model.m.geom_pos
	if kind == Site {
		places = l.model.m.site_pos
	}
	own := mjcf.New("body", "name", name, "pos", numbers(floats(places, 3*id+3)[3*id:]...))
	if kind == Geom {
		if e.Get("fromto") != "" {
			return "", fmt.Errorf("geom %s is given by fromto; give it by pos and size to use it as a foot or key",
				name)
		}
		e.Set("pos", "0 0 0")
		if slices.ContainsFunc(parent.Children, func(c *mjcf.Element) bool { return c.Name == "inertial" }) {
			e.Set("mass", "0") // the body's inertia counts the geom already
		}
		parent.Children = slices.DeleteFunc(parent.Children, func(c *mjcf.Element) bool { return c == e })
		own.Children = []*mjcf.Element{e}
	}
	parent.Children = append(parent.Children, own)
	return name, nil
}
