package mujoco

import (
	"fmt"
	"slices"
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
// "armature", the mean size of "joint_offset" in radians, "action_delay" and "observation_delay" in control steps,
// "randomization", the curriculum's share in [0, 1], and "terrain_level".
type RandomizeConfig struct {
	// Friction is the range of the sliding friction coefficient of all contacts, in place of the model's 1. Below 0.3
	// feet slide as on ice.
	Friction [2]float64 `yaml:"friction" config:"min=0"`
	// Mass, Stiffness, Damping, MotorStrength and Armature are ranges of factors, drawn for each body or joint: of
	// masses and inertias, of the actuators' gains, of their force limits, of the rotors' inertias.
	Mass          [2]float64 `yaml:"mass" config:"min=0"`
	Stiffness     [2]float64 `yaml:"stiffness" config:"min=0"`
	Damping       [2]float64 `yaml:"damping" config:"min=0"`
	MotorStrength [2]float64 `yaml:"motor_strength" config:"min=0"`
	Armature      [2]float64 `yaml:"armature" config:"min=0"`
	// CenterOfMass is the largest shift of the root body's centre of mass along each axis, in metres.
	CenterOfMass float64 `yaml:"center_of_mass" config:"min=0"`
	// JointOffset is the largest error of a joint's encoder in radians, in its observation and in its target.
	JointOffset float64 `yaml:"joint_offset" config:"min=0"`
	// ActionDelay and ObservationDelay are ranges in control steps. Commands and the clock have no delay.
	//
	// Nor have the last actions. Until the first action arrives, actions are 0. Until ObservationDelay has passed, the
	// policy sees the episode's first observation.
	ActionDelay      [2]int `yaml:"action_delay" config:"min=0,max=100"`
	ObservationDelay [2]int `yaml:"observation_delay" config:"min=0,max=100"`
	// ObservationNoise is the error of what the policy observes, in every step.
	ObservationNoise NoiseConfig `yaml:"observation_noise"`
	// Push changes the root's horizontal velocity.
	Push PushConfig `yaml:"push"`
	// Terrain makes the ground uneven; heights of the root are then above it.
	//
	// MuJoCo's contacts with it take time: a step takes two to three times as long.
	Terrain TerrainConfig `yaml:"terrain"`
	// Curriculum is the number of control steps in which the randomisation grows to full size; 0 begins with it. A
	// longer one lets a policy learn its task first.
	Curriculum int `yaml:"curriculum" config:"min=0"`
}

// NoiseConfig holds the largest errors of observed values. An error is drawn uniformly for each value in each step. It
// changes the policy's observation alone, not that of a discriminator and not a separate state of the value network.
// Values that the observation does not have must be 0.
type NoiseConfig struct {
	// Height, ProjectedGravity, BaseLinVel, BaseAngVel, JointPos, JointVel and KeyPos are the largest errors of values
	// in metres, m/s, rad or rad/s. mjlab has 0.01 for joint_pos, 1.5 for joint_vel, 0.2 for base_ang_vel and 0.05 for
	// projected_gravity.
	//
	// Height is the root's. ProjectedGravity is for each component of the root's axes, or of gravity's direction in its
	// frame. KeyPos is of the key bodies.
	Height           float64 `yaml:"height" config:"min=0"`
	ProjectedGravity float64 `yaml:"projected_gravity" config:"min=0"`
	BaseLinVel       float64 `yaml:"base_lin_vel" config:"min=0"`
	BaseAngVel       float64 `yaml:"base_ang_vel" config:"min=0"`
	JointPos         float64 `yaml:"joint_pos" config:"min=0"`
	JointVel         float64 `yaml:"joint_vel" config:"min=0"`
	KeyPos           float64 `yaml:"key_pos" config:"min=0"`
}

// PushConfig changes the root's horizontal velocity at equal intervals. The zero value is off.
type PushConfig struct {
	// Velocity is the largest change of each of the root's two horizontal velocities in m/s. 0.5 is a shove.
	Velocity float64 `yaml:"velocity" config:"min=0"`
	// Seconds is the time between pushes.
	//
	// The first one comes at a random time within it.
	Seconds float64 `yaml:"seconds" config:"min=0"`
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

// on reports whether a range is set.
func on(r [2]float64) bool { return r != [2]float64{} }

// off reports whether nothing is randomised.
func (r *RandomizeConfig) off() bool {
	c := *r
	c.Curriculum = 0
	return c == RandomizeConfig{}
}

// check validates what the tags do not say. parts are those of the observation. Errors have no prefix.
func (r *RandomizeConfig) check(parts []part) error {
	for name, v := range map[string][2]float64{"Friction": r.Friction, "Mass": r.Mass, "Stiffness": r.Stiffness,
		"Damping": r.Damping, "MotorStrength": r.MotorStrength, "Armature": r.Armature} {
		if on(v) && (v[0] <= 0 || v[1] < v[0]) {
			return fmt.Errorf("Randomize.%s is %g; it must be two positive numbers, the smaller one first", name, v)
		}
	}
	for name, v := range r.ObservationNoise.parts() {
		if v != 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("Randomize.ObservationNoise has %g for %q, which is not in the observation; it has %v", v,
				name, parts)
		}
	}
	for name, v := range map[string][2]int{"ActionDelay": r.ActionDelay, "ObservationDelay": r.ObservationDelay} {
		if v[1] < v[0] {
			return fmt.Errorf("Randomize.%s is %d; the smaller number comes first", name, v)
		}
	}
	if (r.Push.Velocity > 0) != (r.Push.Seconds > 0) {
		return fmt.Errorf("Randomize.Push has %g m/s every %g s; give both, or neither", r.Push.Velocity,
			r.Push.Seconds)
	}
	return nil
}
