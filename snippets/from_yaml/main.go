// Command from_yaml makes models, agent and trainer from one YAML file in the form of skrl's Runner, and trains the
// walker.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

//go:embed walker_amp.yaml
var walkerAMP []byte

func main() {
	tensor.TuneAllocator()
	path := flag.String("config", "", "a YAML file (default: walker_amp.yaml, which is built in)")
	timesteps := flag.Int("timesteps", 0, "train for so many timesteps instead of the file's")
	numEnvs := flag.Int("envs", 64, "walkers")
	out := flag.String("out", "", "folder of all runs instead of the file's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *path, *numEnvs, *timesteps, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string, numEnvs, timesteps int, out string) error {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: numEnvs})
	if err != nil {
		return err
	}
	defer env.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	adjust := func(c *trainers.Config) { // what YAML cannot say, or the command line says otherwise
		c.Progress = bars
		if timesteps > 0 {
			c.Timesteps = timesteps
		}
		if out != "" {
			c.Directory = out
		}
	}
	var trainer *trainers.Trainer
	if path == "" {
		trainer, err = trainers.FromYAML(walkerAMP, env, adjust)
	} else {
		trainer, err = trainers.FromFile(path, env, adjust)
	}
	if err != nil {
		return err
	}
	defer trainer.Agent().Close()
	err = errors.Join(trainer.Train(ctx), trainer.Close())
	bars.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("%s trained for %d timesteps: mean episode length %.1f; run in %s\n",
		trainer.Agent().Name(), trainer.Timestep(), trainer.Metrics()["episode.length"], trainer.Dir())
	return nil
}
