package mujoco

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/motions"
)

//go:embed walker.xml
var walkerText string

// walkerXML is walker.xml for the version of MuJoCo in use.
var walkerXML = builtIn(walkerText)

// WalkerXML returns the MJCF text of the walker's model, as a start for other models.
func WalkerXML() string { return walkerXML }

// WalkerConfig configures [NewWalker]. The zero value is one walker that learns from the built-in gait. The tags are
// for package catalog.
type WalkerConfig struct {
	// NumEnvs is the number of walkers. Zero means 1.
	NumEnvs int `yaml:"-"`
	// Seed seeds the randomness of resets. It must not be negative.
	Seed int64 `yaml:"-"`
	// HideVelocities leaves the nine velocities out of observations and adds states that contain them. A policy then
	// needs a memory. A value network can read the states.
	HideVelocities bool `yaml:"-"`
	// Motion is the reference clip. It must wrap and have the nine columns of [motions.Gait]. Nil means Gait().
	Motion *motions.Clip `yaml:"-"`
	// TargetSpeed is the forward speed in m/s that the task rewards.
	//
	// Zero means 1.3.
	TargetSpeed float64 `yaml:"target_speed"`
	// EpisodeLength is the number of control steps of 0.02 s at which an episode is truncated.
	//
	// Zero means 300.
	EpisodeLength int `yaml:"episode_length" config:"min=1"`
	// Stagger is the largest random number of steps by which first episodes are shorter, so that time limits do not
	// coincide.
	Stagger int `yaml:"stagger" config:"min=0"`
	// Workers is the number of goroutines that step; 0 is one per CPU. Results do not depend on it.
	Workers int `yaml:"workers" config:"min=0"`
	// Render says how pictures look.
	//
	// Zero means 320 × 320 pixels, seen from the right (Azimuth 90).
	Render RenderConfig `yaml:"render"`
}

// Walker is a batch of planar bipeds with seven bodies and nine degrees of freedom. They learn to walk by reward, by
// imitation of a gait, or by both.
//
// An observation (17) has the pelvis height minus 0.92 m, the pitch and six joint angles (hip, knee, ankle; right,
// left). Nine velocities follow: forward, upward, pitch × 0.5, joints × 0.2. An AMP observation (34) is two consecutive
// observations. With WalkerConfig.HideVelocities observations are the first eight of these numbers and states are all
// 17. AMP observations do not change.
//
// An action (6), clipped to [−1.5, 1.5], sets position targets of the joints around (0.2, 0.5, −0.05) rad, in units of
// (0.6, 0.7, 0.4) rad. A control step is 0.02 s: five time steps of the simulation.
//
// An episode begins in a random frame of the clip. It terminates if the pelvis is more than 0.25 m below its initial
// height or the pitch beyond ±1 rad. It is truncated after 300 steps. The reward is exp(−2 (v − 1.3)²), where v is the
// forward speed in m/s.
//
// Metrics of an episode are its "length", its mean "speed" in m/s, and its mean "joint_error" in radians. The error of
// a step is the mean absolute difference of the six joint angles to the nearest frame of the clip.
//
// The reward can be shaped (see [envs.RewardShaper]): it is weight · exp(−sharpness (v − 1.3)²) + alive, with the
// parameters "speed.weight" (1), "speed.sharpness" (2) and "alive" (0). The metrics do not depend on them.
type Walker struct {
	*Env
	shaper[walkerTerms]
	task *walkerTask
}

// NewWalker makes a batch of walkers. The error says which setting is wrong.
func NewWalker(cfg WalkerConfig) (*Walker, error) {
	cfg.EpisodeLength = cmp.Or(cfg.EpisodeLength, 300)
	cfg.TargetSpeed = cmp.Or(cfg.TargetSpeed, 1.3)
	cfg.Render.Width = cmp.Or(cfg.Render.Width, 320)
	cfg.Render.Camera.Azimuth = cmp.Or(cfg.Render.Camera.Azimuth, 90)
	if cfg.TargetSpeed-cfg.TargetSpeed != 0 {
		return nil, fmt.Errorf("mujoco: walker: TargetSpeed is %g; it must be finite", cfg.TargetSpeed)
	}
	if cfg.Motion == nil {
		cfg.Motion = motions.Gait()
	}
	if err := checkWalkerMotion(cfg.Motion); err != nil {
		return nil, err
	}
	task := newWalkerTask(cfg.Motion, cfg.TargetSpeed, max(1, cfg.NumEnvs))
	task.hide = cfg.HideVelocities
	env, err := New(Config{
		XML: walkerXML, NumEnvs: cfg.NumEnvs, Substeps: walkerSubsteps, Workers: cfg.Workers, Seed: cfg.Seed,
		EpisodeLength: cfg.EpisodeLength, Stagger: cfg.Stagger, Render: cfg.Render,
	}, task)
	if err != nil {
		return nil, err
	}
	return &Walker{Env: env, task: task, shaper: shaper[walkerTerms]{name: "walker", common: defaultWalkerTerms,
		each: task.terms, fields: (*walkerTerms).fields}}, nil
}

// checkWalkerMotion returns an error unless the clip has the walker's nine columns and wraps. Reference observations
// come in pairs, so the clip must last at least two control steps.
func checkWalkerMotion(c *motions.Clip) error {
	if c.Width() != walkerDOF || c.VelocityWidth() != walkerDOF {
		return fmt.Errorf("mujoco: walker: the clip %q has %d values a frame; it needs %d: x, z, pitch, and hip, "+
			"knee, ankle of the right and the left leg",
			c.Name(), c.Width(), walkerDOF)
	}
	if c.Loop() != motions.LoopWrap || c.Duration() < 2*walkerControlStep {
		return errors.New("mujoco: walker: the clip must wrap and last at least two control steps (0.04 s)")
	}
	return nil
}

// walkerTerms are the parameters of an environment's reward, see [Walker].
type walkerTerms struct{ weight, sharpness, alive float64 }

// defaultWalkerTerms give the reward exp(−2 (v − target)²).
var defaultWalkerTerms = walkerTerms{weight: 1, sharpness: 2}

// fields returns pointers to the parameters by their keys.
func (t *walkerTerms) fields() map[string]*float64 {
	return map[string]*float64{"speed.weight": &t.weight, "speed.sharpness": &t.sharpness, "alive": &t.alive}
}

// Motion returns the reference clip.
func (w *Walker) Motion() *motions.Clip { return w.task.clip }
