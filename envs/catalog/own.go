package catalog

import (
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/motions"
)

var (
	classicDefaults     = classic.Config{NumEnvs: 1}
	cartPoleDefaults    = cartPoleSettings{Config: classicDefaults, Velocities: true}
	pixelsDefaults      = classic.DefaultCartPolePixels()
	mazeDefaults        = classic.TMazeConfig{Config: classicDefaults, Length: 10}
	connectFourDefaults = connectFourSettings{Config: classicDefaults, Masks: true}
)

func init() {
	for name, make := range map[string]func(classic.Config) (envs.Env, error){
		"Acrobot": classic.NewAcrobot, "MountainCar": classic.NewMountainCar, "Pendulum": classic.NewPendulum,
		"Spread": classic.NewSpread, "Sumo": classic.NewSumo, "TicTacToe": classic.NewTicTacToe,
	} {
		Register(name, classicDefaults, make)
	}
	Register("CartPole", cartPoleDefaults, func(s cartPoleSettings) (envs.Env, error) {
		if s.Velocities {
			return classic.NewCartPole(s.Config)
		}
		return classic.NewMaskedCartPole(s.Config)
	})
	Register("CartPolePixels", pixelsDefaults, classic.NewCartPolePixels)
	Register("TMaze", mazeDefaults, classic.NewTMaze)
	Register("ConnectFour", connectFourDefaults, func(s connectFourSettings) (envs.Env, error) {
		return classic.NewConnectFour(classic.ConnectFourConfig{Config: s.Config, Unmasked: !s.Masks})
	})
	Register("Walker", walkerDefaults(), newWalker)
}

// cartPoleSettings are those of classic.NewCartPole, and of classic.NewMaskedCartPole without velocities.
type cartPoleSettings struct {
	classic.Config `yaml:",inline"`
	// Velocities shows the velocities. Without them an agent needs memory.
	Velocities bool `yaml:"velocities"`
}

// connectFourSettings are those of classic.NewConnectFour.
type connectFourSettings struct {
	classic.Config `yaml:",inline"`
	// Masks gives policies action masks. Without them a disc into a full column loses the game.
	Masks bool `yaml:"masks"`
}

// walkerSettings are those of mujoco.NewWalker.
type walkerSettings struct {
	Batch `yaml:",inline"`
	// Velocities shows all velocities. Without them a policy needs memory; the states of the value network keep them.
	Velocities bool `yaml:"velocities"`
	// Motion is a clip to imitate, a loop: a DeepMimic file (JSON) of its humanoid, or of frames with a duration and
	// nine numbers (x, z, pitch; hip, knee, ankle of the right, then the left leg). Set target_speed to its speed.
	// Empty is the built-in gait.
	Motion              string `yaml:"motion"`
	mujoco.WalkerConfig `yaml:",inline"`
}

func walkerDefaults() walkerSettings {
	return walkerSettings{Batch: Defaults(), Velocities: true, WalkerConfig: mujoco.WalkerConfig{TargetSpeed: 1.3,
		EpisodeLength: 300, Render: mujoco.RenderConfig{Width: 320, Height: 320,
			Camera: mujoco.Camera{Azimuth: 90, Elevation: 12}}}}
}

// newWalker makes a walker from its settings.
func newWalker(s walkerSettings) (envs.Env, error) {
	if s.TargetSpeed == 0 {
		return nil, fmt.Errorf("\"target_speed\" is 0: to a walker's configuration that is the default of 1.3 m/s; " +
			"give a small number instead")
	}
	cfg := s.WalkerConfig
	cfg.NumEnvs, cfg.Seed, cfg.HideVelocities = s.Batch.NumEnvs, s.Batch.Seed, !s.Velocities
	lookAlong(&cfg.Render.Camera)
	if s.Motion != "" {
		var err error
		if cfg.Motion, err = walkerMotion(s.Motion); err != nil {
			return nil, fmt.Errorf("\"motion\": %w", err)
		}
	}
	return made(mujoco.NewWalker(cfg))
}

// walkerMotion reads a clip for the walker. A clip has the walker's nine columns, or it is a humanoid's; of a
// humanoid the walker takes the motion in its plane.
func walkerMotion(path string) (*motions.Clip, error) {
	clip, err := motions.Load(path)
	if err != nil {
		return nil, err
	}
	if !clip.Raw() {
		if clip, err = motions.Planar(clip); err != nil {
			return nil, fmt.Errorf("%s: %w, and has not the walker's nine", path, err)
		}
		return clip, nil
	}
	gait := motions.Gait()
	if clip.Width() != gait.Width() {
		return nil, fmt.Errorf("%s has %d numbers a frame beside the duration; the walker wants %d (x, z, pitch, "+
			"and hip, knee, ankle of the right and the left leg), or DeepMimic's humanoid of 43",
			path, clip.Width(), gait.Width())
	}
	return motions.LoadDeepMimic(path, gait.Description())
}
