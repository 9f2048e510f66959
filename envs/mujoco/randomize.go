package mujoco

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// RandomizeConfig makes the characters of a batch differ from each other and from their model. A policy then works on a
// robot whose friction, masses and delays are not known exactly. The names are those of the events of mjlab and Isaac
// Lab. Everything is off by default.
//
// Numbers are drawn uniformly for each character at the beginning of each episode. Ranges are pairs of the lowest and
// the highest value. A range of two zeros is off. Wider ranges make a policy more robust, and its task harder to learn.
// The results depend on the seed alone, and a saved state holds all numbers.
//
// Metrics show what was drawn, by the names of the settings: the coefficient "friction", the factor "mass" of the whole
// mass, the distance "center_of_mass" in metres, the mean factors "stiffness", "damping", "motor_strength" and
// "armature", the mean "joint_offset" in radians, "action_delay" and "observation_delay" in control steps,
// "randomization", the curriculum's share in [0, 1], and "terrain_level".
type RandomizeConfig struct {
	// Friction is the range of the sliding friction coefficient of all contacts of the character. It replaces the
	// model's, which is 1 in the bodies of this package. Below 0.3 feet slide as on ice.
	Friction [2]float64
	// Mass is the range of the factors of the bodies' masses and inertias. Each body has its own.
	Mass [2]float64
	// CenterOfMass is the largest shift of the root body's centre of mass along each of its axes, in metres.
	CenterOfMass float64
	// Stiffness and Damping are the ranges of the factors of the actuators' gains. Each joint has its own.
	Stiffness, Damping [2]float64
	// MotorStrength is the range of the factors of the actuators' force limits. Each joint has its own.
	MotorStrength [2]float64
	// Armature is the range of the factors of the inertias that rotors add to their joints. Each joint has its own.
	Armature [2]float64
	// JointOffset is the largest error of a joint's encoder in radians. The policy sees the joint's angle plus the
	// error, and the joint's target is wrong by the same amount.
	JointOffset float64
	// ActionDelay is the range of the delay of actions in control steps. Until the first action arrives, actions are 0.
	ActionDelay [2]int
	// ObservationDelay is the range of the delay of measured observations in control steps. Until it has passed, the
	// policy sees the episode's first observation. Commands, a clock's phase and the last actions have no delay.
	ObservationDelay [2]int
	// ObservationNoise is added to the policy's observation in every step.
	ObservationNoise NoiseConfig
	// Push changes the root's velocity from time to time.
	Push PushConfig
	// Terrain makes the ground uneven. MuJoCo's contacts with it take time: a step takes two to three times as long.
	Terrain TerrainConfig
	// Curriculum is the number of control steps in which the randomisation grows from nothing to full size. 0 begins at
	// full size. A longer time lets a policy learn its task before it becomes robust.
	Curriculum int
}

// NoiseConfig holds the largest errors of observed values. An error is drawn uniformly for each value in each step. It
// changes the policy's observation alone, not that of a discriminator and not a separate state of the value network.
// Values that the observation does not have must be 0.
type NoiseConfig struct {
	// Height is the error of the root's height in metres.
	Height float64
	// ProjectedGravity is the error of each component of the root's axes, or of gravity's direction in its frame.
	ProjectedGravity float64
	// BaseLinVel is the error of the root's linear velocity in m/s.
	BaseLinVel float64
	// BaseAngVel is the error of the root's angular velocity in rad/s.
	BaseAngVel float64
	// JointPos is the error of the joints' angles in radians.
	JointPos float64
	// JointVel is the error of the joints' velocities in rad/s.
	JointVel float64
	// KeyPos is the error of the key bodies' positions in metres.
	KeyPos float64
}

// PushConfig changes the root's horizontal velocity at equal intervals. The zero value is off.
type PushConfig struct {
	// Velocity is the largest change of each of the root's two horizontal velocities in m/s. A human's shove of a robot
	// is about 0.5 m/s.
	Velocity float64
	// Seconds is the time between pushes. The first one comes at a random time within it.
	Seconds float64
}

// parts returns the errors by the name of the part of an observation, see part.
func (n *NoiseConfig) parts() map[string]float64 {
	return map[string]float64{"height": n.Height, "projected_gravity": n.ProjectedGravity, "base_lin_vel": n.BaseLinVel,
		"base_ang_vel": n.BaseAngVel, "joint_pos": n.JointPos, "joint_vel": n.JointVel, "key_pos": n.KeyPos}
}

// part is a part of an observation. Parts are in the order of the row.
type part struct {
	// name is mjlab's name of the part, or one of this package.
	name string
	// width is the number of values.
	width int
}

// undelayed are the parts that no sensor measures. Observation delays do not apply to them.
var undelayed = []string{"actions", "command", "phase"}

// maxDelay is the largest delay in control steps.
const maxDelay = 100

// on reports whether a range is set.
func on(r [2]float64) bool { return r != [2]float64{} }

// off reports whether nothing is randomised.
func (r *RandomizeConfig) off() bool {
	c := *r
	c.Curriculum = 0
	return c == RandomizeConfig{}
}

// factors returns the ranges of positive numbers by their names.
func (r *RandomizeConfig) factors() map[string][2]float64 {
	return map[string][2]float64{"Friction": r.Friction, "Mass": r.Mass, "Stiffness": r.Stiffness, "Damping": r.Damping,
		"MotorStrength": r.MotorStrength, "Armature": r.Armature}
}

// check validates the settings. parts are those of the observation. Errors have no prefix.
func (r *RandomizeConfig) check(parts []part) error {
	for name, v := range r.factors() {
		if on(v) && (!(v[0] > 0) || !(v[1] >= v[0]) || math.IsInf(v[1], 0)) {
			return fmt.Errorf("Randomize.%s is %g; it must be two positive, finite numbers, the smaller one first",
				name, v)
		}
	}
	sizes := map[string]float64{"CenterOfMass": r.CenterOfMass, "JointOffset": r.JointOffset,
		"Push.Velocity": r.Push.Velocity, "Push.Seconds": r.Push.Seconds}
	for name, v := range r.ObservationNoise.parts() {
		sizes["ObservationNoise."+name] = v
		if v != 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			var names []string
			for _, p := range parts {
				names = append(names, p.name)
			}
			return fmt.Errorf("Randomize.ObservationNoise has %g for %q, which is not in the observation; it has %s", v,
				name, strings.Join(names, ", "))
		}
	}
	for name, v := range sizes {
		if err := checkBounds("Randomize.", bound{name, v, 0, anySize}); err != nil {
			return err
		}
	}
	for name, v := range map[string][2]int{"ActionDelay": r.ActionDelay, "ObservationDelay": r.ObservationDelay} {
		if v[0] < 0 || v[1] < v[0] || v[1] > maxDelay {
			return fmt.Errorf("Randomize.%s is %d; it must be two numbers of control steps from 0 to %d, the smaller "+
				"one first", name, v, maxDelay)
		}
	}
	if (r.Push.Velocity > 0) != (r.Push.Seconds > 0) {
		return fmt.Errorf("Randomize.Push has %g m/s every %g s; give both, or neither", r.Push.Velocity,
			r.Push.Seconds)
	}
	if err := r.Terrain.check(); err != nil {
		return err
	}
	if r.Curriculum < 0 {
		return fmt.Errorf("Randomize.Curriculum is %d; it must not be negative", r.Curriculum)
	}
	return nil
}
