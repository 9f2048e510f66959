package mujoco

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/motions"
)

// CharacterTask is what a [Character] is rewarded for.
type CharacterTask string

const (
	// Imitate rewards every step by the same amount. The style reward of AMP does the rest.
	Imitate CharacterTask = "imitate"
	// Track rewards a state close to the clip's at this moment, as DeepMimic does.
	Track CharacterTask = "track"
	// Command rewards moving in a commanded direction at a commanded speed.
	Command CharacterTask = "command"
	// Velocity rewards a commanded velocity forwards, sideways and in turning, as the velocity tasks of mjlab and Isaac
	// Lab do.
	Velocity CharacterTask = "velocity"
)

// CommandConfig sets the distribution of commands in the task [Command].
type CommandConfig struct {
	// MinSpeed and MaxSpeed bound the uniformly drawn speed in m/s. If they, Turn and Seconds are all 0, it is
	// the clips' mean speed.
	MinSpeed float64 `yaml:"min_speed" config:"min=0"`
	MaxSpeed float64 `yaml:"max_speed" config:"min=0"`
	// Turn is the greatest change of direction in radians; 0 is straight ahead.
	//
	// The angle between the directions of two consecutive commands is drawn uniformly from [−Turn, Turn]. The first
	// direction is relative to the heading.
	Turn float64 `yaml:"turn" config:"min=0,max=3.1416"`
	// Seconds is the time between commands; 0 is one per episode.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

// CharacterConfig configures [NewCharacter]. The tags are for package catalog.
type CharacterConfig struct {
	// NumEnvs is the number of characters. Zero means 1.
	NumEnvs int `yaml:"-"`
	// Seed seeds the randomness of resets and commands. It must not be negative.
	Seed int64 `yaml:"-"`
	// Body describes the character's model.
	Body CharacterBody `yaml:"-"`
	// Motions are the reference clips, drawn by weight. Their columns are the root's x, y and z, its rotation, and the
	// hinges of the body by name, in the model's order. Without clips there are no AMP observations, an episode begins
	// in the body's DefaultPose, and only the tasks [Velocity] and [Command] are possible.
	Motions []*motions.Clip `yaml:"-"`
	// Task selects the reward. Empty means [Imitate].
	Task CharacterTask `yaml:"-"`
	// Velocity says what is commanded in the task velocity.
	//
	// The zero value commands standing still.
	Velocity VelocityConfig `yaml:"velocity"`
	// Command says what is commanded in the task command.
	//
	// The zero value means the clips' mean speed, straight ahead.
	Command CommandConfig `yaml:"command"`
	// Observations are the terms of the policy's observation: base_lin_vel, base_ang_vel, projected_gravity, joint_pos,
	// joint_vel, actions, command, phase, reference, height, features. The value network's STATES then have all terms.
	// Default: all for both.
	//
	// [ObservationTerms] describes them.
	Observations []string `yaml:"observations"`
	// Residual adds actions to the first clip's pose at this moment instead of the middle of joint ranges, and shows
	// its phase. That clip must be a loop; others are reference motion of AMP only.
	//
	// A policy whose actions are 0 then already follows the clip's targets. Residual turns on Clock.
	Residual bool `yaml:"residual"`
	// Lead is the time in seconds by which the residual's pose is ahead of the clip, against the actuators' lag of 0.1
	// s. Fast motion needs it.
	//
	// Actuators with damping kd and gain kp follow a target with a delay of kd/kp. A lead equal to the delay
	// compensates it. A longer lead moves the limbs too early. Zero means none.
	Lead float64 `yaml:"lead" config:"min=0"`
	// Clock shows the clip's phase to the policy, as residual and track always do.
	//
	// It shows sine and cosine. The clip must wrap. Further clips, which [Track] and Difference do not allow, are
	// reference motion for AMP only.
	Clock bool `yaml:"clock"`
	// ActionScale is the change of a joint's target by an action of 1, in units of half the clips' range of the joint
	// plus 0.2 rad. Larger ones explore more and fall more; with small ones a policy cannot recover.
	//
	// Zero means 0.4. For a body with Actuators it is a factor of their scales, and zero means 1.
	ActionScale float64 `yaml:"action_scale" config:"gt=0"`
	// History is the number of control steps in an AMP observation; 0 is 2, with difference 1. More steps show more of
	// the movement and are easier to discriminate.
	//
	// Difference allows only 1.
	History int `yaml:"history" config:"min=0,max=64"`
	// Difference makes AMP observations the clip minus the character, for AMP's discriminator_mode differential. It
	// needs residual, clock or track, and a history of 1.
	//
	// The discriminator must compare them with zeros (ADD). First come the root's differences in position, rotation
	// (axis times angle), linear and angular velocity (3 each), in the clip's heading frame. The hinges' angles and
	// velocities follow. Last come the key bodies' positions relative to the root (3 each), those of clip and character
	// each in its own heading frame.
	Difference bool `yaml:"difference"`
	// HideRoot omits the root's height, rotation and velocities from AMP observations. Use it with generated gaits,
	// whose trunk glides.
	//
	// A discriminator could distinguish such a gait from a physical one by the trunk alone.
	HideRoot bool `yaml:"hide_root"`
	// Deviation is the distance in metres from the clip at which track terminates.
	//
	// A small one saves time far from the clip; a large one allows recoveries. It applies to the root, and to the key
	// bodies relative to the root. Zero means 0.5.
	Deviation float64 `yaml:"deviation" config:"gt=0"`
	// FailureStarts is the share of training episodes that begin where others terminated: in the same part of a clip
	// (an eighth, at most a second).
	//
	// A larger share practises failures; a smaller one keeps what works. The part is drawn in proportion to the
	// terminations there, as in BeyondMimic (Liao et al. 2025). The other episodes begin anywhere. A termination counts
	// for the clip's part at that time or, without a clock, for the part in which the episode began. Counts of
	// terminations fall by a thousandth per control step.
	FailureStarts float64 `yaml:"failure_starts" config:"min=0,max=1"`
	// EpisodeLength is the number of control steps (1/30 s for Humanoid and Quadruped) at which an episode is
	// truncated.
	//
	// Zero means 300.
	EpisodeLength int `yaml:"episode_length" config:"min=1"`
	// Stagger is the largest random number of steps by which first episodes are shorter, so that time limits do not
	// coincide.
	Stagger int `yaml:"stagger" config:"min=0"`
	// Fade is the number of control steps over which track becomes imitate: the clip's part in targets, observations
	// and reward fades linearly to nothing. 0 is never.
	//
	// A policy that tracks a clip thereby learns to imitate without the clip, when training continues with AMP. The
	// reward approaches 1 per step. The limit Deviation grows to infinity. A longer fade is easier to follow.
	Fade int `yaml:"fade" config:"min=0"`
	// Recovery makes falls part of an episode, so that a policy learns to get up.
	//
	// The reward of a fallen character is for getting up.
	Recovery RecoveryConfig `yaml:"recovery"`
	// Randomize varies what is not known exactly of a robot: friction, masses, gains, delays, noise, pushes.
	//
	// A range is two numbers. Each episode draws a value from it. Wider ranges make a policy robust and its task
	// harder. Two zeros are off.
	Randomize RandomizeConfig `yaml:"randomize"`
	// Measure adds metrics of episodes (pose error of the AMP paper, success, foot sliding), which cost time. gorl eval
	// always has them.
	//
	// See [Character]. Each metric takes milliseconds at the end of an episode.
	Measure bool `yaml:"measure"`
	// Workers is the number of goroutines that step; 0 is one per CPU. Results do not depend on it.
	Workers int `yaml:"workers" config:"min=0"`
	// Render says how pictures look.
	Render RenderConfig `yaml:"render"`
}

// Character is a batch of characters that learn from clips: by imitation, by tracking, or by commands.
//
// # Observations
//
// Features of a moment are, in this order: the root's height; its x and z axes (6); its linear and angular velocity
// (6); the hinges' angles and velocities; and the key bodies' positions relative to the root (3 each). Vectors are in
// the heading frame: the world turned about the vertical so that the root's x axis points ahead.
//
// An observation begins with the features. With a clock, sine and cosine of the clip's phase follow. In the task
// [Track], the clip's root relative to the character's follows (3, heading frame), with sine and cosine of the angle
// between their headings. In the task [Command], the commanded direction (2, heading frame) and speed in m/s follow. In
// the task [Velocity], the commanded velocity forwards and to the left in m/s and the turn in rad/s follow. With
// Observations this is the state.
//
// An AMP observation holds the features of the last History control steps, the oldest first. With Difference it holds
// the difference from the clip instead. HideRoot leaves out the root's part.
//
// # Actions and episodes
//
// Actions, clipped to [−5, 5], move the targets of position actuators, see CharacterConfig.ActionScale. An episode
// begins at a random moment of a clip, or with FailureStarts where others failed. It terminates if a body other than
// a foot touches the floor, or if the root is too low or tilted too far. In the task [Track] it also terminates if the
// character is too far from the clip. With Recovery an episode goes on after a fall, see [RecoveryConfig].
//
// # Metrics
//
// Metrics of an episode are:
//   - "length", in control steps;
//   - "speed": the mean speed in m/s along the heading or, in the task [Command], in the commanded direction;
//   - "joint_error": the mean absolute difference in radians of the hinges' angles to the clip at this moment. Without
//     a clock it is the difference to the nearest frame of any clip;
//   - "velocity_error", in the task [Command]: the mean distance in m/s between the root's horizontal velocity and the
//     commanded one. In the task [Velocity] likewise, and "turn_error" in rad/s.
//
// Measure adds those of package motions/metrics. Their reference is the clip with the smallest pose error. A metric for
// which an episode is too short is left out:
//   - "pose_error": the distance in metres of the bodies from the clip's under dynamic time warping, as in the AMP
//     paper. Bodies are relative to their root. The heading counts only in the task [Track];
//   - "success": 1 if the episode did not terminate and, in the task [Track], its bodies stayed within 0.5 m of the
//     clip's. Otherwise 0;
//   - "survived", in the task [Track]: 1 if the episode did not terminate, wherever the clip's bodies were;
//   - "root_velocity_error" in m/s, in the task [Track];
//   - "foot_sliding" in m/s, if the clips have a skeleton;
//   - "phase_error", if there are several feet and all clips wrap: the largest difference, in cycles, between the
//     phases of a foot's height in episode and clip, relative to the first foot;
//   - "coverage", if there are several clips: the share of clips that are nearest to some pose of the episode;
//   - with Recovery, "falls": their number; "recovered": the share of them after which the character was on its feet
//     again in time; "recovery_time": the mean time in seconds that this took. A fall that the time limit of the
//     episode interrupts does not count.
//
// The reward can be shaped, see [envs.RewardShaper] and docs/reference/environments.md.
type Character struct {
	*Env
	shaper[characterTerms]
	task *characterTask
}

// NewHumanoid makes humanoids. The default Body is [HumanoidBody]. The default Motions are the walk of
// [motions.Builtin].
func NewHumanoid(cfg CharacterConfig) (*Character, error) {
	if cfg.Body.XML == "" {
		cfg.Body = HumanoidBody()
	}
	if cfg.Motions == nil {
		clip, err := motions.Builtin("humanoid_walk")
		if err != nil {
			return nil, fmt.Errorf("mujoco: humanoid: %w", err)
		}
		cfg.Motions = []*motions.Clip{clip}
	}
	return NewCharacter(cfg)
}

// NewQuadruped makes quadrupeds. The default Body is [QuadrupedBody]. The default Motions are generated trots
// ([motions.Trot]) of 0.3, 0.6 and 0.9 m/s, or of 0.6 m/s alone if a clock needs a single clip.
func NewQuadruped(cfg CharacterConfig) (*Character, error) {
	if cfg.Body.XML == "" {
		cfg.Body = QuadrupedBody()
	}
	if cfg.Motions == nil {
		speeds := []float64{0.3, 0.6, 0.9}
		if cfg.Clock || cfg.Residual || cfg.Task == Track {
			speeds = speeds[1:2]
		}
		for _, speed := range speeds {
			clip, err := motions.Trot(speed)
			if err != nil {
				return nil, fmt.Errorf("mujoco: quadruped: %w", err)
			}
			cfg.Motions = append(cfg.Motions, clip)
		}
	}
	return NewCharacter(cfg)
}

// NewCharacter makes a batch of characters. The error says which setting, clip or part of the model is wrong.
func NewCharacter(cfg CharacterConfig) (*Character, error) {
	scale, history := 0.4, 2
	if cfg.Body.Actuators != nil {
		scale = 1
	}
	if cfg.Difference {
		history = 1
	}
	cfg.EpisodeLength, cfg.Task = cmp.Or(cfg.EpisodeLength, 300), cmp.Or(cfg.Task, Imitate)
	cfg.ActionScale, cfg.History = cmp.Or(cfg.ActionScale, scale), cmp.Or(cfg.History, history)
	cfg.Deviation = cmp.Or(cfg.Deviation, 0.5)
	cfg.Clock = cfg.Clock || cfg.Residual || cfg.Task == Track
	cfg.Render.complete()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("mujoco: character: %w", err)
	}
	var ground *terrain
	if cfg.Randomize.Terrain.on() {
		ground = newTerrain(cfg.Randomize.Terrain)
		if err := ground.install(&cfg.Body); err != nil {
			return nil, fmt.Errorf("mujoco: character: %w", err)
		}
	}
	task := &characterTask{cfg: cfg, terrain: ground,
		terms: slices.Repeat([]characterTerms{defaultCharacterTerms(cfg.Task)}, max(1, cfg.NumEnvs))}
	var played Task = task
	if cfg.Measure {
		played = &measuredTask{characterTask: task}
	}
	env, err := New(Config{
		XML: cfg.Body.XML, Assets: cfg.Body.Assets, NumEnvs: cfg.NumEnvs, Substeps: cfg.Body.Substeps,
		Workers: cfg.Workers, Seed: cfg.Seed, EpisodeLength: cfg.EpisodeLength, Stagger: cfg.Stagger,
		Render: cfg.Render, character: task,
	}, played)
	if err != nil {
		return nil, err
	}
	return &Character{Env: env, task: task, shaper: shaper[characterTerms]{name: "character",
		common: defaultCharacterTerms(cfg.Task), each: task.terms, fields: (*characterTerms).fields}}, nil
}

