package simulate_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/simulate"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Two thresholds for an objective from 0 to 500 whose readings scatter by 20.
func ExampleRun() {
	var results []*simulate.Result
	for _, threshold := range []float64{10, 100} {
		r, err := simulate.Run(context.Background(), simulate.Config{
			Name: fmt.Sprint("threshold ", threshold),
			Model: simulate.Model{
				Landscapes: map[string]simulate.Landscape{"learning_rate": {Optimum: 1e-3, Drift: -0.3}},
				Noise:      20, Scale: 500, Luck: 0.2,
			},
			Options: pbt.Options{
				Members: 8, IntervalSteps: 100_000, TotalSteps: 2_000_000,
				Strategy: strategy.IsaacLab{ThresholdAbs: threshold},
				Explore:  explore.Mutation{Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
				Sample:   map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-3, Log: true}},
			},
			Seeds: 10,
		})
		if err != nil {
			log.Fatal(err)
		}
		results = append(results, r)
	}
	if err := simulate.Write(os.Stdout, results...); err != nil {
		log.Fatal(err)
	}
	// Output:
	// settings best median control gain wins copies/interval replaced self-mutations lineages left diverged
	// ───────────── ───── ────── ─────── ───────── ──── ─────────────── ──────── ────────────── ───────────── ────────
	// threshold 10 479.6 475 466.7 +12.9 ± 4 80% 2.67 of 8 33% 0.00 1.0 0.0 threshold 100 473.8 454.3 466.7 +7.15 ± 3
	// 50% 0.19 of 8 2% 0.18 4.3 0.0
}
