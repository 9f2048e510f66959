// Command amp_walker trains one AMP agent: a planar biped learns to walk like its reference gait. With -memory the
// policy sees no velocities, and has gated recurrent units to find them out.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

// Config is what the walker's AMP agent learns with; every key is one of amp.Config's.
func config() map[string]any {
	return map[string]any{
		"rollouts": 32, "learning_epochs": 4, "mini_batches": 4,
		"discount_factor": 0.97, "gae_lambda": 0.95, "learning_rate": 3e-4, "grad_norm_clip": 1.0,
		"value_loss_scale":             1.0,
		"observation_preprocessor":     "RunningStandardScaler",
		"value_preprocessor":           "RunningStandardScaler",
		"amp_observation_preprocessor": "RunningStandardScaler",
		"task_reward_scale":            0.5, "style_reward_scale": 1.0,
		"discriminator_loss_scale": 2.0, "discriminator_batch_size": 512, "discriminator_gradient_penalty_scale": 5.0,
		"motion_dataset_size": 4000, "reply_buffer_size": 50_000,
	}
}

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 23_424, "timesteps, each a step of all 64 environments")
	seed := flag.Int64("seed", 1, "seed of everything random")
	memory := flag.Bool("memory", false, "hide velocities from the policy, and give it a memory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 64, Seed: *seed, HideVelocities: *memory})
	check(err)
	defer env.Close()
	settings, networks := config(), amp.MLPs(env.Spaces(), []int{128, 64}, "elu") // policy, value, discriminator
	if *memory {
		networks = amp.Recurrent(env.Spaces(), models.GRU(64), []int{128, 64}, "elu")
		settings["state_preprocessor"] = "RunningStandardScaler" // of what the value network sees
	}
	agent, err := amp.New(amp.Options{Spaces: env.Spaces(), Motions: env, Dict: settings, Seed: *seed,
		Models: networks})
	check(err)
	defer agent.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: *timesteps, Seed: *seed, Progress: bars})
	check(err)
	err = trainer.Train(ctx)
	bars.Wait()
	check(err)
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 64, Seed: *seed})
	check(err)
	fmt.Printf("length %.1f of 300  return %.1f  speed %.2f m/s  joint error %.3f rad\n",
		result.Length, result.Return, result.Metrics["speed"], result.Metrics["joint_error"])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