// check validates the settings after NewCharacter has filled in the defaults. Errors have no prefix.
func (c *CharacterConfig) check() error {
	switch {
	case c.Body.XML == "":
		return errors.New("there is no Body; give HumanoidBody(), QuadrupedBody() or one of your own")
	case c.Task != Imitate && c.Task != Track && c.Task != Command && c.Task != Velocity:
		return fmt.Errorf("Task is %q; there are %q, %q, %q and %q", c.Task, Imitate, Track, Command, Velocity)
	case len(c.Motions) == 0 && (c.Body.DefaultPose == nil || c.Task == Imitate || c.Task == Track || c.Clock ||
		c.Difference || c.FailureStarts > 0):
		return fmt.Errorf("there are no Motions; give at least one clip with the body's columns. Only a body with a "+
			"DefaultPose does without, in the tasks %q and %q, without Clock, Residual, Difference and "+
			"FailureStarts", Velocity, Command)
	case c.Fade > 0 && c.Task != Track:
		return fmt.Errorf("Fade is for the task %q, which becomes %q; the task is %q", Track, Imitate, c.Task)
	case c.Fade > 0 && c.Difference:
		return errors.New("Fade and Difference exclude each other: a difference needs the clip to the end")
	case c.Lead > 0 && !c.Residual:
		return errors.New("Lead needs Residual: without it targets do not follow the clip")
	case c.Difference && !c.Clock:
		return errors.New("Difference compares with the clip at this moment and needs Clock, Residual or the task " +
			"\"track\"")
	case c.Difference && c.History != 1:
		return fmt.Errorf("History is %d; with Difference an AMP observation is of one moment", c.History)
	case c.Clock && c.Motions[0].Loop() != motions.LoopWrap:
		return errors.New("Residual, Clock and the task \"track\" need a first clip that wraps")
	case (c.Task == Track || c.Difference) && len(c.Motions) != 1:
		return fmt.Errorf("the task %q and Difference need exactly one clip", Track)
	case (c.Task == Track || c.Difference) && c.Randomize.Terrain.on():
		return fmt.Errorf("Randomize.Terrain does not fit the task %q and Difference, whose clip is on flat ground",
			Track)
	}
	for name, r := range map[string][2]float64{"Command.MinSpeed to MaxSpeed": {c.Command.MinSpeed, c.Command.MaxSpeed},
		"Velocity.LinearX": c.Velocity.LinearX, "Velocity.LinearY": c.Velocity.LinearY,
		"Velocity.AngularZ": c.Velocity.AngularZ} {
		if r[0] > r[1] {
			return fmt.Errorf("%s is %g to %g; the smaller number comes first", name, r[0], r[1])
		}
	}
	return cmp.Or(config.Check(c, ""), c.Randomize.Terrain.check(), c.Recovery.check(c))
}

// Motions returns the reference clips.
func (c *Character) Motions() []*motions.Clip { return c.task.cfg.Motions }

// Supports reports whether the characters support an optional interface, as [Env.Supports] does. With Difference there
// is no reference motion, because AMP observations are compared with zeros. Without Fade and
// Randomize.Curriculum there is no curriculum.
func (c *Character) Supports(iface any) bool {
	switch iface.(type) {
	case *envs.MotionSource, *envs.OverlappingMotionSource:
		return !c.task.cfg.Difference && c.task.refs != nil
	case *envs.Curriculum:
		return c.curriculum() == nil
	}
	return c.Env.Supports(iface)
}
