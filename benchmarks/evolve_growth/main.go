// Command evolve_growth shows what happens to an agent whose networks grow while it learns. PPO balances Pendulum;
// after 40 % of the environment steps policy and value network get 64 nodes in their first layer, and a layer. Three
// copies go on from there: one as it was, one that was grown such that it computes the same, and one whose weights were
// carried over where old and new ones overlap, with the rest drawn anew and fresh optimizers. Every copy is evaluated
// as it learns.
//
//	go run ./benchmarks/evolve_growth -out docs/images/evolution_growth.png
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/plot"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	seeds    = flag.Int("seeds", 3, "number of agents, with seeds 1, 2, ...")
	episodes = flag.Int("episodes", 64, "episodes of every evaluation")
	steps    = flag.Int64("steps", 245_760, "environment steps of each agent")
	interval = flag.Int64("interval", 8_192, "environment steps between evaluations")
	out      = flag.String("out", "evolution_growth.png", "where the picture goes")
)

func main() { compare.Main(run) }

// ways are how an agent goes on, with their names in the picture.
var ways = []struct {
	name     string
	preserve evolution.Preserve // none for no edit
}{
	{"not grown", ""},
	{"grown, same function", evolution.PreserveFunction},
	{"grown, overlapping weights", evolution.PreserveOverlap},
}

func run(ctx context.Context) error {
	at := *steps * 4 / 10 / *interval * *interval
	var panels []plot.Panel
	var table [][]string
	for seed := int64(1); seed <= int64(*seeds); seed++ {
		panel := plot.Panel{Title: fmt.Sprintf("seed %d", seed), XLabel: "environment steps",
			YLabel: "return (mean of evaluation)",
			Events: []plot.Event{{X: float64(at), Label: "grows"}}}
		snapshot, first, err := begin(ctx, seed, at)
		if err != nil {
			return err
		}
		row := []string{fmt.Sprint(seed), number(first.Y[len(first.Y)-1])}
		for _, way := range ways {
			s, err := continued(ctx, seed, at, snapshot, way.preserve)
			if err != nil {
				return err
			}
			s.Name = way.name
			row = append(row, number(s.Y[0]), number(s.Y[1]), number(s.Y[len(s.Y)-1]))
			panel.Series = append(panel.Series, s)
		}
		first.Name = "before"
		panel.Series = append([]plot.Series{first}, panel.Series...)
		panels, table = append(panels, panel), append(table, row)
	}
	header := []string{"seed", "before"}
	for range ways {
		header = append(header, "at once", "next", "end")
	}
	fmt.Printf("Return of Pendulum before growing and, for each of %s, %s and %s, right after it, %d environment "+
		"steps later and at the end:\n\n", ways[0].name, ways[1].name, ways[2].name, *interval)
	if err := tracking.Table(os.Stdout, header, table); err != nil {
		return err
	}
	return plot.WritePNG(*out, "PPO on Pendulum, grown from [64 64] to [128 64 64] while it learns", panels, 3)
}

func number(x float64) string { return fmt.Sprintf("%.0f", x) }

// begin trains an agent up to the place where others go on.
func begin(ctx context.Context, seed, until int64) (snapshot *checkpoint.Snapshot, s plot.Series, err error) {
	a, err := description.NewArchitecture((&classic.Pendulum{}).Spaces().Observation, nil, 0, []int{64, 64}, "tanh")
	if err != nil {
		return nil, s, err
	}
	t, err := trainee(seed, map[string]description.Architecture{"policy": a, "value": a})
	if err != nil {
		return nil, s, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if s, err = train(ctx, t, until); err != nil {
		return nil, s, err
	}
	snapshot, err = t.Snapshot()
	return snapshot, s, err
}

// continued trains a copy of the agent in the snapshot from there to the end.
func continued(ctx context.Context, seed, at int64, snapshot *checkpoint.Snapshot,
	how evolution.Preserve) (s plot.Series, err error) {
	architectures, err := evolution.Architectures(snapshot)
	if err != nil {
		return s, err
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	for _, e := range []evolution.Edit{{Kind: evolution.AddNode, Module: "head", Layer: 0, Nodes: 64},
		{Kind: evolution.AddLayer, Module: "head"}} {
		if how == "" {
			break
		}
		edited, err := evolution.EditNetworks(architectures, snapshot, e, evolution.EditOptions{Preserve: how}, rng)
		if err != nil {
			return s, err
		}
		architectures, snapshot = edited.Architectures, edited.Snapshot
	}
	t, err := trainee(seed, architectures)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.Train(ctx, 0); err != nil { // resets the environment, whose state the snapshot replaces
		return s, err
	}
	if err := t.Restore(snapshot); err != nil {
		return s, err
	}
	if t.Steps() != at {
		return s, fmt.Errorf("the copy has %d environment steps behind it, want %d", t.Steps(), at)
	}
	return train(ctx, t, *steps)
}

// train evaluates, trains, and evaluates again, until there are so many steps.
func train(ctx context.Context, t *trainers.Trainee, until int64) (s plot.Series, err error) {
	for {
		e, err := t.Evaluate(ctx, trainers.EvaluateOptions{Episodes: *episodes, Seed: 1000})
		if err != nil {
			return s, err
		}
		s.X, s.Y = append(s.X, float64(t.Steps())), append(s.Y, e.Return)
		if t.Steps() >= until {
			return s, nil
		}
		if err := t.Train(ctx, *interval); err != nil {
			return s, err
		}
	}
}

// trainee is a PPO agent of the given architectures with sixteen pendulums.
func trainee(seed int64, a map[string]description.Architecture) (*trainers.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.Evolvable(env.Spaces(), a["policy"], a["value"], models.DefaultGaussianConfig()),
			Dict: map[string]any{
				"rollouts": 128, "learning_epochs": 10, "mini_batches": 16, "discount_factor": 0.9,
				"value_loss_scale": 0.5, "learning_rate": 5e-4, "learning_rate_scheduler": "KLAdaptiveLR",
				"rewards_shaper_scale": 0.1, "observation_preprocessor": "RunningStandardScaler",
				"value_preprocessor": "RunningStandardScaler",
			},
			Seed: seed,
		})
	}, trainers.Config{Seed: seed, SaveBuffers: true})
}
