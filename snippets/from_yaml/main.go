// Command from_yaml trains what a YAML file describes: one agent in the form of skrl's Runner, or, with -population, a
// population in the words of Isaac Lab whose members are described as skrl's Runner describes one.
//
//	go run ./snippets/from_yaml
//	go run ./snippets/from_yaml -population
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

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
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
	path := flag.String("config", "", "a YAML `file` (default: one of the two built-in files)")
	envs := flag.Int("envs", 0, "environments of each agent (default 64 walkers, 16 pendulums)")
	steps := flag.Int("steps", 0, "timesteps of the agent, or environment steps of each member, instead of the file's")
	interval := flag.Int64("interval", 0, "environment steps between the population's decisions instead of the file's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	data, numEnvs, err := walkerAMP, 64, error(nil)
	if *population {
		data, numEnvs = pendulumPopulation, 16
	}
	if *envs > 0 {
		numEnvs = *envs
	}
	if *path != "" {
		data, err = os.ReadFile(*path)
	}
	switch {
	case err != nil:
	case *population:
		err = trainPopulation(ctx, data, numEnvs, *interval, int64(*steps))
	default:
		err = trainAgent(ctx, data, numEnvs, *steps)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// trainAgent trains one agent on walkers.
func trainAgent(ctx context.Context, data []byte, numEnvs, timesteps int) error {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: numEnvs})
	if err != nil {
		return err
	}
	defer env.Close()
	bars := progress.New(os.Stderr, progress.Options{})
	// What YAML cannot say, or the flags replace.
	trainer, err := trainers.FromYAML(data, env, func(c *trainers.Config) {
		c.Progress = bars
		if timesteps > 0 {
			c.Timesteps = timesteps
		}
	})
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

// trainPopulation trains a population of pendulums. The section pbt of the file makes its options, the other sections
// make each member.
func trainPopulation(ctx context.Context, data []byte, numEnvs int, interval, total int64) (err error) {
	settings, err := preset.FromYAML(data)
	if err != nil {
		return err
	}
	for _, note := range settings.Notes {
		fmt.Println(note)
	}
	options := settings.Options
	if interval > 0 {
		options.IntervalSteps = interval
	}
	if total > 0 {
		options.TotalSteps = total
	}
	options.Directory, options.ProgressSteps = settings.Folder(), min(8192, options.IntervalSteps)
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
	display := progress.New(os.Stderr, progress.Options{LineEvery: 0.25})
	var bars []tracking.Bar
	for id := range options.Members {
		bars = append(bars, display.Bar(fmt.Sprintf("member %d", id), options.TotalSteps))
	}
	options.Progress = func(u pbt.Update) {
		if u.Event == nil {
			bars[u.Status.Member].Set(u.Status.Steps, fmt.Sprintf("return %7.1f", u.Metrics["episode.return"]))
		}
	}

	population, err := pbt.New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, population.Close()) }()
	best, err := population.Train(ctx)
	display.Wait()
	if err != nil {
		return err
	}
	if err := population.Table().Write(os.Stdout); err != nil {
		return err
	}
	fmt.Printf("\nBest: member %d after %d environment steps, %s %.1f. The journal is in %s.\n",
		best.Member, best.Steps,
		options.Objective, best.Objective, options.Directory)
	return nil
}
