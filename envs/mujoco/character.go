package mujoco

import (
	_ "embed"
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/motions"
)

//go:embed humanoid.xml
var humanoidText string

//go:embed quadruped.xml
var quadrupedText string

var humanoidXML, quadrupedXML = builtIn(humanoidText), builtIn(quadrupedText)

// CharacterBody is a model with a free root that moves by position actuators, one a hinge, and what tasks need to know
// of it.
type CharacterBody struct {
	// Name is a short word, the prefix of batch metrics.
	Name string
	// XML is the MJCF text. Its first joint is free, all others are hinges, and actuator i moves hinge i.
	XML string
	// Substeps is the number of the model's time steps in a control step.
	Substeps int
	// Feet are the bodies that may touch the floor. Another one that does ends the episode.
	Feet []string
	// Keys are the bodies whose positions are observed: hands and feet.
	Keys []string
	// MinHeight is the height of the root in metres, and MaxTilt the angle in radians between its z axis and the
	// vertical, at which a character has fallen.
	MinHeight, MaxTilt float64
}

// HumanoidBody is a humanoid of 15 bodies and 28 hinges, 48.9 kg and 1.61 m, whose skeleton is that of Isaac Lab's and
// Isaac Gym's AMP humanoid. A control step is 1/30 s, four of the simulation's.
func HumanoidBody() CharacterBody {
	return CharacterBody{
		Name: "humanoid", XML: humanoidXML, Substeps: 4,
		Feet:      []string{"right_foot", "left_foot"},
		Keys:      []string{"right_hand", "left_hand", "right_foot", "left_foot"},
		MinHeight: 0.6, MaxTilt: 1,
	}
}

// QuadrupedBody is a quadruped of 17 bodies and 12 hinges, 12.5 kg, of a small robot dog's sizes. A control step is
// 1/30 s, four of the simulation's.
func QuadrupedBody() CharacterBody {
	feet := []string{"FR_foot", "FL_foot", "RR_foot", "RL_foot"}
	return CharacterBody{Name: "quadruped", XML: quadrupedXML, Substeps: 4, Feet: feet, Keys: feet, MinHeight: 0.15,
		MaxTilt: 1}
}

// CharacterTask is what a [Character] is rewarded for.
type CharacterTask string

const (
	// Imitate rewards every step alike: what counts is the style reward of AMP.
	Imitate CharacterTask = "imitate"
	// Track rewards being where the clip is at this moment, as DeepMimic does.
	Track CharacterTask = "track"
	// Command rewards moving in a commanded direction at a commanded speed.
	Command CharacterTask = "command"
)

// CommandConfig says what is commanded in the task [Command].
type CommandConfig struct {
	// MinSpeed and MaxSpeed bound the speed in m/s, which is drawn uniformly.
	MinSpeed, MaxSpeed float64
	// Turn bounds the angle in radians, drawn uniformly on both sides, by which a new command's direction differs from
	// the last one's, and the first one's from the heading. Larger ones ask for sharper turns; 0 is always straight
	// ahead.
	Turn float64
	// Seconds is the time after which another command is given; 0 gives one an episode. Shorter times ask for quicker
	// reactions.
	Seconds float64
}

