// Command gymnasium_cartpole trains PPO on Gymnasium's own CartPole-v1, which runs in Python processes beside it.
//
// It needs Python with gymnasium 1.0 and numpy; without them it says how to get them. Any other environment with
// discrete or continuous actions will do too: -env LunarLander-v3.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	id := flag.String("env", "CartPole-v1", "id of the environment")
	timesteps := flag.Int("timesteps", 12_500, "timesteps, each a step of all 8 environments")
	seed := flag.Int64("seed", 1, "seed of everything random")
	python := flag.String("python", defaultPython(), "the Python interpreter")
	serve := flag.String("serve", "",
		"after training, answer Python programs through this file (clients/python) until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, *id, *timesteps, *seed, *python, *serve); {
	case errors.Is(err, gymnasium.ErrNoPython):
		fmt.Println(err)
		fmt.Println("\nSkipped. `make peers` sets up such a Python, and -python names another.")
	case err != nil:
		log.Fatal(err)
	}
}

// defaultPython is that of `make peers` where GORL_PEERS says where it is, else the system's.
func defaultPython() string {
	if folder := os.Getenv("GORL_PEERS"); folder != "" {
		return filepath.Join(folder, "bin", "python")
	}
	return "python3"
}

func run(ctx context.Context, id string, timesteps int, seed int64, python, serve string) error {
	env, err := gymnasium.New(gymnasium.Options{ID: id, NumEnvs: 8, Seed: seed, Python: python})
	if err != nil {
		return err
	}
	defer env.Close()
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: seed,
		Dict: map[string]any{
			"rollouts": 32, "learning_epochs": 10, "mini_batches": 2, "discount_factor": 0.98, "gae_lambda": 0.8,
			"value_loss_scale": 0.5, "value_clip": 0, "learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR",
			"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01,
				"total_iters": max(1, timesteps/32)},
		},
	})
	if err != nil {
		return err
	}
	defer agent.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	trainer, err := trainers.Sequential(env, agent, trainers.Config{Timesteps: timesteps, Seed: seed, Progress: bars})
	if err != nil {
		return err
	}
	err = trainer.Train(ctx)
	bars.Wait()
	if err != nil {
		return err
	}
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 32, Seed: seed + 1000})
	if err != nil {
		return err
	}
	fmt.Printf("%s: return %.1f over %d episodes\n", id, result.Return, result.Episodes)
	if serve == "" {
		return nil
	}
	fmt.Println("serving at", serve)
	return gymnasium.Serve(ctx, agent, serve, gymnasium.ServeOptions{})
}
