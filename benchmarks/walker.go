package main

import (
	"context"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
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
			"discriminator_batch_size": 512, "motion_dataset_size": 4000, "reply_buffer_size": 50_000,
			"mixed_precision": mixed, "cuda_graphs": graphs, "device": device, "overlap": overlap,
		}
		return amp.New(amp.Options{Spaces: env.Spaces(), Models: amp.MLPs(env.Spaces(), []int{128, 64}, "elu"),
			Motions: env, Seed: seed, Dict: settings})
	}, trainers.Config{Seed: seed})
}

// walker times training end to end: stepping, acting, updating.
func walker(stepping int, overlap bool) []measure {
	trainee := compare.Must(newWalker(1, stepping, overlap))
	defer trainee.Close()
	return []measure{{"steps_per_second", trainingRate(trainee, 60)}}
}

// trainingRate is the number of environment steps a second in so many updates, after one that warms up.
func trainingRate(trainee *trainers.Trainee, updates int64) float64 {
	compare.Check(trainee.Train(context.Background(), walkers*walkerRollout))
	steps, begin := walkers*walkerRollout*updates, time.Now()
	compare.Check(trainee.Train(context.Background(), steps))
	return float64(steps) / time.Since(begin).Seconds()
}

// population times four walkers that train as a population of one process, each stepped on one thread, with a decision
// in the middle and at the end.
func population() []measure {
	const members, updates = 4, 32
	const steps = walkers * walkerRollout * updates
	folder := compare.Must(os.MkdirTemp("", "gorl-benchmark-"))
	defer os.RemoveAll(folder)
	p := compare.Must(pbt.New(pbt.Options{
		Members: members, Objective: "episode.return", IntervalSteps: steps / 2, TotalSteps: steps, Seed: 1,
		Directory: folder,
		Strategy:  strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		New:       func(m pbt.Member) (pbt.Trainee, error) { return newWalker(m.Seed, 1, false) },
	}))
	defer p.Close()
	begin := time.Now()
	compare.Must(p.Train(context.Background()))
	return []measure{{"steps_per_second", members * steps / time.Since(begin).Seconds()}}
}
