// Command custom_model trains PPO with a network written here (network.go), as the policy's and as the value's.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 2560, "timesteps, each a step of all 16 pendulums")
	seed := flag.Int64("seed", 1, "seed of everything random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *timesteps, *seed); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, timesteps int, seed int64) error {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	if err != nil {
		return err
	}
	defer env.Close()
	policy, value, err := networks(env.Spaces(), seed)
	if err != nil {
		return err
	}
	agent, err := ppo.New(ppo.Options{ // takes the models over and closes them
		Spaces: env.Spaces(), Models: ppo.Models{Policy: policy, Value: value}, Seed: seed,
		Dict: map[string]any{
			"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "learning_rate": 1e-3, "discount_factor": 0.9,
			"value_loss_scale": 0.5, "rewards_shaper_scale": 0.1,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		},
	})
	if err != nil {
		return err
	}
	defer agent.Close()
	trainer, err := trainers.Sequential(env, agent, trainers.Config{Timesteps: timesteps, Seed: seed})
	if err != nil {
		return err
	}
	if err := trainer.Train(ctx); err != nil {
		return err
	}
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 32, Seed: seed})
	if err != nil {
		return err
	}
	fmt.Printf("return %.1f over %d episodes, with %d parameter tensors of our own\n", result.Return, result.Episodes,
		len(policy.Parameters())+len(value.Parameters()))
	return nil
}

// networks makes a policy, which is a network and a distribution, and a value network.
func networks(sp spaces.Set, seed int64) (models.Policy, models.Network, error) {
	dist, err := models.NewGaussian(sp.Action, models.DefaultGaussianConfig())
	if err != nil {
		return nil, nil, err
	}
	net, err := newResidual(sp.Observation.Width(), 32, 2, dist.Outputs(), seed)
	if err != nil {
		return nil, nil, err
	}
	policy, err := models.NewPolicy(net, dist)
	if err != nil {
		return nil, nil, err
	}
	value, err := newResidual(sp.Observation.Width(), 32, 2, 1, seed+1)
	if err != nil {
		policy.Close()
	}
	return policy, value, err
}
