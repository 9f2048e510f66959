package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/trainers"
)

// humanoid times 64 humanoids that track a clip: stepping alone, under small random actions, and PPO end to end.
func humanoid(stepping int) ([]measure, error) {
	env, err := mujoco.NewHumanoid(mujoco.CharacterConfig{NumEnvs: walkers, Seed: 1, Workers: stepping,
		Task: mujoco.Track, Residual: true})
	if err != nil {
		return nil, err
	}
	trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) { // owns env
		return ppo.New(ppo.Options{Spaces: env.Spaces(), NumEnvs: walkers, Models: ppo.MLPs(env.Spaces(), []int{256, 128}, "elu"), Seed: 1,
			Dict: map[string]any{
				"rollouts": walkerRollout, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.97, "learning_rate": 3e-4, "grad_norm_clip": 1.0,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
				"mixed_precision": mixed, "device": device,
			}})
	}, trainers.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	defer trainee.Close()
	const updates = 30
	if err := trainee.Train(context.Background(), walkers*walkerRollout); err != nil { // warms up
		return nil, err
	}
	begin := time.Now()
	if err := trainee.Train(context.Background(), walkers*walkerRollout*updates); err != nil {
		return nil, err
	}
	learning := walkers * walkerRollout * updates / time.Since(begin).Seconds()
	rng, actions := rand.New(rand.NewPCG(1, 1)), make([]float32, walkers*env.Spaces().Action.Width())
	begin = time.Now()
	for range walkerRollout * updates {
		for i := range actions {
			actions[i] = float32(0.3 * rng.NormFloat64())
		}
		if _, err := env.Step(actions); err != nil {
			return nil, err
		}
	}
	return []measure{{"simulated_per_second", walkers * walkerRollout * updates / time.Since(begin).Seconds()},
		{"steps_per_second", learning}}, nil
}
