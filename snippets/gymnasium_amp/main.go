// Command gymnasium_amp trains AMP on an environment that is Python (fish.py): a fish learns to swim at the speed it is
// asked for, as the task rewards, and to undulate, as only the reference motion shows. The reference is a clip that Go
// reads.
//
// It needs Python with gymnasium 1.0 and numpy; without them it says how to get them. With -style 0 the fish swims
// straight.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

//go:embed fish.py
var environment embed.FS

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 10_000, "timesteps, each a step of all 16 environments")
	seed := flag.Int64("seed", 1, "seed of everything random")
	style := flag.Float64("style", 1, "how much the style counts; the task counts 0.5")
	python := flag.String("python", defaultPython(), "the Python interpreter")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// fish.py goes to a folder of its own, so that the program runs from anywhere.
	dir, err := os.MkdirTemp("", "gymnasium_amp-")
	check(err)
	defer os.RemoveAll(dir)
	check(os.CopyFS(dir, environment))
	env, err := gymnasium.New(gymnasium.Options{
		Factory: "fish:Fish", Path: []string{dir}, NumEnvs: 16, Seed: *seed, Python: *python,
		AMPObservations: "amp_obs", // their key in the infos
	})
	if errors.Is(err, gymnasium.ErrNoPython) {
		fmt.Printf("%v\n\nSkipped. `make peers` sets up such a Python, and -python names another.\n", err)
		return
	}
	check(err)
	defer env.Close()
	// fish.py writes its reference motion: one column, the place across the course.
	command := exec.CommandContext(ctx, *python, "fish.py")
	command.Dir, command.Stderr = dir, os.Stderr
	check(command.Run())
	clip, err := motions.Load(filepath.Join(dir, "undulation.json"))
	check(err)
	// A row is that of the infos: place and velocity before a step of the environment and after it.
	source, err := motions.NewSource(motions.SourceConfig{
		History: 2, TimeStep: 0.1, Features: motions.StateFeatures(clip),
	}, clip)
	check(err)
	agent, err := amp.New(amp.Options{
		Spaces: env.Spaces(), Motions: source, Seed: *seed,
		Models: amp.MLPs(env.Spaces(), []int{64, 64}, "elu"), // policy, value, discriminator
		Dict: map[string]any{
			"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.95, "gae_lambda": 0.95,
			"learning_rate":            1e-3,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			"amp_observation_preprocessor": "RunningStandardScaler",
			"task_reward_scale":            0.5, "style_reward_scale": *style,
			"discriminator_loss_scale": 2.0, "discriminator_gradient_penalty_scale": 1.0,
			"amp_batch_size": 512, "motion_dataset_size": 4000, "reply_buffer_size": 20_000,
		},
	})
	check(err)
	defer agent.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: *timesteps, Seed: *seed, Progress: bars})
	check(err)
	err = trainer.Train(ctx)
	bars.Wait()
	if errors.Is(err, context.Canceled) { // not log.Fatal: the folder is removed
		fmt.Println("Stopped.")
		return
	}
	check(err)
	result, err := trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 32, Seed: *seed + 1000})
	check(err)
	m := result.Metrics
	fmt.Printf("return %.1f of 60  speed error %.2f m/s  frequency %.2f Hz  orbit error %.2f\n", result.Return,
		m["speed_error"], m["frequency"], m["orbit_error"])
}

// defaultPython is that of `make peers` where GORL_PEERS says where it is, else the system's.
func defaultPython() string {
	if folder := os.Getenv("GORL_PEERS"); folder != "" {
		return filepath.Join(folder, "bin", "python")
	}
	return "python3"
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
