package pbt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
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
		Explore:       explore.Mutation{Rate: 1, ChangeRange: [2]float64{1.1, 2}, Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
		Initial:       []map[string]float64{{"learning_rate": 0.001}, {"learning_rate": 0.01}, {"learning_rate": 0.1}},
		Seed:          1,
		New:           func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
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

func ExampleIsaacLab() {
	rule := strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.05}
	g := strategy.Generation{Iteration: 1, Members: []strategy.Status{
		{Member: 0, Objective: 1, HasObjective: true},
		{Member: 1, Objective: 1.5, HasObjective: true},
		{Member: 2, Objective: 2, HasObjective: true},
	}}
	for _, d := range rule.Decide(g, rand.New(rand.NewPCG(1, 1))) {
		fmt.Println(d.Member, d.Action, d.Reason)
	}
	// Output:
	// 0 replace underperformer: 1 < 1.45; copies leader 2
	// 1 keep between 1.45 and 1.55
	// 2 keep leader: 2 > 1.55
}

func ExampleNever() {
	for _, rule := range []strategy.Strategy{strategy.DefaultIsaacLab(), strategy.Never{}} {
		population, err := pbt.New(pbt.Options{
			Members: 3, Objective: "episode.return", IntervalSteps: 5, TotalSteps: 10, Strategy: rule,
			Initial: []map[string]float64{{"learning_rate": 0.001}, {"learning_rate": 0.01}, {"learning_rate": 0.1}},
			New:     func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
		})
		if err != nil {
			log.Fatal(err)
		}
		defer population.Close()
		if _, err := population.Train(context.Background()); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%T:", rule)
		for _, m := range population.Generation().Members {
			fmt.Printf(" %.2f", m.Objective)
		}
		fmt.Println()
	}
	// Output:
	// strategy.IsaacLab: -1.15 -1.15 -1.15
	// strategy.Never: -96.08 -66.76 -1.15
}

// distance is a descent that reports how far it still has to go, and can be evaluated.
type distance struct{ *descent }

func (d distance) Metrics() map[string]float64 { return map[string]float64{"distance": math.Abs(d.x)} }

func (d distance) CheckEvaluation() error { return nil }

func (d distance) EvaluateMetrics(_ context.Context, episodes int, seed int64) (map[string]float64, error) {
	return map[string]float64{"distance": math.Abs(d.x)}, nil
}

func ExampleMeasure() {
	for _, measure := range []pbt.Measure{
		{Minimise: true}, // the figure as reported
		{Minimise: true, Window: 3, Reducer: pbt.ReduceMax},            // the worst of the last three
		{Minimise: true, EvaluationEpisodes: 10, EvaluationSeed: 1000}, // of an evaluation, on seeds of its own
	} {
		population, err := pbt.New(pbt.Options{
			Members: 2, Objective: "distance", Measure: measure, IntervalSteps: 5, TotalSteps: 10, ProgressSteps: 1,
			Initial: []map[string]float64{{"learning_rate": 0.1}, {"learning_rate": 0.2}},
			New:     func(m pbt.Member) (pbt.Trainee, error) { return distance{&descent{x: 10}}, nil },
		})
		if err != nil {
			log.Fatal(err)
		}
		defer population.Close()
		best, err := population.Train(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("member %d: %.4f\n", best.Member, best.Objective)
	}
	// Output:
	// member 0: 0.0605
	// member 0: 0.1680
	// member 0: 0.0605
}

func ExampleCopyOptions() {
	// Weights and scalers of the source; a fresh optimizer; the member's own environments and what is in its memories.
	parts := pbt.CopyOptions{Optimizer: pbt.ResetPart, Environment: pbt.KeepPart, Buffers: pbt.KeepPart}
	_, err := pbt.New(pbt.Options{
		Members: 2, Objective: "episode.return", IntervalSteps: 5, TotalSteps: 10, Copy: parts,
		New: func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
	})
	fmt.Println(err)
	parts.Normalizers = pbt.ResetPart
	_, err = pbt.New(pbt.Options{
		Members: 2, Objective: "episode.return", IntervalSteps: 5, TotalSteps: 10, Copy: parts,
		New: func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// pbt: inherit.normalizers is "reset"; give one of ["copy" "keep"]
}

// A population's folder is read while it trains and afterwards.
func ExampleReadHistory() {
	dir, err := os.MkdirTemp("", "population")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	recorded := `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":2,"objective":"episode.length","interval_steps":100,"seed":1,"strategy":"pbt.IsaacLab"}}
{"event":"replace","iteration":1,"member":1,"parent":0,"steps":100,"parent_steps":100,"objective":20}
`
	path := filepath.Join(dir, "000", journal.File) // one for each member
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(recorded), 0o600)); err != nil {
		log.Fatal(err)
	}
	events, err := journal.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	history, err := journal.ReadHistory(dir)
	if err != nil {
		log.Fatal(err)
	}
	ancestry, err := history.Ancestry(1)
	fmt.Println(len(events), len(ancestry), err)
	// Output: 2 2 <nil>
}

func ExampleNewHistory() {
	recorded := `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":2,"objective":"episode.length","interval_steps":100,"seed":1,"strategy":"pbt.IsaacLab"}}
{"event":"replace","iteration":1,"member":1,"parent":0,"steps":100,"parent_steps":100,"objective":20}
{"event":"final","iteration":2,"member":0,"steps":200,"objective":55}
{"event":"final","iteration":2,"member":1,"steps":200,"objective":60}
`
	events, err := journal.Decode(strings.NewReader(recorded))
	if err != nil {
		log.Fatal(err)
	}
	history, err := journal.NewHistory(events)
	if err != nil {
		log.Fatal(err)
	}
	ancestry, err := history.Ancestry(1)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range ancestry {
		fmt.Printf("trained as member %d from %d to %d steps\n", a.Member, a.FromSteps, a.ToSteps)
	}
	// Output:
	// trained as member 0 from 0 to 100 steps
	// trained as member 1 from 100 to 200 steps
}
