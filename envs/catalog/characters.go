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

// modelSettings are those of the environment Character.
type modelSettings struct {
	// Model is the path of the MJCF file. Its meshes and includes are read from its folder.
	Model             string `yaml:"model"`
	mujoco.BodyConfig `yaml:",inline"`
	// Trots are generated clips of a body whose keys are its four feet, besides motions: each is [m/s forwards, m/s to
	// the left, rad/s to the left].
	Trots             [][3]float64 `yaml:"trots"`
	characterSettings `yaml:",inline"`
}

// modelDefaults returns the defaults of the environment Character.
func modelDefaults() modelSettings {
	s := modelSettings{BodyConfig: mujoco.BodyConfig{ControlFrequency: 50, MaxTilt: 1},
		characterSettings: characterDefaults()}
	s.ActionScale, s.EpisodeLength = 1, 1000
	return s
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
	return s.BodyConfig, nil
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
	body, err := mujoco.LoadBody(s.Model, s.BodyConfig)
	if err != nil {
		return nil, err
	}
	var trots []*motions.Clip
	for i, v := range s.Trots {
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
	Motions                []string `yaml:"motions"`
	mujoco.CharacterConfig `yaml:",inline"`
}

// characterDefaults returns the defaults of the keys. A zero in the fields of mujoco.CharacterConfig often means a
// default, so these are given in full.
func characterDefaults() characterSettings {
	return characterSettings{Batch: Defaults(), Task: string(mujoco.Imitate), CharacterConfig: mujoco.CharacterConfig{
		ActionScale: 0.4, Deviation: 0.5, EpisodeLength: 300, Render: mujoco.RenderConfig{
			Width: 480, Height: 320, Camera: mujoco.Camera{Azimuth: 115, Elevation: 12}}}}
}

// newCharacter makes the environment of settings. onto converts a clip of another character for this one.
func newCharacter(s characterSettings, make func(mujoco.CharacterConfig) (*mujoco.Character, error),
	onto func(*motions.Clip) (*motions.Clip, error)) (envs.Env, error) {
	cfg := s.CharacterConfig
	cfg.NumEnvs, cfg.Seed, cfg.Task = s.Batch.NumEnvs, s.Batch.Seed, mujoco.CharacterTask(s.Task)
	lookAlong(&cfg.Render.Camera)
	var err error
	if cfg.Motions, err = loadMotions(s.Motions, onto); err != nil {
		return nil, err
	}
	return made(make(cfg))
}

// lookAlong keeps an azimuth of 0, which to mujoco.Camera stands for a default. 360° is the same direction.
func lookAlong(c *mujoco.Camera) {
	if c.Azimuth == 0 {
		c.Azimuth = 360
	}
}
