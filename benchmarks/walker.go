package main

import (
	"context"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/trainers"
)

const walkers, walkerRollout = 64, 32

// newWalker makes what trains AMP on the walker, the same as in skrl_walker.py; with overlap it acts while it learns.
func newWalker(seed int64, stepping int, overlap bool) (*trainers.Trainee, error) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: walkers, Seed: seed, Workers: stepping})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) { // owns env
		settings := map[string]any{
			"rollouts": walkerRollout, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.97,
			"learning_rate": 3e-4, "grad_norm_clip": 1.0, "value_loss_scale": 1.0,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			"amp_observation_preprocessor": "RunningStandardScaler",
			"task_reward_scale":            0.5, "style_reward_scale": 1.0, "discriminator_loss_scale": 2.0,
			"discriminator_batch_size": 512,
			"motion_dataset_size":      4000, "reply_buffer_size": 50_000,
			"mixed_precision": mixed, "cuda_graphs": graphs, "device": device,
		}
		if overlap {
			settings["overlap"] = true
		}
		return amp.New(amp.Options{Spaces: env.Spaces(), Models: amp.MLPs(env.Spaces(), []int{128, 64}, "elu"),
			Motions: env, Seed: seed,
			Dict: settings})
	}, trainers.Config{Seed: seed})
}

// walker times training end to end: stepping, acting, updating.
func walker(stepping int, overlap bool) ([]measure, error) {
	const updates = 60
	trainee, err := newWalker(1, stepping, overlap)
	if err != nil {
		return nil, err
	}
	defer trainee.Close()
	if err := trainee.Train(context.Background(), walkers*walkerRollout); err != nil { // warms up
		return nil, err
	}
	begin := time.Now()
	if err := trainee.Train(context.Background(), walkers*walkerRollout*updates); err != nil {
		return nil, err
	}
	return []measure{{"steps_per_second", walkers * walkerRollout * updates / time.Since(begin).Seconds()}}, nil
}

// population times four walkers that train as a population of one process, each stepped on one thread, with a decision
// in the middle and at the end.
func population() ([]measure, error) {
	const members, updates = 4, 32
	const steps = walkers * walkerRollout * updates
	folder, err := os.MkdirTemp("", "gorl-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	p, err := pbt.New(pbt.Options{
		Members: members, Objective: "episode.return", IntervalSteps: steps / 2, TotalSteps: steps, Seed: 1,
		Directory: folder,
		Strategy:  strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		New:       func(m pbt.Member) (pbt.Trainee, error) { return newWalker(m.Seed, 1, false) },
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	begin := time.Now()
	if _, err := p.Train(context.Background()); err != nil {
		return nil, err
	}
	return []measure{{"steps_per_second", members * steps / time.Since(begin).Seconds()}}, nil
}
