// Command pbt_reward_shaping lets a population find out how to shape a reward. MountainCar only rewards the flag, which
// is never reached by chance within 200 steps, so plain PPO learns to stand still. The environment can reward height
// and velocity on the way: too little of that changes nothing, too much and the car rocks for the reward's sake. The
// members begin with shapings drawn at random over decades; those that reach the flag least copy those that reach it
// most, and what is judged is the return without any shaping.
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
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// objective is the return without shaping, which MountainCar reports of every episode.
const objective = "episode.true_objective"

var (
	members  = flag.Int("members", 8, "members of the population")
	envs     = flag.Int("envs", 16, "cars of each member")
	steps    = flag.Int64("steps", 320_000, "environment steps of each member")
	interval = flag.Int64("interval", 32_000, "environment steps between decisions")
	seed     = flag.Int64("seed", 1, "seed of everything random")
	out      = flag.String("out", filepath.Join("runs", "pbt_reward_shaping"),
		"folder of the results; a population in it is continued")
)

func main() {
	tensor.TuneAllocator()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	population, err := pbt.New(pbt.Options{
		Members:       *members,
		Objective:     objective,
		IntervalSteps: *interval,
		TotalSteps:    *steps,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.25, ThresholdAbs: 2},
		Explore: explore.Mutation{
			Rate: 0.5, ChangeRange: [2]float64{1.2, 2},
			Rules: explore.Rules{"learning_rate": explore.MutateFloat, "env.height": explore.MutateFloat,
				"env.velocity": explore.MutateFloat},
			Bounds: map[string][2]float64{
				"learning_rate": {1e-5, 1e-2}, "env.height": {1e-3, 100}, "env.velocity": {1e-3, 100},
			},
		},
		Sample: map[string]explore.Range{
			"learning_rate": {Low: 1e-4, High: 3e-3, Log: true},
			"env.height":    {Low: 1e-3, High: 1e-1, Log: true},
			"env.velocity":  {Low: 1e-2, High: 1e2, Log: true},
		},
		Seed:      *seed,
		Directory: filepath.Join(*out, "population"),
		Progress: func(u pbt.Update) {
			if u.Event != nil {
				log.Printf("member %d: %d steps, true objective %.1f", u.Status.Member, u.Status.Steps,
					u.Metrics[objective])
			}
		},
		New: func(m pbt.Member) (pbt.Trainee, error) { return member(m.Seed) },
	})
	check(err)
	defer population.Close()
	best, err := population.Train(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Printf("Stopped. The same command continues the population in %s.\n", *out)
		return
	}
	check(err)
	compare(ctx, population, best)
}

// member builds one car's trainer. Nothing is shaped unless the population says so.
func member(seed int64) (*trainers.Trainee, error) {
	env, err := classic.NewMountainCar(classic.Config{NumEnvs: *envs, Seed: seed, MaxEpisodeSteps: 200, Workers: 1})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.MLPs(env.Spaces(), []int{32, 32}, "tanh"),
			Dict: map[string]any{
				"rollouts": 128, "learning_epochs": 4, "mini_batches": 4, "learning_rate": 1e-3,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			},
			Seed: seed,
		})
	}, trainers.Config{Seed: seed})
}

// compare compares the best member with plain PPO, which trains for as long, and writes the table and the page.
func compare(ctx context.Context, population *pbt.Population, best *pbt.Result) {
	plain, err := member(*seed)
	check(err)
	defer plain.Close()
	check(plain.Train(ctx, *steps))
	winner, err := member(*seed)
	check(err)
	defer winner.Close()
	check(winner.Restore(best.Snapshot))
	history, err := journal.NewHistory(population.Journal())
	check(err)
	check(report.Write(*out, history, report.Options{}))
	fmt.Println()
	check(population.Table().Write(os.Stdout))
	fmt.Println("\nEvaluated without exploration:")
	row := func(who string, trainee *trainers.Trainee, values map[string]float64) []string {
		figures, err := trainee.EvaluateMetrics(ctx, 96, *seed)
		check(err)
		return []string{who, fmt.Sprintf("%.2g", values["learning_rate"]), fmt.Sprintf("%.2g", values["env.height"]),
			fmt.Sprintf("%.2g", values["env.velocity"]), fmt.Sprintf("%.1f", figures[objective]),
			fmt.Sprintf("%.0f", figures["episode.length"])}
	}
	check(tracking.Table(os.Stdout,
		[]string{"who", "learning rate", "height", "velocity", "true objective", "steps of 200"}, [][]string{
			row("plain PPO", plain, plain.Hyperparameters()),
			row(fmt.Sprintf("PBT, member %d", best.Member), winner, best.Hyperparameters),
		}))
	fmt.Printf("\nObjective, hyperparameters and lineage: %s. Every decision: %s.\n",
		filepath.Join(*out, report.PageFile), filepath.Join(*out, "population"))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
