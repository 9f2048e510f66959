// Command agents_basic_usage makes agents from dictionaries of settings: PPO balances a pole, then AMP begins to teach
// a biped to walk like a gait. Every key is explained in docs/reference/ppo.md and docs/reference/amp.md; a wrong one
// is an error that names the nearest right one.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	ppoSteps := flag.Int("ppo-timesteps", 5000, "timesteps, each a step of all 16 poles")
	ampSteps := flag.Int("amp-timesteps", 1500, "timesteps, each a step of all 64 walkers")
	seed := flag.Int64("seed", 1, "seed of everything random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	poles, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: *seed})
	check(err)
	balance, err := ppo.New(ppo.Options{
		Spaces: poles.Spaces(), Models: ppo.MLPs(poles.Spaces(), []int{64, 64}, "tanh"), Seed: *seed,
		Dict: map[string]any{
			"rollouts": 64, "learning_epochs": 6, "mini_batches": 4,
			"learning_rate": 1e-3, "discount_factor": 0.99, "lambda": 0.95, // skrl 1.4's name of gae_lambda
			"value_loss_scale": 0.5, "value_preprocessor": "RunningStandardScaler",
		},
	})
	check(err)
	trainAndShow(ctx, poles, balance, *ppoSteps, *seed)

	walkers, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 64, Seed: *seed})
	check(err)
	walk, err := amp.New(amp.Options{
		Spaces: walkers.Spaces(), Motions: walkers, Seed: *seed,
		Models: amp.MLPs(walkers.Spaces(), []int{128, 64}, "elu"), // policy, value and discriminator
		Dict: map[string]any{
			"rollouts": 32, "learning_epochs": 4, "mini_batches": 4,
			"learning_rate": 3e-4, "discount_factor": 0.97, "grad_norm_clip": 1.0,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			"amp_observation_preprocessor": "RunningStandardScaler",
			// These three have skrl 1.4's names.
			"task_reward_weight": 0.5, "style_reward_weight": 1.0, "discriminator_reward_scale": 1.0,
			"discriminator_batch_size": 512,
		},
	})
	check(err)
	trainAndShow(ctx, walkers, walk, *ampSteps, *seed)
}

// trainAndShow works with any agent in any environment, and closes both.
func trainAndShow(ctx context.Context, env envs.Env, agent agents.Agent, timesteps int, seed int64) {
	defer env.Close()
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: timesteps, Seed: seed})
	check(err)
	check(trainer.Train(ctx))
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: env.NumEnvs(), Seed: seed})
	check(err)
	fmt.Printf("%s: %d episodes of %.1f steps on average, return %.1f\n", agent.Name(), result.Episodes, result.Length,
		result.Return)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
