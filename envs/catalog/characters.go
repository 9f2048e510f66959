package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

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
	Register("Character", modelDefaults(), newModel)
}

// bodySettings are those of mujoco.BodyConfig.
type bodySettings struct {
	// Model is the path of the MJCF file. Its meshes and includes are read from its folder.
	Model string `yaml:"model"`
	// Name is a short word for metrics. Default: the name in the file.
	Name string `yaml:"name"`
	// Actuators are the hinges' motors. Default: the file's position actuators.
	Actuators []actuatorSettings `yaml:"actuators"`
	// DefaultPose maps regular expressions for whole names of hinges to angles in rad. Other hinges are at 0. Default:
	// the file's first keyframe.
	DefaultPose map[string]float64 `yaml:"default_pose"`
	// DefaultHeight is the height of the root in the default pose in metres; 0 puts the pose on the floor.
	DefaultHeight float64 `yaml:"default_height" config:"min=0"`
	// ControlFrequency is the number of actions a second.
	ControlFrequency float64 `yaml:"control_frequency" config:"gt=0"`
	// TimeStep is the simulation's step in seconds; 0 is the file's. Long steps are fast and can be unstable.
	TimeStep float64 `yaml:"time_step" config:"min=0"`
	// Solver solves contacts. Default: the file's.
	Solver string `yaml:"solver" config:"oneof=|Newton|CG|PGS"`
	// Iterations is the solver's limit; 0 is the file's. With few, steps are fast, and feet sink in and slide.
	Iterations int `yaml:"iterations" config:"min=0"`
	// Feet are regular expressions for the bodies, geoms or sites that may touch the floor. Without feet, contacts end
	// no episode.
	Feet []string `yaml:"feet"`
	// Keys are such expressions for the bodies whose positions are observed. Default: the feet.
	Keys []string `yaml:"keys"`
	// MinHeight is the root's height in metres below which the character has fallen; 0 is half the default height.
	MinHeight float64 `yaml:"min_height" config:"min=0"`
	// MaxTilt is the angle in radians from the vertical above which the character has fallen.
	MaxTilt float64 `yaml:"max_tilt" config:"gt=0"`
	// Trots are generated clips of a body whose keys are its four feet, besides motions: each is [m/s forwards, m/s to
	// the left, rad/s to the left].
	Trots [][]float64 `yaml:"trots"`
}

// actuatorSettings are those of mujoco.ActuatorConfig.
type actuatorSettings struct {
	// Joints is a regular expression for whole names of hinges.
	Joints string `yaml:"joints"`
	// Stiffness is in N·m/rad.
	//
	// A larger one follows targets more closely.
	Stiffness float64 `yaml:"stiffness" config:"gt=0"`
	// Damping is in N·m·s/rad.
	Damping float64 `yaml:"damping" config:"min=0"`
	// Armature is the rotor's inertia in kg·m².
	Armature float64 `yaml:"armature" config:"min=0"`
	// EffortLimit is the largest torque in N·m; 0 is none.
	EffortLimit float64 `yaml:"effort_limit" config:"min=0"`
	// ActionScale is the change of the target in rad by an action of 1; 0 is 0.25 · effort_limit / stiffness.
	ActionScale float64 `yaml:"action_scale" config:"min=0"`
}

// modelSettings are those of the environment Character.
type modelSettings struct {
	bodySettings      `yaml:",inline"`
	characterSettings `yaml:",inline"`
}

// modelDefaults returns the defaults of the environment Character.
func modelDefaults() modelSettings {
	s := modelSettings{bodySettings{ControlFrequency: 50, MaxTilt: 1}, characterDefaults()}
	s.ActionScale, s.EpisodeLength = 1, 1000
	return s
}

// config returns the settings of the body.
func (s *bodySettings) config() mujoco.BodyConfig {
	c := mujoco.BodyConfig{Name: s.Name, DefaultPose: s.DefaultPose, DefaultHeight: s.DefaultHeight,
		ControlFrequency: s.ControlFrequency, TimeStep: s.TimeStep, Solver: s.Solver, Iterations: s.Iterations,
		Feet: s.Feet, Keys: s.Keys, MinHeight: s.MinHeight, MaxTilt: s.MaxTilt}
	for _, a := range s.Actuators {
		c.Actuators = append(c.Actuators, mujoco.ActuatorConfig(a))
	}
	return c
}

// Body returns the settings of the body in a dictionary of the environment Character. Its model may be missing.
func Body(dict map[string]any) (mujoco.BodyConfig, error) {
	d, err := parse(dict)
	if err != nil {
		return mujoco.BodyConfig{}, err
	}
	s, ok := d.settings.(modelSettings)
	if !ok {
		return mujoco.BodyConfig{}, fmt.Errorf("catalog: the environment is %s; want Character", d.name)
	}
	return s.config(), nil
}

