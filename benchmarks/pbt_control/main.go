// Command pbt_control compares a population with its control: the same members, with the same seeds and first
// hyperparameters, trained for the same number of environment steps without copying or mutating. Learning rate and
// entropy scale are drawn over three decades each, so that most members begin badly. Every member is evaluated at the
// end.
//
//	go run ./benchmarks/pbt_control
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	members  = flag.Int("members", 8, "members of each population")
	seeds    = flag.Int("seeds", 3, "number of populations, with seeds 1, 2, ...")
	episodes = flag.Int("episodes", 64, "episodes that every member is evaluated for")
	steps    = flag.Int64("steps", 327_680, "environment steps of each member")
	interval = flag.Int64("interval", 20_480, "environment steps between decisions")
	out      = flag.String("out", filepath.Join("runs", "pbt_control"), "folder of the pages")
)

func main() { compare.Main(run) }

// outcome is what the members of one population were worth at the end.
type outcome struct{ best, median, worst float64 }

func run(ctx context.Context) error {
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	bars := progress.New(os.Stderr, progress.Options{LineEvery: 0.25})
	var rows [][]string
	columns := make([][]float64, 6) // of the table, without the seed
	for seed := int64(1); seed <= int64(*seeds); seed++ {
		row := []string{fmt.Sprint(seed)}
		for k, kind := range []string{"population", "control"} {
			result, err := population(ctx, kind, seed, bars)
			if err != nil {
				return err
			}
			for i, x := range []float64{result.best, result.median, result.worst} {
				row = append(row, number(x))
				columns[3*k+i] = append(columns[3*k+i], x)
			}
		}
		rows = append(rows, row)
	}
	bars.Wait()
	row := []string{"mean"}
	for _, values := range columns {
		row = append(row, number(stat.Mean(values, nil)))
	}
	rows = append(rows, row)
	fmt.Printf("\nReturn of Pendulum after %d environment steps of each of %d members (mean of %d episodes, mean "+
		"action):\n\n", *steps, *members, *episodes)
	return tracking.Table(os.Stdout, []string{"seed", "PBT best", "median", "worst", "control best", "median", "worst"},
		rows)
}

func number(x float64) string { return fmt.Sprintf("%.1f", x) }

// population trains one population or its control, and evaluates all its members.
func population(ctx context.Context, kind string, seed int64, bars tracking.Progress) (result outcome, err error) {
	bar := bars.Bar(fmt.Sprintf("%s %d", kind, seed), *steps*int64(*members))
	done := map[int]int64{}
	opt := pbt.Options{
		Members:       *members,
		Objective:     "episode.return",
		IntervalSteps: *interval,
		TotalSteps:    *steps,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		Explore: explore.Mutation{Rate: 0.5, ChangeRange: [2]float64{1.2, 2}, Rules: explore.Rules{
			"learning_rate": explore.MutateFloat, "entropy_loss_scale": explore.MutateFloat,
		}},
		Sample: map[string]explore.Range{
			"learning_rate":      {Low: 1e-5, High: 1e-2, Log: true},
			"entropy_loss_scale": {Low: 1e-4, High: 1e-1, Log: true},
		},
		Seed:          seed,
		ProgressSteps: 4096,
		Progress: func(u pbt.Update) {
			if u.Event == nil {
				done[u.Status.Member] = u.Status.Steps
				var total int64
				for n := range maps.Values(done) {
					total += n
				}
				bar.Set(total, "")
			}
		},
		New: member,
	}
	if kind == "control" {
		opt.Strategy = strategy.Never{}
	}
	p, err := pbt.New(opt)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err := p.Train(ctx); err != nil {
		return result, err
	}
	bar.Finish("")
	history, err := journal.NewHistory(p.Journal())
	if err != nil {
		return result, err
	}
	if err := report.Write(filepath.Join(*out, fmt.Sprintf("%s_%d", kind, seed)), history, report.Options{}); err != nil {
		return result, err
	}
	var returns []float64
	for id := range *members {
		e, err := p.Trainee(id).(*trainers.Trainee).Evaluate(ctx,
			trainers.EvaluateOptions{Episodes: *episodes, Seed: 1000 + seed})
		if err != nil {
			return result, err
		}
		returns = append(returns, e.Return)
	}
	slices.Sort(returns)
	n := len(returns)
	return outcome{best: returns[n-1], median: (returns[(n-1)/2] + returns[n/2]) / 2, worst: returns[0]}, nil
}

// member is a PPO agent with sixteen pendulums.
func member(m pbt.Member) (pbt.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"),
			Dict: map[string]any{
				"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "discount_factor": 0.9,
				"value_loss_scale":     0.5,
				"rewards_shaper_scale": 0.1, "observation_preprocessor": "RunningStandardScaler",
				"value_preprocessor": "RunningStandardScaler",
			},
			Seed: m.Seed,
		})
	}, trainers.Config{Seed: m.Seed})
}
