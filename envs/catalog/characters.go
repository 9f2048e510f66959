package catalog

import (
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/motions"
)

func init() {
	Register("Humanoid", characterDefaults(), func(s characterSettings) (envs.Env, error) {
		return newCharacter(s, mujoco.NewHumanoid, motions.Humanoid)
	})
	Register("Quadruped", characterDefaults(), func(s characterSettings) (envs.Env, error) {
		return newCharacter(s, mujoco.NewQuadruped, func(c *motions.Clip) (*motions.Clip, error) { return c, nil })
	})
}

// characterSettings are those of mujoco.NewHumanoid and mujoco.NewQuadruped.
type characterSettings struct {
	Batch `yaml:",inline"`
	// Task is what is rewarded: imitate (every step equally; AMP's style reward counts), track (the clip's pose at
	// this moment, as in DeepMimic) or command (the commanded direction and speed).
	Task string `yaml:"task" config:"oneof=imitate|track|command"`
	// Motions are the clips, drawn by their weights: humanoid_walk, humanoid_run, or paths of files. DeepMimic's and
	// Isaac Lab's humanoids are converted. Default: humanoid_walk; of the quadruped generated trots.
	Motions []string `yaml:"motions"`
	// Command says what is commanded in the task command.
	Command characterCommand `yaml:"command"`
	// Residual adds actions to the clip's present pose instead of the middle of joint ranges. It needs one wrapping
	// clip and shows its phase.
	Residual bool `yaml:"residual"`
	// Lead is the time in seconds by which the residual's pose is ahead, against the actuators' lag of 0.1 s. Quick
	// motion needs it.
	Lead float64 `yaml:"lead" config:"min=0"`
	// Clock shows the clip's phase to the policy, as residual and track always do.
	Clock bool `yaml:"clock"`
	// ActionScale is the change of a joint's target by an action of 1, in half the clips' range of the joint plus
	// 0.2 rad. Larger ones explore more and fall more; with small ones a policy cannot recover.
	ActionScale float64 `yaml:"action_scale" config:"gt=0"`
	// History is the number of control steps in an AMP observation; 0 is 2, with difference 1. A longer one shows
	// more of the movement and is easier to discriminate.
	History int `yaml:"history" config:"min=0,max=64"`
	// Difference makes AMP observations the clip minus the character, for AMP's discriminator_mode differential. It
	// needs residual, clock or track, and a history of 1.
	Difference bool `yaml:"difference"`
	// HideRoot omits the root's height, rotation and velocities from AMP observations: the trunk of a generated gait
	// glides, which a discriminator notices at once.
	HideRoot bool `yaml:"hide_root"`
	// Deviation is the distance in metres from the clip at which track terminates. Small ones save time far from the
	// clip; large ones allow recoveries.
	Deviation float64 `yaml:"deviation" config:"gt=0"`
	// FailureStarts is the share of training episodes that begin in the clips' parts (an eighth, at most a second)
	// where others terminated, in proportion. Larger shares practise failures; smaller ones keep what works.
	FailureStarts float64 `yaml:"failure_starts" config:"min=0,max=1"`
	// FailureDecay is the factor of the counts of terminations per step. Larger ones remember longer, 1/(1 −
	// failure_decay) steps; smaller ones follow a changing policy.
	FailureDecay float64 `yaml:"failure_decay" config:"gt=0,lt=1"`
	// EpisodeLength is the number of control steps of 1/30 s at which an episode is truncated.
	EpisodeLength int `yaml:"episode_length" config:"min=1"`
	// Stagger shortens first episodes by a random number of steps below it, so that time limits do not coincide; 0
	// does not.
	Stagger int `yaml:"stagger" config:"min=0"`
	// Fade is the number of control steps over which track becomes imitate: all that the character gets of its clip
	// fades linearly to nothing, so that a policy learns by AMP to do without. 0 is never.
	Fade int `yaml:"fade" config:"min=0"`
	// Recovery makes falls part of an episode, so that a policy learns to get up.
	Recovery characterRecovery `yaml:"recovery"`
	// Randomize lets characters differ in what nobody knows of a robot: friction, masses, gains, delays, noise, pushes.
	// A range is two numbers, drawn from anew for each episode; wider ones make a policy robust and its task harder.
	// Two zeros are off.
	Randomize characterRandomize `yaml:"randomize"`
	// Measure adds metrics of episodes (pose error of the AMP paper, success, sliding feet). They cost time at the
	// end of an episode; gorl eval always has them.
	Measure bool `yaml:"measure"`
	// Workers is the number of goroutines that step; 0 is one per CPU. Results do not depend on it.
	Workers int `yaml:"workers" config:"min=0"`
	// Render says how pictures look.
	Render characterRender `yaml:"render"`
}