// modelSources ends the error of a missing model.
const modelSources = ". Models of robots are in the PyPI package mjlab (mjlab/asset_zoo/robots) and in " +
	"github.com/google-deepmind/mujoco_menagerie"

// newModel makes the environment Character.
func newModel(s modelSettings) (envs.Env, error) {
	if s.Model == "" {
		return nil, errors.New("\"model\" is missing: give the path of an MJCF file" + modelSources)
	}
	if _, err := os.Stat(s.Model); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("\"model\": there is no file %s: give the path of an MJCF file%s", s.Model, modelSources)
	}
	body, err := mujoco.LoadBody(s.Model, s.config())
	if err != nil {
		return nil, err
	}
	var trots []*motions.Clip
	for i, v := range s.Trots {
		if len(v) != 3 {
			return nil, fmt.Errorf("\"trots[%d]\" has %d numbers; want [forwards, to the left, turning]", i, len(v))
		}
		clip, err := body.Trot(v[0], v[1], v[2])
		if err != nil {
			return nil, fmt.Errorf("\"trots[%d]\": %w", i, err)
		}
		trots = append(trots, clip)
	}
	return newCharacter(s.characterSettings, func(cfg mujoco.CharacterConfig) (*mujoco.Character, error) {
		cfg.Body, cfg.Motions = body, append(cfg.Motions, trots...)
		return mujoco.NewCharacter(cfg)
	}, func(c *motions.Clip) (*motions.Clip, error) { return Retarget(c, s.Model, nil) })
}

// Retarget carries a clip over to the model of an MJCF file. Bodies are those of [motions.RetargetConfig]; nil proposes
// them. A clip of numbers with as many joints as the model, or one with the model's joints, is on the model already and
// is retargeted only with bodies.
func Retarget(c *motions.Clip, model string, bodies map[string]string) (*motions.Clip, error) {
	skeleton, err := mujoco.LoadSkeleton(model)
	if err != nil {
		return nil, err
	}
	if c.Skeleton() == nil {
		if on, err := c.On(skeleton); err == nil {
			c = on
		} else if c, err = motions.Humanoid(c); err != nil {
			return nil, err
		}
	}
	if bodies == nil && slices.Equal(c.Skeleton().Joints(), skeleton.Joints()) {
		return c, nil
	}
	return c.Retarget(skeleton, motions.RetargetConfig{Bodies: bodies})
}

