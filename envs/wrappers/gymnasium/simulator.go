package gymnasium

import "time"

// Simulator names a simulator that steps a whole batch by itself. It decides how the batch is made and how its
// results are read.
type Simulator string

// The simulators there are. With a Factory each stands for the conventions of what the factory returns.
const (
	// Batch is any object with num_envs, reset and step, made by a factory.
	Batch Simulator = "batch"
	// Vector is gymnasium.make_vec.
	Vector Simulator = "vector"
	// EnvPool is made with the seed of a Reset, and made again for another seed.
	EnvPool Simulator = "envpool"
	// IsaacLab starts Isaac Lab's app first.
	IsaacLab Simulator = "isaaclab"
	// MJLab is mjlab's ManagerBasedRlEnv.
	MJLab Simulator = "mjlab"
	// ManiSkill is ManiSkill 3 in its ManiSkillVectorEnv.
	ManiSkill Simulator = "maniskill"
	// Playground is MuJoCo Playground, wrapped as for training with Brax.
	Playground Simulator = "playground"
	// Brax is brax.envs.create.
	Brax Simulator = "brax"
)

// Simulators are all of them.
var Simulators = []Simulator{Batch, Vector, EnvPool, IsaacLab, MJLab, ManiSkill, Playground, Brax}

// Autoreset is what a batch does with an environment whose episode ended, in Gymnasium's words.
type Autoreset string

// The modes of resetting.
const (
	// SameStep resets it within the step, so that the observation is that of the next episode.
	SameStep Autoreset = "same_step"
	// NextStep resets it in the next step, which ignores its action.
	NextStep Autoreset = "next_step"
	// Disabled does not reset it. The bridge resets it after it has read the last observation.
	Disabled Autoreset = "disabled"
)

// autoresets are the valid values of Options.Autoreset beside the empty one.
var autoresets = []Autoreset{SameStep, NextStep, Disabled}

// How long a simulator may take by default to start, which may compile, and for a step.
const (
	// StartSimulator is the default of Options.StartTimeout for simulators, whose start may compile.
	StartSimulator = 10 * time.Minute
	// StepSimulator is the default of Options.Timeout for simulators, whose first steps may compile, too.
	StepSimulator = 5 * time.Minute
)
