package timeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

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