type characterCommand struct {
	// MinSpeed and MaxSpeed bound the uniformly drawn speed in m/s. If all four are 0, it is the clips' mean speed.
	MinSpeed float64 `yaml:"min_speed" config:"min=0"`
	MaxSpeed float64 `yaml:"max_speed" config:"min=0"`
	// Turn is the greatest change of direction in radians; 0 is straight ahead.
	Turn float64 `yaml:"turn" config:"min=0,max=3.1416"`
	// Seconds is the time between commands; 0 is one per episode.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

type characterRecovery struct {
	// Seconds is the time to get back on the feet, after which the episode terminates; 0 ends episodes at a fall.
	Seconds float64 `yaml:"seconds" config:"min=0"`
	// Share is the share of episodes that begin on the floor. Larger shares train more on getting up.
	Share float64 `yaml:"share" config:"min=0,max=1"`
}

type characterRender struct {
	// Width and Height are in pixels.
	Width  int `yaml:"width" config:"min=1,max=8192"`
	Height int `yaml:"height" config:"min=1,max=8192"`
	// Azimuth is the camera's direction in degrees: 0 is along x, the direction of walking; 90 shows the right side.
	// Elevation is its angle downwards.
	Azimuth   float64 `yaml:"azimuth" config:"min=-360,max=360"`
	Elevation float64 `yaml:"elevation" config:"min=1,max=89"`
	// Distance is the camera's in metres; 0 shows the whole character and the clip.
	Distance float64 `yaml:"distance" config:"min=0"`
	// Title is written into the upper left corner.
	Title string `yaml:"title"`
}

// characterDefaults returns the defaults of the keys. A zero in the fields of mujoco.CharacterConfig often means a
// default, so these are given in full.
func characterDefaults() characterSettings {
	return characterSettings{Batch: Defaults(), Task: string(mujoco.Imitate), ActionScale: 0.4, Deviation: 0.5,
		FailureDecay:  0.999,
		EpisodeLength: 300, Render: characterRender{Width: 480, Height: 320, Azimuth: 115, Elevation: 12}}
}

// newCharacter makes the environment of settings. onto converts a clip of another character for this one.
func newCharacter(s characterSettings, make func(mujoco.CharacterConfig) (*mujoco.Character, error),
	onto func(*motions.Clip) (*motions.Clip, error)) (envs.Env, error) {
	cfg := mujoco.CharacterConfig{
		NumEnvs: s.NumEnvs, Seed: s.Seed, Workers: s.Workers, EpisodeLength: s.EpisodeLength, Stagger: s.Stagger,
		Task: mujoco.CharacterTask(s.Task), Residual: s.Residual, Lead: s.Lead, Fade: s.Fade, Clock: s.Clock,
		ActionScale: s.ActionScale,
		History:     s.History, Difference: s.Difference, HideRoot: s.HideRoot, Deviation: s.Deviation,
		FailureStarts: s.FailureStarts, FailureDecay: s.FailureDecay, Measure: s.Measure,
		Command: mujoco.CommandConfig(s.Command), Recovery: mujoco.RecoveryConfig(s.Recovery),
		Randomize: s.Randomize.config(),
		Render: mujoco.RenderConfig{Width: s.Render.Width, Height: s.Render.Height, Title: s.Render.Title,
			Camera: mujoco.Camera{Azimuth: s.Render.Azimuth, Elevation: s.Render.Elevation,
				Distance: s.Render.Distance}},
	}
	// To mujoco.Camera an azimuth of 0 stands for the default of 115°. 360° is the same direction as 0.
	if c := &cfg.Render.Camera; c.Azimuth == 0 {
		c.Azimuth = 360
	}
	for _, path := range s.Motions {
		clip, err := motions.Builtin(path)
		if err != nil {
			clip, err = motions.Load(path)
		}
		if err == nil {
			clip, err = onto(clip)
		}
		if err != nil {
			return nil, fmt.Errorf("\"motions\": %w", err)
		}
		cfg.Motions = append(cfg.Motions, clip)
	}
	env, err := make(cfg)
	if err != nil {
		return nil, err
	}
	return env, nil
}
