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

func ExampleTimeline_Apply() {
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
	defer trainee.Close()
	if err := s.Check(trainee); err != nil {
		log.Fatal(err)
	}
	for trainee.Steps() < s.Steps {
		if err := s.Apply(trainee); err != nil {
			log.Fatal(err)
		}
		fmt.Println(trainee.Steps(), "of", s.Steps, trainee.Hyperparameters()["rate"])
		if err := trainee.Train(context.Background(), 20); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 0 of 100 0.5
	// 20 of 100 0.5
	// 40 of 100 0.25
	// 60 of 100 0.25
	// 80 of 100 0.125
}
