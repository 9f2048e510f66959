// Command custom_environment trains PPO in an environment written here (reach.go): a point is to be pushed to a goal.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 3000, "timesteps, each a step of all 32 points")
	seed := flag.Int64("seed", 1, "seed of everything random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// A batch of 32 points whose episodes are cut after 10 s.
	env, err := wrappers.NewParallel(32, func(int) (envs.Single, error) {
		return wrappers.NewTimeLimit(&reach{}, 100)
	}, wrappers.ParallelOptions{Seed: *seed, Workers: 1})
	check(err)
	defer env.Close()
	check(envs.Check(env, 300, *seed)) // does the environment keep the contract?
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{32, 32}, "tanh"), Seed: *seed,
		Dict: map[string]any{
			"rollouts": 32, "learning_epochs": 6, "mini_batches": 4, "learning_rate": 1e-3, "discount_factor": 0.97,
			"value_loss_scale":         0.5,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		},
	})
	check(err)
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: *timesteps, Seed: *seed})
	check(err)
	evaluate := func(when string) {
		result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 64, Seed: *seed})
		check(err)
		fmt.Printf("%s training: %3.0f%% of the goals reached, in %.0f steps on average\n", when,
			100*result.Metrics["reached"], result.Length)
	}
	evaluate("before")
	check(trainer.Train(ctx))
	evaluate("after")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
