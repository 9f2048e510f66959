// Command control compares populations with their controls: the same members, with the same seeds and first
// hyperparameters, trained for the same number of environment steps without copying or mutating. Learning rates are
// drawn over decades, so that most members begin badly.
//
//	go run ./benchmarks/control              # PPO agents on Pendulum: the best, median and worst member at the end
//	go run ./benchmarks/control -evolution   # an evolution on CartPole that begins with four nodes: the best member
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"gonum.org/v1/gonum/stat"

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

var evolves = flag.Bool("evolution", false, "compare evolutions on CartPole with their controls")

// episodes is the number of episodes that a member is evaluated for.
const episodes = 64

// comparison has the sizes of the populations that are compared.
type comparison struct {
	members, seeds  int
	interval, steps int64 // environment steps of each member: between decisions, and in all
}

func main() { compare.Main(run) }

func run(ctx context.Context) {
	c := comparison{members: 8, seeds: 3, interval: 20_480, steps: 327_680}
	train, header := c.population, []string{"seed", "PBT best", "median", "worst", "control best", "median", "worst"}
	if *evolves {
		c = comparison{members: 6, seeds: 5, interval: 4096, steps: 98_304}
		train, header = c.evolution, []string{"seed", "evolution", "control"}
	}
	var rows [][]string
	columns := make([][]float64, len(header)-1)
	for seed := int64(1); seed <= int64(c.seeds); seed++ {
		row := []string{fmt.Sprint(seed)}
		for _, control := range []bool{false, true} {
			returns := train(ctx, control, seed)
			for _, x := range returns {
				columns[len(row)-1] = append(columns[len(row)-1], x)
				row = append(row, fmt.Sprintf("%.1f", x))
			}
			fmt.Fprintf(os.Stderr, "seed %d, control %t: returns %.1f\n", seed, control, returns)
		}
		rows = append(rows, row)
	}
	row := []string{"mean"}
	for _, values := range columns {
		row = append(row, fmt.Sprintf("%.1f", stat.Mean(values, nil)))
	}
	fmt.Printf("Returns of %d episodes with the mean action, after %d environment steps of each of %d members:\n\n",
		episodes, c.steps, c.members)
	compare.Check(tracking.Table(os.Stdout, header, append(rows, row)))
}

// population trains a population or its control, and returns the best, the median and the worst member's return.
func (c comparison) population(ctx context.Context, control bool, seed int64) []float64 {
	opt := pbt.Options{
		Members: c.members, Objective: "episode.return", IntervalSteps: c.interval, TotalSteps: c.steps, Seed: seed,
		Strategy: strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 10},
		Explore: explore.Mutation{Rate: 0.5, ChangeRange: [2]float64{1.2, 2}, Rules: explore.Rules{
			"learning_rate": explore.MutateFloat, "entropy_loss_scale": explore.MutateFloat,
		}},
		Sample: map[string]explore.Range{
			"learning_rate":      {Low: 1e-5, High: 1e-2, Log: true},
			"entropy_loss_scale": {Low: 1e-4, High: 1e-1, Log: true},
		},
		New: pendulum,
	}
	if control {
		opt.Strategy = strategy.Never{}
	}
	p := compare.Must(pbt.New(opt))
	defer p.Close()
	compare.Must(p.Train(ctx))
	var all []float64
	for id := range c.members {
		e := compare.Must(p.Trainee(id).(*trainers.Trainee).Evaluate(ctx,
			trainers.EvaluateOptions{Episodes: episodes, Seed: 1000 + seed}))
		all = append(all, e.Return)
	}
	return []float64{slices.Max(all), compare.Median(all), slices.Min(all)}
}

// pendulum is a PPO agent with sixteen pendulums.
func pendulum(m pbt.Member) (pbt.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: m.Seed,
			Dict: map[string]any{
				"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "discount_factor": 0.9,
				"value_loss_scale": 0.5, "rewards_shaper_scale": 0.1,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			},
		})
	}, trainers.Config{Seed: m.Seed})
}

// nodes is the number of nodes of the hidden layer with which an evolution begins.
const nodes = 4

// evolution trains an evolution or its control, and returns the return of the best member.
func (c comparison) evolution(ctx context.Context, control bool, seed int64) []float64 {
	m := evolution.DefaultMutations()
	m.NoMutation, m.Architecture, m.Parameters, m.RLHP = 0.2, 0.3, 0.1, 0.4
	m.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 2, MinNodes: nodes, MaxNodes: 128, MinLatent: 8,
		MaxLatent: 128}
	m.Hyperparameters = evolution.HyperparameterConfig{"learning_rate": {Min: 3e-8, Max: 0.02, GrowFactor: 4,
		ShrinkFactor: 0.25}}
	opt := evolution.Options{
		Options: pbt.Options{
			Members: c.members, IntervalSteps: c.interval, TotalSteps: c.steps, Seed: seed,
			Sample: map[string]explore.Range{"learning_rate": {Low: 3e-8, High: 3e-4, Log: true}},
			New:    func(m pbt.Member) (pbt.Trainee, error) { return pole(m) },
		},
		Mutations: &m,
	}
	if control {
		opt.Strategy = strategy.Never{}
	}
	e := compare.Must(evolution.New(opt))
	defer e.Close()
	elite := compare.Must(evolution.Build(pole, compare.Must(e.Train(ctx)).Snapshot, seed))
	defer elite.Close()
	result := compare.Must(elite.Evaluate(ctx, trainers.EvaluateOptions{Episodes: episodes, Seed: 1000 + seed}))
	return []float64{result.Return}
}

// pole is a PPO agent with sixteen poles.
func pole(m pbt.Member) (*trainers.Trainee, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 16, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		start, err := description.NewArchitecture(env.Spaces().Observation, nil, 0, []int{nodes}, "tanh")
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
			Spaces: env.Spaces(), Seed: m.Seed,
			Models: ppo.Evolvable(env.Spaces(), shapes["policy"], shapes["value"], models.DefaultGaussianConfig()),
			Dict: map[string]any{"rollouts": 32, "learning_epochs": 4, "mini_batches": 4, "value_loss_scale": 0.5,
				"entropy_loss_scale": 0.0},
		})
	}, trainers.Config{Seed: m.Seed})
}