// CharacterConfig configures [NewCharacter].
type CharacterConfig struct {
	// NumEnvs is the number of characters. Zero means 1.
	NumEnvs int
	// Seed seeds the randomness of resets and commands. It must not be negative.
	Seed int64
	// Workers is the number of goroutines that step; 0 means one a CPU. The results do not depend on it.
	Workers int
	// EpisodeLength is the number of control steps after which an episode is truncated. Zero means 300, ten seconds at
	// 30 Hz.
	EpisodeLength int
	// Stagger shortens first episodes by a random number of steps below it. Zero: none.
	Stagger int
	// Body is the character.
	Body CharacterBody
	// Motions are the reference clips, drawn by weight. Their columns are the root's x, y and z, its rotation, and the
	// hinges of the body by name, in the model's order.
	Motions []*motions.Clip
	// Task is what is rewarded. Empty means [Imitate].
	Task CharacterTask
	// Command is used by the task [Command]. The zero value means the clips' mean speed, straight ahead.
	Command CommandConfig
	// Residual has actions added to the clip's pose at this moment, instead of to the middle of its joint ranges. The
	// clip is then in the targets from the beginning. It needs one wrapping clip, and gives the policy a clock.
	Residual bool
	// Lead is by how many seconds the clip's pose that residual targets move about is ahead of this moment. Actuators
	// whose damping is kd and gain kp follow a target kd/kp late: 0.1 s with the bodies of this package. With that lead
	// a policy that does nothing swings its limbs in time, which quick motion needs; a longer one is too early. Zero:
	// none.
	Lead float64
	// Clock shows the clip's phase to the policy, as sine and cosine. Residual and [Track] always do.
	Clock bool
	// ActionScale is the change of a joint's target by an action of 1, in units of half the clips' range of the joint
	// plus 0.2 rad. Larger ones explore more, and fall more; with small ones a policy cannot recover. Zero means 0.4.
	ActionScale float64
	// History is the number of control steps that an AMP observation holds. Zero means 2, and 1 with Difference, which
	// has no other.
	History int
	// Difference makes AMP observations what the clip is at this moment less what the character is, for a discriminator
	// that compares them with zeros (ADD, discriminator_mode "differential"): the root's place, turn (axis times
	// angle), linear and angular velocity (3 each), all in the clip's heading frame; the hinges' angles and velocities;
	// and the key bodies' places less the root's (3 each), both in their own heading frames. It needs a clock.
	Difference bool
	// HideRoot leaves the root's features out of AMP observations. A generated gait's trunk glides as no physical one
	// does, and a discriminator that sees it need look no further.
	HideRoot bool
	// Deviation is the distance in metres between the root, or a key body seen from the root, and the clip's at this
	// moment at which the task [Track] terminates. Small ones waste no time far from the clip; large ones allow
	// recoveries. Zero means 0.5.
	Deviation float64
	// FailureStarts is the share of episodes that begin where others terminated, in a clip and a part of it drawn in
	// proportion to the terminations there (as in BeyondMimic, Liao et al. 2025); the others begin anywhere. A part is
	// an eighth of its clip, or a second where that is shorter. A termination counts where the clip was, and without a
	// clock where the episode began. Larger shares spend more on what fails, smaller ones keep what works from being
	// forgotten; 0 is none.
	FailureStarts float64
	// FailureDecay is the factor by which the counts of terminations shrink in a step of all environments. Larger ones
	// remember for longer (1/(1 − FailureDecay) steps) and are less subject to chance; smaller ones follow a policy
	// that changes fast. Zero means 0.999.
	FailureDecay float64
	// Measure adds figures of whole episodes to those of their means, see [Character]. Each takes milliseconds where an
	// episode ends: time well spent in an evaluation, and a part of the time in training.
	Measure bool
	// Fade has the task [Track] become [Imitate] within so many control steps of each environment: all that a character
	// is told of its clip goes linearly to nothing. These are the part of Residual in its targets, clock, and place of
	// the clip in observations, the reward for tracking, in favour of 1 a step, and the limit Deviation, which becomes
	// infinite. A policy that tracks a clip, trained on by AMP, learns to do without it. A longer one is easier to
	// follow. Zero: nothing fades.
	Fade int
	// Render says how pictures look. The zero value is good.
	Render RenderConfig
}