// characterSettings are those of mujoco.NewHumanoid and mujoco.NewQuadruped.
type characterSettings struct {
	Batch `yaml:",inline"`
	// Task is what is rewarded: imitate (every step equally; AMP's style reward counts), track (the clip's pose at
	// this moment, as in DeepMimic), command (the commanded direction and speed) or velocity (the commanded velocity
	// forwards, sideways and in turning).
	Task string `yaml:"task" config:"oneof=imitate|track|command|velocity"`
	// Motions are the clips, drawn by their weights: humanoid_walk, humanoid_run, or paths of files. A Character
	// retargets clips of other bodies. Default: humanoid_walk; of the quadruped generated trots.
	Motions []string `yaml:"motions"`
	// Command says what is commanded in the task command.
	Command characterCommand `yaml:"command"`
	// Velocity says what is commanded in the task velocity.
	Velocity characterVelocity `yaml:"velocity"`
	// Observations are the terms of the policy's observation: base_lin_vel, base_ang_vel, projected_gravity, joint_pos,
	// joint_vel, actions, command, phase, reference, height, features. The value network's STATES then have all terms.
	// Default: all for both.
	Observations []string `yaml:"observations"`
	// Residual adds actions to the first clip's pose at this moment instead of the middle of joint ranges, and shows
	// its phase. That clip must be a loop; others are reference motion of AMP only.
	Residual bool `yaml:"residual"`
	// Lead is the time in seconds by which the residual's pose is ahead of the clip, against the actuators' lag of 0.1
	// s. Fast motion needs it.
	Lead float64 `yaml:"lead" config:"min=0"`
	// Clock shows the clip's phase to the policy, as residual and track always do.
	Clock bool `yaml:"clock"`
	// ActionScale is the change of a joint's target by an action of 1, in units of half the clips' range of the joint
	// plus 0.2 rad. Larger ones explore more and fall more; with small ones a policy cannot recover.
	ActionScale float64 `yaml:"action_scale" config:"gt=0"`
	// History is the number of control steps in an AMP observation; 0 is 2, with difference 1. More steps show more of
	// the movement and are easier to discriminate.
	History int `yaml:"history" config:"min=0,max=64"`
	// Difference makes AMP observations the clip minus the character, for AMP's discriminator_mode differential. It
	// needs residual, clock or track, and a history of 1.
	Difference bool `yaml:"difference"`
	// HideRoot omits the root's height, rotation and velocities from AMP observations. Use it with generated gaits,
	// whose trunk glides.
	HideRoot bool `yaml:"hide_root"`
	// Deviation is the distance in metres from the clip at which track terminates.
	//
	// A small one saves time far from the clip; a large one allows recoveries.
	Deviation float64 `yaml:"deviation" config:"gt=0"`
	// FailureStarts is the share of training episodes that begin where others terminated: in the same part of a clip
	// (an eighth, at most a second).
	//
	// A larger share practises failures; a smaller one keeps what works.
	FailureStarts float64 `yaml:"failure_starts" config:"min=0,max=1"`
	// FailureDecay is the factor per step of the counts of terminations, which last 1/(1 − failure_decay) steps.
	//
	// A smaller one follows a changing policy.
	FailureDecay float64 `yaml:"failure_decay" config:"gt=0,lt=1"`
	// EpisodeLength is the number of control steps (1/30 s for Humanoid and Quadruped) at which an episode is truncated.
	EpisodeLength int `yaml:"episode_length" config:"min=1"`
	// Stagger is the largest random number of steps by which first episodes are shorter, so that time limits do not
	// coincide.
	Stagger int `yaml:"stagger" config:"min=0"`
	// Fade is the number of control steps over which track becomes imitate: the clip's part in targets, observations
	// and reward fades linearly to nothing. 0 is never.
	Fade int `yaml:"fade" config:"min=0"`
	// Recovery makes falls part of an episode, so that a policy learns to get up.
	Recovery characterRecovery `yaml:"recovery"`
	// Randomize lets characters differ in what nobody knows of a robot: friction, masses, gains, delays, noise, pushes.
	// A range is two numbers, drawn from anew for each episode; wider ones make a policy robust and its task harder.
	// Two zeros are off.
	Randomize characterRandomize `yaml:"randomize"`
	// Measure adds metrics of episodes (pose error of the AMP paper, success, foot sliding), which cost time. gorl eval
	// always has them.
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

type characterVelocity struct {
	// LinearX, LinearY and AngularZ bound the uniformly drawn velocity in m/s forwards and to the left, and the turn to
	// the left in rad/s: [least, greatest]. Default: 0.
	LinearX  []float64 `yaml:"linear_x"`
	LinearY  []float64 `yaml:"linear_y"`
	AngularZ []float64 `yaml:"angular_z"`
	// Standing is the share of commands that are all 0.
	Standing float64 `yaml:"standing" config:"min=0,max=1"`
	// Seconds is the time between commands; 0 is one per episode.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

// config returns the settings of the task.
func (v *characterVelocity) config() (mujoco.VelocityConfig, error) {
	c := mujoco.VelocityConfig{Standing: v.Standing, Seconds: v.Seconds}
	for _, r := range []struct {
		key    string
		values []float64
		to     *[2]float64
	}{{"linear_x", v.LinearX, &c.LinearX}, {"linear_y", v.LinearY, &c.LinearY}, {"angular_z", v.AngularZ, &c.AngularZ}} {
		switch len(r.values) {
		case 0:
		case 2:
			*r.to = [2]float64(r.values)
		default:
			return c, fmt.Errorf("\"velocity.%s\" has %d numbers; want [least, greatest]", r.key, len(r.values))
		}
	}
	return c, nil
}

type characterRecovery struct {
	// Seconds is the time to get back on the feet, after which the episode terminates; 0 ends episodes at a fall.
	Seconds float64 `yaml:"seconds" config:"min=0"`
	// Share is the share of episodes that begin on the floor, to train getting up.
	Share float64 `yaml:"share" config:"min=0,max=1"`
}

type characterRender struct {
	// Width and Height are in pixels.
	Width  int `yaml:"width" config:"min=1,max=8192"`
	Height int `yaml:"height" config:"min=1,max=8192"`
	// Azimuth is the camera's direction in degrees: 0 looks along x, the direction of walking, 90 at the right side.
	// Elevation is its angle downwards.
	Azimuth   float64 `yaml:"azimuth" config:"min=-360,max=360"`
	Elevation float64 `yaml:"elevation" config:"min=1,max=89"`
	// Distance is the camera's distance in metres; 0 shows the whole character and the clip.
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
	velocity, err := s.Velocity.config()
	if err != nil {
		return nil, err
	}
	cfg := mujoco.CharacterConfig{
		NumEnvs: s.NumEnvs, Seed: s.Seed, Workers: s.Workers, EpisodeLength: s.EpisodeLength, Stagger: s.Stagger,
		Task: mujoco.CharacterTask(s.Task), Residual: s.Residual, Lead: s.Lead, Fade: s.Fade, Clock: s.Clock,
		ActionScale: s.ActionScale,
		History:     s.History, Difference: s.Difference, HideRoot: s.HideRoot, Deviation: s.Deviation,
		FailureStarts: s.FailureStarts, FailureDecay: s.FailureDecay, Measure: s.Measure,
		Command: mujoco.CommandConfig(s.Command), Velocity: velocity, Observations: s.Observations,
		Recovery:  mujoco.RecoveryConfig(s.Recovery),
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
