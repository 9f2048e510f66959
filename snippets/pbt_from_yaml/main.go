// Command pbt_from_yaml trains a population in one process that a YAML file describes: the population in the words of
// Isaac Lab, its agents in those of skrl's Runner.
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
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

//go:embed pendulum.yaml
var pendulum []byte

func main() {
	tensor.TuneAllocator()
	path := flag.String("config", "", "a YAML `file` (default: pendulum.yaml, which is built in)")
	envs := flag.Int("envs", 16, "pendulums of each member")
	interval := flag.Int64("interval", 0, "environment steps between decisions instead of the file's")
	total := flag.Int64("steps", 0, "environment steps of each member instead of the file's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *path, *envs, *interval, *total); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string, numEnvs int, interval, total int64) (err error) {
	data := pendulum
	if path != "" {
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	settings, err := preset.FromYAML(data)
	if err != nil {
		return err
	}
	for _, note := range settings.Notes {
		fmt.Println(note)
	}

	display := progress.New(os.Stderr, progress.Options{LineEvery: 0.25})
	var bars []tracking.Bar
	options := settings.Options
	if interval > 0 {
		options.IntervalSteps = interval
	}
	if total > 0 {
		options.TotalSteps = total
	}
	options.Directory, options.ProgressSteps = settings.Folder(), min(8192, options.IntervalSteps)
	options.New = func(m pbt.Member) (pbt.Trainee, error) { return member(settings.Member(m.Seed), numEnvs, m.Seed) }
	options.Progress = func(u pbt.Update) {
		if u.Event == nil {
			bars[u.Status.Member].Set(u.Status.Steps, fmt.Sprintf("return %7.1f", u.Metrics["episode.return"]))
		}
	}
	for id := range options.Members {
		bars = append(bars, display.Bar(fmt.Sprintf("member %d", id), options.TotalSteps))
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
	fmt.Printf("\nBest: member %d after %d environment steps, %s %.1f. The journal is in %s.\n", best.Member, best.Steps,
		options.Objective, best.Objective, options.Directory)
	return nil
}

// member builds one member's trainer as the sections of the file say.
func member(sections map[string]any, numEnvs int, seed int64) (pbt.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: numEnvs, Seed: seed})
	if err != nil {
		return nil, err
	}
	trainer, err := trainers.FromDict(sections, env)
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return trainer.Trainee(), nil
}
