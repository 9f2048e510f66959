package pbt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// descent minimises x² by gradient descent: the smallest thing that trains.
type descent struct {
	x, rate float64
	steps   int64
}

func (d *descent) Train(ctx context.Context, steps int64) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.x -= d.rate * 2 * d.x
		d.steps++
	}
	return nil
}

func (d *descent) Steps() int64 { return d.steps }
func (d *descent) Close() error { return nil }

func (d *descent) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": -d.x * d.x}
}

func (d *descent) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": d.rate}
}

func (d *descent) SetHyperparameters(values map[string]float64) error {
	d.rate = values["learning_rate"]
	return nil
}

func (d *descent) Snapshot() (*checkpoint.Snapshot, error) {
	return &checkpoint.Snapshot{Values: map[string]any{"x": d.x, "steps": d.steps}}, nil
}

func (d *descent) Restore(s *checkpoint.Snapshot) error {
	x, err := s.Float("x")
	if err != nil {
		return err
	}
	steps, err := s.Int("steps")
	if err != nil {
		return err
	}
	d.x, d.steps = x, steps
	return nil
}

func ExampleNew() {
	population, err := pbt.New(pbt.Options{
		Members:       3,
		Objective:     "episode.return",
		IntervalSteps: 5,
		TotalSteps:    10,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.025},
		Explore: explore.Mutation{Rate: 1, ChangeRange: [2]float64{1.1, 2},
			Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
		Initial: []map[string]float64{{"learning_rate": 0.001}, {"learning_rate": 0.01}, {"learning_rate": 0.1}},
		Seed:    1,
		New:     func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer population.Close()
	best, err := population.Train(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range population.Journal() {
		if e.Iteration == 1 {
			fmt.Printf("member %d: %s, %s\n", e.Member, e.Kind, e.Cause)
		}
	}
	fmt.Printf("the best, member %d, reached %.4f\n", best.Member, best.Objective)
	if err := population.Table().Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// member 0: replace, underperformer: -98.0179 < -67.2765; copies leader 2
	// member 1: replace, underperformer: -81.7073 < -67.2765; copies leader 2
	// member 2: keep, leader: -10.7374 > -59.6986
	// the best, member 2, reached -1.1529
	// member  parent  environment steps  episode.return  learning_rate
	// ──────  ──────  ─────────────────  ──────────────  ─────────────
	//      0       2                 10        -2.87296      0.0617591
	//      1       2                 10        -3.72833      0.0501876
	//      2       -                 10        -1.15292            0.1
}

// Three members that share nothing but a store. Processes do the same, each with its own member, over a
// workspace.OpenFolder that all can reach.
func ExampleJoin() {
	opt := pbt.Options{
		Members: 3, Objective: "episode.return", IntervalSteps: 5, TotalSteps: 10,
		Initial: []map[string]float64{{"learning_rate": 0.001}, {"learning_rate": 0.01}, {"learning_rate": 0.1}},
		New:     func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
	}
	store := workspace.NewMemory(3)
	var wg sync.WaitGroup
	for member := range 3 {
		wg.Go(func() {
			process, err := pbt.Join(context.Background(), opt, pbt.ProcessOptions{Member: member, Store: store})
			if err != nil {
				log.Fatal(err)
			}
			defer process.Close()
			if _, err := process.Train(context.Background()); err != nil {
				log.Fatal(err)
			}
		})
	}
	wg.Wait()
	best, _, err := store.Best(false)
	fmt.Printf("%.4f %v\n", best.Objective, err)
	// Output: -1.1529 <nil>
}
