package mujoco

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

func TestConformWalker(t *testing.T) {
	walkers := func(cfg WalkerConfig) envtest.Make {
		return func(seed int64, workers int) (envs.Env, error) {
			cfg.NumEnvs, cfg.Seed, cfg.Workers, cfg.EpisodeLength = 5, seed, workers, 40
			return NewWalker(cfg)
		}
	}
	envtest.Conform(t, 120, walkers(WalkerConfig{}))
	envtest.Conform(t, 120, walkers(WalkerConfig{HideVelocities: true}))
	envtest.ConformLearning(t, walkers(WalkerConfig{Stagger: 20})) // only a Reset with a seed staggers
}

// Every task conforms, with each way of beginning, of observing and of acting.
func TestConformCharacters(t *testing.T) {
	clips := map[string]*motions.Clip{}
	for name, body := range bodies {
		clips[name] = marching(t, body())
	}
	widths := map[string]int{"humanoid": 81, "quadruped": 49}
	for i, c := range []struct {
		cfg  CharacterConfig
		more int // than the features, in observations
		rows int // of features, in AMP observations
	}{
		{CharacterConfig{}, 0, 2},
		{CharacterConfig{Clock: true, History: 1}, 2, 1},
		{CharacterConfig{Task: Track, Residual: true, History: 5, FailureStarts: 0.7}, 2 + 5, 5},
		{CharacterConfig{HideRoot: true, History: 3}, 0, 3},
		{CharacterConfig{Task: Command, FailureStarts: 0.7,
			Command: CommandConfig{MinSpeed: 0.2, MaxSpeed: 1, Turn: 1, Seconds: 0.2}}, 3, 2},
		{CharacterConfig{Task: Command, Randomize: everything()}, 3, 2},
		{CharacterConfig{Recovery: RecoveryConfig{Seconds: 0.3, Share: 0.3}, Randomize: RandomizeConfig{
			Terrain: TerrainConfig{Slope: 0.4, Steps: 0.1, Rough: 0.05, Levels: 3, Size: 5}}}, 0, 2},
		{CharacterConfig{Task: Velocity, Velocity: velocity, Recovery: RecoveryConfig{Seconds: 0.3}}, 3, 2},
	} {
		for name, body := range bodies {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				make := func(seed int64, workers int) (envs.Env, error) {
					cfg := c.cfg
					cfg.Body, cfg.Motions, cfg.NumEnvs, cfg.EpisodeLength = body(), []*motions.Clip{clips[name]}, 5, 30
					cfg.Seed, cfg.Workers = seed, workers
					return NewCharacter(cfg)
				}
				envtest.Conform(t, 100, make)
				e := must.Open(make(0, 1))(t)
				s, style := e.Spaces(), widths[name]
				if c.cfg.HideRoot {
					style -= 13
				}
				must.Is(t, s.Observation.Width(), widths[name]+c.more, "width")
				must.Is(t, s.AMPObservation.Width(), c.rows*style, "AMP width")
			})
		}
	}
}

// A body without clips conforms, with terms of observations and last actions.
func TestConformVelocity(t *testing.T) {
	envtest.Conform(t, 100, func(seed int64, workers int) (envs.Env, error) {
		return NewCharacter(CharacterConfig{Body: standing(), NumEnvs: 5, EpisodeLength: 30, Seed: seed,
			Workers: workers, Task: Velocity, Velocity: velocity, Observations: []string{"base_ang_vel",
				"projected_gravity", "joint_pos", "joint_vel", "actions", "command"}})
	})
}