// Character is a batch of characters that learn from clips, by imitation, by tracking them, or by a command.
//
// Features of a moment are the root's height; its x and z axes (6), linear and angular velocity (6); the hinges' angles
// and velocities; and the key bodies' places less the root's (3 each). Vectors are in the heading frame: turned about
// the vertical so that the root's x axis points ahead. An observation is the features; then, with a clock, sine and
// cosine of the clip's phase; then in the task [Track] the clip's root less this one (3, heading frame) and sine and
// cosine of the angle between their headings; then in the task [Command] the direction wanted (2, heading frame) and
// the speed in m/s. An AMP observation is the features of the last History control steps, the oldest first, or the
// Difference from the clip; without the root's with HideRoot.
//
// Actions, clipped to [−5, 5], move the targets of position actuators, see CharacterConfig.ActionScale. An episode
// begins at a random moment of a clip, or with FailureStarts where others failed. It terminates when another body than
// a foot touches the floor, or the root is too low or tilted too far, or in the task [Track] too far from the clip.
//
// Metrics of an episode are its "length", its mean "speed" ahead in m/s (in the task [Command]: in the direction
// wanted), its mean "joint_error" in radians, the mean absolute difference of the hinges' angles to the clip at this
// moment, or without a clock to the nearest frame of any clip, and in the task [Command] the "velocity_error" in m/s,
// the mean distance of the root's horizontal velocity from the one wanted.
//
// With Measure an episode has these, too (package motions/metrics): "pose_error", the distance in metres of the bodies
// from the clip's under dynamic time warping, as in the AMP paper, each seen from its root, with the heading only in
// the task [Track]; "success", 1 where the episode did not terminate, and in the task [Track] its bodies stayed within
// 0.5 m of the clip's, else 0; in the task [Track] the "root_velocity_error" in m/s; where clips have a skeleton
// "foot_sliding" in m/s; where there are several feet and clips that wrap "phase_error", by how much of a cycle the
// rhythm of a foot's height is off the clip's at most, seen from the first foot; and with several clips "coverage", the
// share of them that some pose of the episode is nearest to, of which the one with the least pose error is the
// reference. Figures that an episode is too short for are left out.
//
// Its reward can be shaped, see [envs.RewardShaper] and
// docs/reference/environments.md.
type Character struct {
	*Env
	task    *characterTask
	shaping characterTerms // that were last set for all environments
}

// NewHumanoid makes humanoids, [HumanoidBody], where cfg.Body is not given. Without Motions they learn from
// the walk that [motions.Builtin] has.
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

// NewQuadruped makes quadrupeds, [QuadrupedBody], where cfg.Body is not given. Without Motions they learn from
// generated trots ([motions.Trot]) of 0.3, 0.6 and 0.9 m/s, or where one clip is needed of the middle one.
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
	if cfg.EpisodeLength == 0 {
		cfg.EpisodeLength = 300
	}
	if cfg.Task == "" {
		cfg.Task = Imitate
	}
	if cfg.ActionScale == 0 {
		cfg.ActionScale = 0.4
	}
	if cfg.History == 0 {
		cfg.History = 2
		if cfg.Difference {
			cfg.History = 1
		}
	}
	if cfg.Deviation == 0 {
		cfg.Deviation = 0.5
	}
	if cfg.FailureDecay == 0 {
		cfg.FailureDecay = 0.999
	}
	cfg.Clock = cfg.Clock || cfg.Residual || cfg.Task == Track
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("mujoco: character: %w", err)
	}
	if cfg.Render.Camera == nil {
		cfg.Render.Camera = &Camera{}
	}
	task := newCharacterTask(cfg)
	var played Task = task
	if cfg.Measure {
		played = &measuredTask{characterTask: task}
	}
	env, err := New(Config{
		XML: cfg.Body.XML, NumEnvs: cfg.NumEnvs, Substeps: cfg.Body.Substeps, Workers: cfg.Workers, Seed: cfg.Seed,
		EpisodeLength: cfg.EpisodeLength, Stagger: cfg.Stagger, Render: cfg.Render,
	}, played)
	if err != nil {
		return nil, err
	}
	return &Character{Env: env, task: task, shaping: defaultCharacterTerms(cfg.Task)}, nil
}

