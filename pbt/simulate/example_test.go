package simulate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/simulate"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Two thresholds for an objective from 0 to 500 whose readings scatter by 20.
func ExampleRun() {
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
		s := r.Summary()
		fmt.Printf("%s: the best member gains %.1f, %.0f %% of members are replaced\n", r.Name, s.Gain, 100*s.Fraction)
	}
	// Output:
	// threshold 10: the best member gains 12.9, 33 % of members are replaced
	// threshold 100: the best member gains 7.1, 2 % of members are replaced
}
