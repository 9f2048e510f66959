// Command ppo_pendulum trains PPO to swing a pendulum up and hold it there, and films one episode of the result.
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
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 12_800, "timesteps, each a step of all 16 pendulums")
	seed := flag.Int64("seed", 1, "seed of everything random")
	out := flag.String("out", filepath.Join("runs", "ppo_pendulum"), "folder of the film")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *timesteps, *seed, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, timesteps int, seed int64, out string) error {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	if err != nil {
		return err
	}
	defer env.Close()
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: seed,
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
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 64, Seed: seed})
	if err != nil {
		return err
	}
	fmt.Printf("return %.1f over %d episodes\n", result.Return, result.Episodes)
	return film(ctx, agent, seed, out)
}

// film records environment 0 while the agent acts. The agent is bound to 16 environments, so as many are made.
func film(ctx context.Context, agent *ppo.Agent, seed int64, out string) (err error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: agent.NumEnvs(), Seed: seed})
	if err != nil {
		return err
	}
	recorded, err := wrappers.NewRecord(env, wrappers.RecordOptions{Dir: out, GIF: true, FPS: 20})
	if err != nil {
		return errors.Join(err, env.Close())
	}
	defer func() { err = errors.Join(err, recorded.Close()) }()
	if _, err := trainers.Evaluate(ctx, recorded, agent,
		trainers.EvaluateOptions{Episodes: 1, Seed: seed + 1}); err != nil {
		return err
	}
	fmt.Println("film in", out)
	return nil
}