func (c *CharacterConfig) check() error {
	finite := func(v float64) bool { return v-v == 0 }
	switch {
	case c.Body.XML == "":
		return errors.New("there is no Body; give HumanoidBody(), QuadrupedBody() or one of your own")
	case len(c.Motions) == 0:
		return errors.New("there are no Motions; give at least one clip with the body's columns")
	case c.Task != Imitate && c.Task != Track && c.Task != Command:
		return fmt.Errorf("Task is %q; there are %q, %q and %q", c.Task, Imitate, Track, Command)
	case !(c.ActionScale > 0) || !finite(c.ActionScale):
		return fmt.Errorf("ActionScale is %g; it must be positive and finite", c.ActionScale)
	case c.History < 1 || c.History > 64:
		return fmt.Errorf("History is %d; it must be between 1 and 64", c.History)
	case !(c.Lead >= 0) || !finite(c.Lead):
		return fmt.Errorf("Lead is %g; it must be a finite number of seconds from 0 on", c.Lead)
	case c.Fade < 0:
		return fmt.Errorf("Fade is %d; it must not be negative", c.Fade)
	case c.Fade > 0 && c.Task != Track:
		return fmt.Errorf("Fade is for the task %q, which becomes %q; the task is %q", Track, Imitate, c.Task)
	case c.Fade > 0 && c.Difference:
		return errors.New("Fade and Difference exclude each other: a difference needs the clip to the end")
	case c.Lead > 0 && !c.Residual:
		return errors.New("Lead needs Residual: without it targets do not follow the clip")
	case !(c.Deviation > 0):
		return fmt.Errorf("Deviation is %g; it must be positive", c.Deviation)
	case !(c.FailureStarts >= 0 && c.FailureStarts <= 1):
		return fmt.Errorf("FailureStarts is %g; it must be between 0 and 1", c.FailureStarts)
	case !(c.FailureDecay > 0 && c.FailureDecay < 1):
		return fmt.Errorf("FailureDecay is %g; it must be between 0 and 1", c.FailureDecay)
	}
	if c.Difference && !c.Clock {
		return errors.New("Difference compares with the clip at this moment and needs Clock, Residual or the task " +
			"\"track\"")
	}
	if c.Difference && c.History != 1 {
		return fmt.Errorf("History is %d; with Difference an AMP observation is of one moment", c.History)
	}
	if c.Clock && (len(c.Motions) != 1 || c.Motions[0].Loop() != motions.LoopWrap) {
		return errors.New("Residual, Clock and the task \"track\" need exactly one clip, and one that wraps")
	}
	d := &c.Command
	if !(d.MinSpeed >= 0) || !(d.MaxSpeed >= d.MinSpeed) || !finite(d.MaxSpeed) {
		return fmt.Errorf("Command.MinSpeed and MaxSpeed are %g and %g m/s; they must be finite, not negative and "+
			"in order",
			d.MinSpeed, d.MaxSpeed)
	}
	if !(d.Turn >= 0) || d.Turn > math.Pi {
		return fmt.Errorf("Command.Turn is %g; it must be between 0 and π", d.Turn)
	}
	if !(d.Seconds >= 0) || !finite(d.Seconds) {
		return fmt.Errorf("Command.Seconds is %g; it must be finite and not negative", d.Seconds)
	}
	return nil
}

// Motions are the reference clips.
func (c *Character) Motions() []*motions.Clip { return c.task.cfg.Motions }

// Supports is as [Env.Supports], but with CharacterConfig.Difference there is no reference motion to draw: what AMP
// observations are compared with is zeros; and without CharacterConfig.Fade there is no curriculum.
func (c *Character) Supports(iface any) bool {
	switch iface.(type) {
	case *envs.MotionSource, *envs.OverlappingMotionSource:
		return !c.task.cfg.Difference
	case *envs.Curriculum:
		return c.task.cfg.Fade > 0
	}
	return c.Env.Supports(iface)
}
