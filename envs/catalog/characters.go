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
	// Task is what is rewarded: imitate (every step alike; the style reward of AMP counts), track (being where the clip
	// is at this moment, as DeepMimic does) or command (moving in the direction and at the speed wanted).
	Task string `yaml:"task" config:"oneof=imitate|track|command"`
	// Motions are the clips to move like, drawn by their weights: names of those that come with gorl (humanoid_walk,
	// humanoid_run), or paths of files. Clips of DeepMimic's and Isaac Lab's humanoids are carried over. None:
	// humanoid_walk, and of the quadruped generated trots.
	Motions []string `yaml:"motions"`
	// Command says what is commanded in the task command.
	Command characterCommand `yaml:"command"`
	// Residual adds actions to the clip's pose at this moment, instead of to the middle of its joint ranges. It needs
	// one wrapping clip, and shows its phase to the policy.
	Residual bool `yaml:"residual"`
	// Lead is by how many seconds the pose that residual targets move about is ahead of this moment. The characters'
	// actuators follow a target 0.1 s late, which this lead makes up for: quick motion needs it. A longer one is too
	// early.
	Lead float64 `yaml:"lead" config:"min=0"`
	// Clock shows the clip's phase to the policy. Residual targets and the task track always do.
	Clock bool `yaml:"clock"`
	// ActionScale is the change of a joint's target by an action of 1, in units of half the clips' range of the joint
	// plus 0.2 rad. Larger ones explore more, and fall more; with small ones a policy cannot recover.
	ActionScale float64 `yaml:"action_scale" config:"gt=0"`
	// History is the number of control steps that an AMP observation holds; 0 is 2, and 1 with difference. A longer one
	// shows more of the movement, and is easier to tell from the clip's.
	History int `yaml:"history" config:"min=0,max=64"`
	// Difference makes AMP observations what the clip is at this moment less what the character is, for AMP's
	// discriminator_mode differential. It needs residual, clock or the task track, and a history of 1.
	Difference bool `yaml:"difference"`
	// HideRoot leaves the root's height, rotation and velocities out of AMP observations. A generated gait's trunk
	// glides as no physical one does, and a discriminator that sees it need look no further.
	HideRoot bool `yaml:"hide_root"`
	// Deviation is the distance in metres from the clip at which the task track terminates. Small ones waste no time
	// far from the clip; large ones allow recoveries.
	Deviation float64 `yaml:"deviation" config:"gt=0"`
	// FailureStarts is the share of episodes that begin where others terminated, in a clip and a part of it (an eighth,
	// or a second where that is shorter) drawn in proportion to the terminations there; the others begin anywhere, and
	// all do in gorl eval. Larger shares spend more on what fails, smaller ones keep what works from being forgotten; 0
	// is none.
	FailureStarts float64 `yaml:"failure_starts" config:"min=0,max=1"`
	// FailureDecay is the factor by which the counts of terminations shrink in a step of all environments. Larger ones
	// remember for longer, 1/(1 − failure_decay) steps, and are less subject to chance; smaller ones follow a policy
	// that changes fast.
	FailureDecay float64 `yaml:"failure_decay" config:"gt=0,lt=1"`
	// EpisodeLength is the number of control steps, of 1/30 s, after which an episode is truncated.
	EpisodeLength int `yaml:"episode_length" config:"min=1"`
	// Stagger shortens first episodes by a random number of steps below it, so that a batch does not come to its time
	// limits all at once; 0 does not.
	Stagger int `yaml:"stagger" config:"min=0"`
	// Fade has the task track become imitate within so many control steps of each environment: what a character is told
	// of its clip (residual targets, clock, the clip's place, the reward, the deviation allowed) goes linearly to
	// nothing. A policy that tracks a clip learns by AMP to do without it. A longer one is easier to follow; 0 is
	// never.
	Fade int `yaml:"fade" config:"min=0"`
	// Measure adds figures of whole episodes: the pose error of the AMP paper, success, the sliding of feet and others.
	// They take time where an episode ends; gorl eval always has them.
	Measure bool `yaml:"measure"`
	// Workers is the number of goroutines that step; 0 means one a CPU. Results do not depend on it.
	Workers int `yaml:"workers" config:"min=0"`
	// Render says how pictures look.
	Render characterRender `yaml:"render"`
}

type characterCommand struct {
	// MinSpeed and MaxSpeed bound the speed in m/s, which is drawn uniformly. Both 0, with the other settings 0: the
	// clips' mean speed.
	MinSpeed float64 `yaml:"min_speed" config:"min=0"`
	MaxSpeed float64 `yaml:"max_speed" config:"min=0"`
	// Turn bounds the angle in radians by which a new direction differs from the last one. Larger ones ask for sharper
	// turns; 0 is always straight ahead.
	Turn float64 `yaml:"turn" config:"min=0,max=3.1416"`
	// Seconds is the time after which another command is given; 0 gives one an episode.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

type characterRender struct {
	// Width and Height are in pixels.
	Width  int `yaml:"width" config:"min=1,max=8192"`
	Height int `yaml:"height" config:"min=1,max=8192"`
	// Azimuth is the direction in degrees in which the camera looks: 0 is along x, the way that a character walks, and
	// 90 shows its right side. Elevation is the angle by which it looks down.
	Azimuth   float64 `yaml:"azimuth" config:"min=-360,max=360"`
	Elevation float64 `yaml:"elevation" config:"min=1,max=89"`
	// Distance is that of the camera in metres; 0 shows the whole character, and the clip beside it.
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
		Command: mujoco.CommandConfig(s.Command),
		Render: mujoco.RenderConfig{Width: s.Render.Width, Height: s.Render.Height, Title: s.Render.Title,
			Camera: &mujoco.Camera{Azimuth: s.Render.Azimuth, Elevation: s.Render.Elevation,
				Distance: s.Render.Distance}},
	}
	// To mujoco.Camera an azimuth of 0 stands for the default of 115°. 360° is the same direction as 0.
	if c := cfg.Render.Camera; c.Azimuth == 0 {
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
