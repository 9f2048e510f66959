// Command pbt_replay finds a schedule of hyperparameters with a population and trains a single agent by it: six PPO
// agents learn to swing up a pendulum, the hyperparameters behind the best one's weights are taken from the journal,
// and fresh agents replay them beside others whose hyperparameters stay as they are.
//
// It writes the schedule, and a page that shows what happened in the population.
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
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/schedule"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	members  = flag.Int("members", 6, "members of the population")
	steps    = flag.Int64("steps", 131_072, "environment steps of each agent")
	interval = flag.Int64("interval", 8192, "environment steps between decisions")
	episodes = flag.Int("episodes", 64, "episodes of each evaluation")
	seed     = flag.Int64("seed", 1, "seed of everything random")
	out      = flag.String("out", filepath.Join("runs", "pbt_replay"),
		"folder of the results; a population in it is continued")
)

func main() {
	tensor.TuneAllocator()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx); {
	case errors.Is(err, context.Canceled):
		fmt.Printf("Stopped. The same command continues the population in %s.\n", *out)
	case err != nil:
		log.Fatal(err)
	}
}

// pendulum builds an agent in its environment; all have the same settings to begin with.
func pendulum(seed int64) (*trainers.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"),
			Dict: map[string]any{
				"rollouts": 64, "learning_epochs": 5, "mini_batches": 8, "learning_rate": 3e-4, "discount_factor": 0.99,
				"value_loss_scale": 0.5, "rewards_shaper_scale": 0.1,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			},
			Seed: seed,
		})
	}, trainers.Config{Seed: seed})
}

func run(ctx context.Context) error {
	display := progress.New(os.Stderr, progress.Options{LineEvery: 0.25})
	bars := map[int]tracking.Bar{}
	for id := range *members {
		bars[id] = display.Bar(fmt.Sprintf("member %d", id), *steps)
	}
	population, err := pbt.New(pbt.Options{
		Members:       *members,
		Objective:     "episode.return",
		IntervalSteps: *interval,
		TotalSteps:    *steps,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		Explore: explore.Mutation{Rate: 0.5, ChangeRange: [2]float64{1.2, 2}, Rules: explore.Rules{
			"learning_rate": explore.MutateFloat, "discount_factor": explore.MutateDiscount,
		}},
		Sample: map[string]explore.Range{
			"learning_rate":   {Low: 1e-4, High: 3e-3, Log: true},
			"discount_factor": {Low: 0.85, High: 0.99},
		},
		Seed:      *seed,
		Directory: filepath.Join(*out, "population"),
		Progress: func(u pbt.Update) {
			if u.Event == nil {
				bars[u.Status.Member].Set(u.Status.Steps, fmt.Sprintf("return %.0f", u.Metrics["episode.return"]))
			}
		},
		New: func(m pbt.Member) (pbt.Trainee, error) { return pendulum(m.Seed) },
	})
	if err != nil {
		return err
	}
	defer population.Close()
	best, err := population.Train(ctx)
	display.Wait()
	if err != nil {
		return err
	}

	history, err := journal.NewHistory(population.Journal())
	if err != nil {
		return err
	}
	if err := report.Write(*out, history, report.Options{Title: fmt.Sprintf("%d pendulums", *members)}); err != nil {
		return err
	}
	found, err := schedule.ExtractAt(history, best.Member, best.Iteration)
	if err != nil {
		return err
	}
	file := filepath.Join(*out, "schedule.json")
	if err := schedule.Write(file, found); err != nil {
		return err
	}
	if err := compare(ctx, best.Snapshot, found); err != nil {
		return err
	}
	fmt.Println()
	return tracking.Table(os.Stdout, []string{"written", "what it is"}, [][]string{
		{filepath.Join(*out, report.PageFile), "what happened in the population"},
		{file, "the best schedule"},
	})
}

// compare trains agents by the schedule and by hyperparameters that stay, and evaluates all with the same episodes.
func compare(ctx context.Context, best *checkpoint.Snapshot, found schedule.Schedule) error {
	fmt.Println("The schedule behind the best weights:")
	fmt.Println()
	var phases [][]string
	for _, p := range found.Phases {
		phases = append(phases, []string{fmt.Sprint(p.From), fmt.Sprint(p.Member),
			fmt.Sprintf("%.3g", p.Hyperparameters["learning_rate"]), fmt.Sprintf("%.4f", p.Hyperparameters["discount_factor"])})
	}
	if err := tracking.Table(os.Stdout, []string{"from environment step", "member", "learning rate", "discount factor"},
		phases); err != nil {
		return err
	}

	// A schedule of one phase is one of hyperparameters that stay.
	fixed := func(values map[string]float64) schedule.Schedule {
		return schedule.Schedule{Steps: found.Steps, Phases: []schedule.Phase{{Hyperparameters: values}}}
	}
	another := *seed + 1000
	var rows [][]string
	for _, run := range []struct {
		name    string
		seed    int64
		restore *checkpoint.Snapshot
		play    schedule.Schedule
	}{
		{"the best of the population", found.Seed, best, found},
		{"the schedule, from the seed that its weights began with", found.Seed, nil, found},
		{"the schedule, from another seed", another, nil, found},
		{"what the schedule begins with, all the way", another, nil, fixed(found.At(0))},
		{"what the schedule ends with, all the way", another, nil, fixed(found.At(found.Steps))},
		{"a common choice, all the way", another, nil,
			fixed(map[string]float64{"learning_rate": 3e-4, "discount_factor": 0.99})},
	} {
		agent, err := pendulum(run.seed)
		if err != nil {
			return err
		}
		defer agent.Close()
		if run.restore != nil {
			if err := agent.Restore(run.restore); err != nil { // trained to the end, so that Train has nothing to do
				return err
			}
		}
		if err := schedule.Train(ctx, agent, run.play, schedule.Options{}); err != nil {
			return err
		}
		result, err := agent.Evaluate(ctx, trainers.EvaluateOptions{Episodes: *episodes, Seed: *seed})
		if err != nil {
			return err
		}
		rows = append(rows, []string{run.name, fmt.Sprint(agent.Steps()), fmt.Sprintf("%.0f", result.Return)})
	}
	fmt.Printf("\nEvaluated over %d episodes:\n\n", *episodes)
	return tracking.Table(os.Stdout, []string{"agent", "environment steps", "return"}, rows)
}
