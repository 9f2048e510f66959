package catalog

import "github.com/gorl-dev/gorl/envs/mujoco"

// characterRandomize are the settings of mujoco.RandomizeConfig.
type characterRandomize struct {
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
	ActionDelay      [2]int `yaml:"action_delay" config:"min=0,max=100"`
	ObservationDelay [2]int `yaml:"observation_delay" config:"min=0,max=100"`
	// ObservationNoise is the error of what the policy observes, in every step.
	ObservationNoise characterNoise `yaml:"observation_noise"`
	// Push changes the root's horizontal velocity.
	Push characterPush `yaml:"push"`
	// Terrain makes the ground uneven; heights of the root are then above it.
	Terrain characterTerrain `yaml:"terrain"`
	// Curriculum is the number of control steps in which the randomisation grows to full size; 0 begins with it. A
	// longer one lets a policy learn its task first.
	Curriculum int `yaml:"curriculum" config:"min=0"`
}

type characterNoise struct {
	// Height, ProjectedGravity, BaseLinVel, BaseAngVel, JointPos, JointVel and KeyPos are the largest errors of values
	// in metres, m/s, rad or rad/s. mjlab has 0.01 for joint_pos, 1.5 for joint_vel, 0.2 for base_ang_vel and 0.05 for
	// projected_gravity.
	Height           float64 `yaml:"height" config:"min=0"`
	ProjectedGravity float64 `yaml:"projected_gravity" config:"min=0"`
	BaseLinVel       float64 `yaml:"base_lin_vel" config:"min=0"`
	BaseAngVel       float64 `yaml:"base_ang_vel" config:"min=0"`
	JointPos         float64 `yaml:"joint_pos" config:"min=0"`
	JointVel         float64 `yaml:"joint_vel" config:"min=0"`
	KeyPos           float64 `yaml:"key_pos" config:"min=0"`
}

type characterPush struct {
	// Velocity is the largest change of each of the root's two horizontal velocities in m/s. 0.5 is a shove.
	Velocity float64 `yaml:"velocity" config:"min=0"`
	// Seconds is the time between pushes.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

type characterTerrain struct {
	// Slope is the largest gradient of hills; Steps and Rough are the largest heights in metres of steps, 0.3 m deep,
	// and of bumps. They grow from 0 in the first level. 0 leaves a kind out.
	Slope float64 `yaml:"slope" config:"min=0,max=2"`
	Steps float64 `yaml:"steps" config:"min=0,max=1"`
	Rough float64 `yaml:"rough" config:"min=0,max=1"`
	// Levels is the number of levels; 0 is 10.
	Levels int `yaml:"levels" config:"min=0,max=100"`
	// Size is the side of a level's square in metres, with the start in its middle; 0 is 8.
	Size float64 `yaml:"size" config:"min=0,max=100"`
	// Curriculum begins at the first level: a character that leaves its square moves up, one that goes less than half
	// as far as commanded moves down. Otherwise levels are random.
	Curriculum bool `yaml:"curriculum"`
}

// config returns the settings as package mujoco has them.
func (r *characterRandomize) config() mujoco.RandomizeConfig {
	return mujoco.RandomizeConfig{Friction: r.Friction, Mass: r.Mass, CenterOfMass: r.CenterOfMass,
		Stiffness: r.Stiffness, Damping: r.Damping, MotorStrength: r.MotorStrength, Armature: r.Armature,
		JointOffset: r.JointOffset, ActionDelay: r.ActionDelay, ObservationDelay: r.ObservationDelay,
		ObservationNoise: mujoco.NoiseConfig(r.ObservationNoise), Push: mujoco.PushConfig(r.Push),
		Terrain:    mujoco.TerrainConfig(r.Terrain),
		Curriculum: r.Curriculum}
}
