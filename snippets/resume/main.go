// Command resume shows a run that survives interruptions: checkpoints while training, a last one at Ctrl-C, and with
// -resume the run goes on from the newest valid checkpoint. What it then does is, bit for bit, what it would have done
// without the interruption.
//
//	go run ./snippets/resume            # and press Ctrl-C, or let -interrupt do it
//	go run ./snippets/resume -resume
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
	"syscall"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	timesteps := flag.Int("timesteps", 4096, "timesteps in all, each a step of all 16 poles")
	interrupt := flag.Int("interrupt", 0, "stop at this timestep as Ctrl-C would (0: never)")
	out := flag.String("out", "runs", "folder of all runs")
	name := flag.String("name", "resume", "folder of this run")
	resume := flag.Bool("resume", false, "continue the run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	env, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: 1})
	check(err)
	defer env.Close()
	agent, err := ppo.New(ppo.Options{
		Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"),
		Dict: map[string]any{"rollouts": 64, "mini_batches": 4, "value_loss_scale": 0.5,
			"value_preprocessor": "RunningStandardScaler"},
		Seed: 1,
	})
	check(err)
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{
		Timesteps: *timesteps, Seed: 1, Directory: *out, Name: *name, Resume: *resume,
		CheckpointInterval: agents.Interval{Steps: max(1, *timesteps/8)},
		WriteInterval:      agents.Interval{Auto: true},
		Keep:               3,    // the newest three, and the best besides
		SaveBuffers:        true, // memories and the environment's state: the same run, bit for bit
		Callbacks: []trainers.Callback{trainers.StepFunc(func(t *trainers.Trainer, _ *envs.Step) error {
			if t.Timestep() == int64(*interrupt) {
				stop()
			}
			return nil
		})},
	})
	check(err)
	check(trainer.Open(ctx))
	fmt.Printf("%s: from timestep %d\n", trainer.Dir(), trainer.Timestep())
	err = trainer.Train(ctx) // at an interruption it saves before it returns
	for _, damaged := range trainer.Damaged() {
		fmt.Println("passed over:", damaged)
	}
	list(trainer.Dir())
	if errors.Is(err, context.Canceled) {
		fmt.Println("Stopped; continue with -resume.")
	} else {
		check(err)
		fmt.Printf("finished at timestep %d, return %.1f\n", trainer.Timestep(), trainer.Metrics()["episode.return"])
	}
	check(trainer.Close())
}

// list shows the checkpoints of a run. Each has been verified against its manifest's checksum.
func list(dir string) {
	paths, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*.safetensors"))
	check(err)
	for _, path := range paths {
		saved, err := checkpoint.Load(path)
		check(err)
		fmt.Printf("  %s  timestep %d, %d arrays, %d bytes\n", filepath.Base(path), saved.Manifest.Step,
			saved.Manifest.Arrays, saved.Manifest.Size)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
