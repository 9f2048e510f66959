// Command evolution_control compares an evolution with its control on CartPole: the same six members, with the same
// seeds, small networks of one hidden layer and learning rates drawn over four decades, trained for the same number of
// environment steps without selection or mutation. The best member of each is evaluated over fresh episodes with the
// mean action; the task counts as solved from a return of 475 on.
//
//	go run ./benchmarks/evolution_control
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

const solved = 475

var (
	members  = flag.Int("members", 6, "members of each population")
	seeds    = flag.Int("seeds", 5, "number of populations, with seeds 1, 2, ...")
	episodes = flag.Int("episodes", 64, "episodes that the best member is evaluated for")
	nodes    = flag.Int("nodes", 4, "nodes of the hidden layer that members begin with")
	steps    = flag.Int64("steps", 98_304, "environment steps of each member")
	interval = flag.Int64("interval", 4096, "environment steps of a generation")
	low      = flag.Float64("low", 3e-8, "the least learning rate to begin with")
	high     = flag.Float64("high", 3e-4, "the greatest learning rate to begin with")
)

func main() { compare.Main(run) }

// outcome is the best member of a population at the end.
type outcome struct {
	value, rate  float64 // its return, and its learning rate
	architecture string
	seconds      float64
}

func run(ctx context.Context) error {
	var rows [][]string
	reached := map[string]int{}
	for seed := int64(1); seed <= int64(*seeds); seed++ {
		row := []string{fmt.Sprint(seed)}
		for _, kind := range []string{"evolution", "control"} {
			r, err := population(ctx, kind, seed)
			if err != nil {
				return err
			}
			if r.value >= solved {
				reached[kind]++
			}
			row = append(row, fmt.Sprintf("%.1f", r.value), fmt.Sprintf("%.2g", r.rate))
			if kind == "evolution" {
				row = append(row, r.architecture)
			}
			fmt.Fprintf(os.Stderr, "%s %d: return %.1f after %.1f s\n", kind, seed, r.value, r.seconds)
		}
		rows = append(rows, row)
	}
	fmt.Printf("\nReturn of the best of %d members on CartPole after %d environment steps of each (mean of %d "+
		"episodes, mean action):\n\n", *members, *steps, *episodes)
	if err := tracking.Table(os.Stdout,
		[]string{"seed", "evolution", "learning rate", "architecture", "control", "learning rate"}, rows); err != nil {
		return err
	}
	_, err := fmt.Printf("\nreached %d: evolution %d of %d, control %d of %d\n", solved, reached["evolution"], *seeds,
		reached["control"], *seeds)
	return err
}

// population trains one population or its control, and evaluates the best member.
func population(ctx context.Context, kind string, seed int64) (r outcome, err error) {
	began := time.Now()
	m := evolution.DefaultMutations()
	m.NoMutation, m.Architecture, m.Parameters, m.RLHP = 0.2, 0.3, 0.1, 0.4
	m.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 2, MinNodes: *nodes, MaxNodes: 128, MinLatent: 8,
		MaxLatent: 128}
	m.Hyperparameters = evolution.HyperparameterConfig{"learning_rate": {Min: *low, Max: 0.02, GrowFactor: 4,
		ShrinkFactor: 0.25}}
	opt := evolution.Options{
		Options: pbt.Options{
			Members: *members, IntervalSteps: *interval, TotalSteps: *steps, Seed: seed,
			Sample: map[string]explore.Range{"learning_rate": {Low: *low, High: *high, Log: true}},
			New:    func(m pbt.Member) (pbt.Trainee, error) { return member(m) },
		},
		Mutations: &m,
	}
	if kind == "control" {
		opt.Strategy = strategy.Never{}
	}
	e, err := evolution.New(opt)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	best, err := e.Train(ctx)
	if err != nil {
		return r, err
	}
	elite, err := evolution.Build(member, best.Snapshot, seed)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, elite.Close()) }()
	result, err := elite.Evaluate(ctx, trainers.EvaluateOptions{Episodes: *episodes, Seed: 1000 + seed})
	if err != nil {
		return r, err
	}
	shapes, err := evolution.Architectures(best.Snapshot)
	if err != nil {
		return r, err
	}
	return outcome{result.Return, best.Hyperparameters["learning_rate"], shapes["policy"].String(),
		time.Since(began).Seconds()}, nil
}

// member is a PPO agent with sixteen poles.
func member(m pbt.Member) (*trainers.Trainee, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		start, err := description.NewArchitecture(env.Spaces().Observation, nil, 0, []int{*nodes}, "tanh")
		if err != nil {
			return nil, err
		}
		shapes := map[string]description.Architecture{"policy": start, "value": start}
		if m.Restoring != nil {
			if shapes, err = evolution.Architectures(m.Restoring); err != nil {
				return nil, err
			}
		}
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.Evolvable(env.Spaces(), shapes["policy"], shapes["value"], models.DefaultGaussianConfig()),
			Dict: map[string]any{
				"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "value_loss_scale": 0.5,
				"entropy_loss_scale": 0.0,
			},
			Seed: m.Seed,
		})
	}, trainers.Config{Seed: m.Seed})
}
