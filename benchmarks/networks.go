package main

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// network is a benchmark of PPO with a network that has memory or reads pictures, the same as in skrl_networks.py.
type network struct {
	observation                             spaces.Space
	models                                  func(spaces.Set) ppo.Models
	rollouts, sequence, epochs, miniBatches int
	repeats                                 int
}

var networks = map[string]network{
	"gru": {spaces.Unbounded(32), func(sp spaces.Set) ppo.Models {
		return ppo.Recurrent(sp, models.GRU(64), []int{64, 32}, "relu")
	}, 32, 16, 4, 4, 10},
	"camera": {spaces.NewPicture(84, 84, 3), func(sp spaces.Set) ppo.Models {
		return ppo.CNNs(sp, models.DefaultCNN())
	}, 16, 0, 2, 4, 2},
}

// update times one update and one rollout step with 64 environments, of whose episodes two in a hundred end at a step.
func (n network) update() []measure {
	const envs = 64
	sp := spaces.Set{Observation: n.observation, Action: spaces.NewBox(-1, 1, 6)}
	settings := map[string]any{
		"rollouts": n.rollouts, "sequence_length": n.sequence, "learning_epochs": n.epochs,
		"mini_batches": n.miniBatches, "learning_rate": 1e-3, "grad_norm_clip": 0.5, "value_clip": 0.2,
		"mixed_precision": mixed, "cuda_graphs": graphs, "device": device,
	}
	agent := compare.Must(ppo.New(ppo.Options{Spaces: sp, NumEnvs: envs, Models: n.models(sp), Seed: 1,
		Dict: settings}))
	defer agent.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	observations := normal(rng, envs*sp.Observation.Width())
	if sp.Observation.DType == spaces.Uint8 {
		for i := range observations {
			observations[i] = float32(rng.IntN(256))
		}
	}
	ends := make([][]bool, n.rollouts)
	for i := range ends {
		ends[i] = make([]bool, envs)
		for e := range ends[i] {
			ends[i][e] = rng.Float64() < 0.02
		}
	}
	return rounds(agent, observations, agents.Transition{Rewards: normal(rng, envs)}, ends, n.repeats)
}
