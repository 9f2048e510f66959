package pbt_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Three members that share nothing but a board. Processes do the same, each with its own member, over a
// workspace.OpenFolder that all can reach.
func ExampleJoin() {
	opt := pbt.Options{
		Members:       3,
		Objective:     "episode.return",
		IntervalSteps: 5,
		TotalSteps:    10,
		Strategy:      strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.025},
		Initial:       []map[string]float64{{"learning_rate": 0.001}, {"learning_rate": 0.01}, {"learning_rate": 0.1}},
		New:           func(m pbt.Member) (pbt.Trainee, error) { return &descent{x: 10}, nil },
	}
	board := workspace.NewMemory(3)
	journals := make([][]journal.Event, 3)
	var wg sync.WaitGroup
	for member := range 3 {
		wg.Go(func() {
			worker, err := pbt.Join(context.Background(), opt, pbt.ProcessOptions{Member: member, Store: board})
			if err != nil {
				log.Fatal(err)
			}
			defer worker.Close()
			if _, err := worker.Train(context.Background()); err != nil {
				log.Fatal(err)
			}
			journals[member] = worker.Journal()
		})
	}
	wg.Wait()
	recorded, err := journal.Merge(journals...)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range recorded {
		if e.Iteration == 1 {
			fmt.Printf("member %d: %s, %s\n", e.Member, e.Kind, e.Cause)
		}
	}
	// Output:
	// member 0: replace, underperformer: -98.0179 < -67.2765; copies leader 2
	// member 1: replace, underperformer: -81.7073 < -67.2765; copies leader 2
	// member 2: keep, leader: -10.7374 > -59.6986
}
