package tracking_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/tracking"
)

func ExampleOpenRun() {
	dir, err := os.MkdirTemp("", "tracking")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	run, err := tracking.OpenRun(filepath.Join(dir, "runs", "walker"), tracking.Options{})
	if err != nil {
		log.Fatal(err)
	}
	run.Scalar("Loss / Policy loss", 1600, -0.0125)
	if err := run.Close(); err != nil {
		log.Fatal(err)
	}

	runs, err := tracking.FindRuns(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		scalars, err := tracking.ReadRun(run)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filepath.Base(run), scalars[0].Step, scalars[0].Tag, scalars[0].Value)
	}
	// Output: walker 1600 Loss / Policy loss -0.0125
}

func ExampleRecorder() {
	var r tracking.Recorder
	for _, loss := range []float64{2, 3, 7} {
		r.Track("Loss / Policy loss", loss)
		r.Track("Loss / Policy loss (max)", loss)
	}
	r.Drain(func(tag string, value float64) { fmt.Println(tag, value) })
	// Output:
	// Loss / Policy loss 4
	// Loss / Policy loss (max) 7
}

func ExampleNewEpisodes() {
	episodes, err := tracking.NewEpisodes(2)
	if err != nil {
		log.Fatal(err)
	}
	truncated := []bool{false, false}
	for step := range 4 {
		if err := episodes.Record([]float32{1, 10}, []bool{step == 3, step == 1}, truncated, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(episodes.Finished())
	episodes.Drain(func(tag string, value float64) { fmt.Println(tag, value) })
	// Output:
	// 2
	// Episode / Total timesteps (max) 4
	// Episode / Total timesteps (mean) 3
	// Episode / Total timesteps (min) 2
	// Reward / Instantaneous reward (max) 10
	// Reward / Instantaneous reward (mean) 5.5
	// Reward / Instantaneous reward (min) 1
	// Reward / Total reward (max) 20
	// Reward / Total reward (mean) 12
	// Reward / Total reward (min) 4
}
