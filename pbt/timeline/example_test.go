package timeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

func ExampleExtract() {
	recorded := []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2, Objective: "episode.return"}},
		{Kind: journal.Start, Member: 0, Parent: -1, Seed: 11, After: map[string]float64{"learning_rate": 0.001}},
		{Kind: journal.Start, Member: 1, Parent: -1, Seed: 12, After: map[string]float64{"learning_rate": 0.01}},
		{Kind: journal.Replace, Iteration: 1, Member: 0, Parent: 1, Steps: 1000, ParentSteps: 1000, After: map[string]float64{"learning_rate": 0.02}},
		{Kind: journal.Final, Iteration: 2, Member: 0, Parent: -1, Steps: 2000},
	}
	history, err := journal.NewHistory(recorded)
	if err != nil {
		log.Fatal(err)
	}
	s, err := timeline.Extract(history, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("seed", s.Seed)
	for _, phase := range s.Phases {
		fmt.Println("from environment step", phase.From, "as member", phase.Member, phase.Hyperparameters)
	}
	// Output:
	// seed 12
	// from environment step 0 as member 1 map[learning_rate:0.01]
	// from environment step 1000 as member 0 map[learning_rate:0.02]
}

func ExampleTrain() {
	dir, err := os.MkdirTemp("", "timeline")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "schedule.json") // the file that gorl-pbt replay writes
	if err := timeline.Write(path, course()); err != nil {
		log.Fatal(err)
	}

	s, err := timeline.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	var trainee pbt.Trainee = newWalker(s.Seed, 1) // usually from trainers.NewTrainee
	trainee, err = timeline.Train(context.Background(), trainee, s, timeline.Options{
		Progress: func(p timeline.Position) { fmt.Println(p.Steps, "of", p.Total, p.Hyperparameters["rate"]) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer trainee.Close()
	// Output:
	// 0 of 100 0.5
	// 40 of 100 0.25
	// 80 of 100 0.125
	// 100 of 100 0.125
}
