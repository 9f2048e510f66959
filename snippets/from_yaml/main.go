// Command from_yaml trains what a YAML file describes: one agent in the form of skrl's Runner, or, with -population, a
// population in the words of Isaac Lab whose members are described as skrl's Runner describes one.
//
//	go run ./snippets/from_yaml
//	go run ./snippets/from_yaml -population
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	//go:embed walker_amp.yaml
	walkerAMP []byte
	//go:embed pendulum_population.yaml
	pendulumPopulation []byte
)

func main() {
	tensor.TuneAllocator()
	population := flag.Bool("population", false, "train a population of pendulums instead of a walker")
	envs := flag.Int("envs", 0, "environments of each agent (default 64 walkers, 16 pendulums)")
	steps := flag.Int("steps", 0, "timesteps of the agent, or environment steps of each member, instead of the file's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *population {
		trainPopulation(ctx, cmp.Or(*envs, 16), int64(*steps))
	} else {
		trainAgent(ctx, cmp.Or(*envs, 64), *steps)
	}
}

// trainAgent trains one agent on walkers.
func trainAgent(ctx context.Context, numEnvs, timesteps int) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: numEnvs})
	check(err)
	defer env.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	// What YAML cannot say, or the flags replace.
	trainer, err := trainers.FromYAML(walkerAMP, env, func(c *trainers.Config) {
		c.Progress = bars
		c.Timesteps = cmp.Or(timesteps, c.Timesteps)
	})
	check(err)
	defer trainer.Agent().Close()
	err = errors.Join(trainer.Train(ctx), trainer.Close())
	bars.Wait()
	check(err)
	fmt.Printf("%s trained for %d timesteps: mean episode length %.1f; run in %s\n",
		trainer.Agent().Name(), trainer.Timestep(), trainer.Metrics()["episode.length"], trainer.Dir())
}

// trainPopulation trains a population of pendulums. The section pbt of the file makes its options, the other sections
// make each member.
func trainPopulation(ctx context.Context, numEnvs int, total int64) {
	settings, err := preset.FromYAML(pendulumPopulation)
	check(err)
	for _, note := range settings.Notes {
		fmt.Println(note)
	}
	options := settings.Options
	if total > 0 { // two intervals
		options.TotalSteps, options.IntervalSteps = total, total/2
	}
	options.Directory = settings.Folder()
	options.New = func(m pbt.Member) (pbt.Trainee, error) {
		env, err := classic.NewPendulum(classic.Config{NumEnvs: numEnvs, Seed: m.Seed})
		if err != nil {
			return nil, err
		}
		trainer, err := trainers.FromDict(settings.Member(m.Seed), env)
		if err != nil {
			return nil, errors.Join(err, env.Close())
		}
		return trainer.Trainee(), nil
	}
	options.Progress = func(u pbt.Update) {
		if u.Event != nil {
			log.Printf("member %d: %d steps, return %.1f", u.Status.Member, u.Status.Steps,
				u.Metrics["episode.return"])
		}
	}
	population, err := pbt.New(options)
	check(err)
	defer population.Close()
	best, err := population.Train(ctx)
	check(err)
	check(population.Table().Write(os.Stdout))
	fmt.Printf("\nBest: member %d after %d environment steps, %s %.1f. The journal is in %s.\n", best.Member,
		best.Steps, options.Objective, best.Objective, options.Directory)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
