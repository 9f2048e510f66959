package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// mixed is the setting mixed_precision of all agents.
var mixed bool

// shape is a benchmark without an environment: random observations, the settings of skrl_update.py.
type shape struct {
	envs, observations, actions, ampObservations int
	hidden                                       []int
	rollouts, epochs, miniBatches, repeats       int
}

var shapes = map[string]shape{
	"small": {16, 17, 6, 34, []int{64, 64}, 32, 8, 8, 20},
	"large": {256, 105, 28, 210, []int{1024, 512}, 16, 6, 2, 5},
}

func gorl(size string, threads int) ([]measure, error) {
	if size == "walker" || size == walkerOverlap {
		return walker(threads, size == walkerOverlap)
	}
	if n, ok := networks[size]; ok {
		return n.update()
	}
	sh, ok := shapes[size]
	if !ok {
		return nil, fmt.Errorf("benchmarks: unknown size %q: want small, large, gru, camera, walker or walker-overlap", size)
	}
	return update(sh)
}

// noise is reference motion of random numbers.
type noise int

// CollectReferenceMotions implements [amp.MotionSource].
func (w noise) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	return normal(rng, n*int(w)), nil
}

func normal(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// update times one update and one rollout step (act and record).
func update(sh shape) ([]measure, error) {
	sp := spaces.Set{Observation: spaces.Unbounded(sh.observations), Action: spaces.NewBox(-1, 1, sh.actions),
		AMPObservation: spaces.Unbounded(sh.ampObservations)}
	agent, err := amp.New(amp.Options{
		Spaces: sp, NumEnvs: sh.envs, Models: amp.MLPs(sp, sh.hidden, "relu"), Motions: noise(sh.ampObservations), Seed: 1,
		Dict: map[string]any{
			"rollouts": sh.rollouts, "learning_epochs": sh.epochs, "mini_batches": sh.miniBatches, "grad_norm_clip": 1.0, "value_clip": 0.2,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler", "amp_observation_preprocessor": "RunningStandardScaler",
			"mixed_precision": mixed, "discriminator_batch_size": 0, "amp_batch_size": 512, "motion_dataset_size": 20_000, "reply_buffer_size": 100_000,
		},
	})
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	observations := normal(rng, sh.envs*sh.observations)
	t := agents.Transition{Rewards: normal(rng, sh.envs), AMPObservations: normal(rng, sh.envs*sh.ampObservations)}
	ends := make([][]bool, sh.rollouts)
	for i := range ends {
		ends[i] = make([]bool, sh.envs)
	}
	return rounds(agent, observations, t, ends, sh.repeats)
}

// rounds times rollouts, whose steps all show the same observations and in whose step i the episodes that ends[i] names
// terminate, and the update after each.
func rounds(agent agents.Agent, observations []float32, t agents.Transition, ends [][]bool, repeats int) ([]measure, error) {
	t.NextObservations, t.Truncated = observations, make([]bool, len(t.Rewards))
	var steps, updates []float64
	for round := range repeats + 1 {
		begin := time.Now()
		for _, t.Terminated = range ends {
			if _, err := agent.Act(agents.Observation{Observations: observations}); err != nil {
				return nil, err
			}
			if err := agent.Record(t); err != nil {
				return nil, err
			}
		}
		middle := time.Now()
		if err := agent.Update(context.Background()); err != nil {
			return nil, err
		}
		if round > 0 { // the first round warms up
			steps = append(steps, ms(middle.Sub(begin))/float64(len(ends)))
			updates = append(updates, ms(time.Since(middle)))
		}
	}
	return []measure{{"update", median(updates)}, {"rollout_step", median(steps)}}, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// walkerOverlap is the size walker with an agent that acts while it learns, beside the same skrl.
const walkerOverlap = "walker-overlap"

// walker times training end to end: stepping, acting, updating.
func walker(threads int, overlap bool) ([]measure, error) {
	const envs, rollouts, updates = 64, 32, 60
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: envs, Seed: 1, Workers: threads})
	if err != nil {
		return nil, err
	}
	defer env.Close()
	agent, err := amp.New(amp.Options{
		Spaces: env.Spaces(), Models: amp.MLPs(env.Spaces(), []int{128, 64}, "elu"), Motions: env, Seed: 1,
		Dict: map[string]any{
			"rollouts": rollouts, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.97, "learning_rate": 3e-4, "grad_norm_clip": 1.0, "value_loss_scale": 1.0,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler", "amp_observation_preprocessor": "RunningStandardScaler",
			"task_reward_scale": 0.5, "style_reward_scale": 1.0, "discriminator_loss_scale": 2.0, "discriminator_batch_size": 512,
			"motion_dataset_size": 4000, "reply_buffer_size": 50_000, "overlap": overlap,
		},
	})
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	trainer, err := trainers.Sequential(env, agent, trainers.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	trainee := trainer.Trainee()
	if err := trainee.Train(context.Background(), envs*rollouts); err != nil { // warms up
		return nil, err
	}
	begin := time.Now()
	if err := trainee.Train(context.Background(), envs*rollouts*updates); err != nil {
		return nil, err
	}
	return []measure{{"steps_per_second", envs * rollouts * updates / time.Since(begin).Seconds()}}, nil
}
