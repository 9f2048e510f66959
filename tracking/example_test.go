package tracking_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/tracking"
)

func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "tracking")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

func ExampleOpenRun() {
	dir, remove := tempDir()
	defer remove()

	run, err := tracking.OpenRun(filepath.Join(dir, "runs", "walker"), tracking.Options{})
	if err != nil {
		log.Fatal(err)
	}
	run.Scalar("Loss / Policy loss", 1600, -0.0125)
	if err := run.Close(); err != nil {
		log.Fatal(err)
	}

	scalars, err := tracking.ReadFile(filepath.Join(run.Dir(), tracking.ScalarsFile))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range scalars {
		fmt.Println(s.Step, s.Tag, s.Value)
	}
	// Output: 1600 Loss / Policy loss -0.0125
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

func ExampleTable() {
	err := tracking.Table(os.Stdout, []string{"member", "parent", "objective", "learning_rate"}, [][]string{
		{"walker 0", "-", "243.5", "3e-4"},
		{"walker 1", "walker 0", "98", "4.5e-4"},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// member    parent    objective  learning_rate
	// ────────  ────────  ─────────  ─────────────
	// walker 0  -             243.5           3e-4
	// walker 1  walker 0         98         4.5e-4
}

// A folder of runs is searched, and each read from whatever it was written in.
func ExampleReadRun() {
	dir, remove := tempDir()
	defer remove()
	for i, name := range []string{"slow", "fast"} {
		run, err := tracking.OpenRun(filepath.Join(dir, name), tracking.Options{})
		if err != nil {
			log.Fatal(err)
		}
		run.Scalar(tracking.TagTotalReward+" (mean)", 1000, 100*float64(i+1))
		if err := run.Close(); err != nil {
			log.Fatal(err)
		}
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
	// Output:
	// fast 1000 Reward / Total reward (mean) 200
	// slow 1000 Reward / Total reward (mean) 100
}
