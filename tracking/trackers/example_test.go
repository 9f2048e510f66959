package trackers_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// printer is a sink of one's own.
type printer struct{}

func (printer) Scalar(tag string, step int64, value float64) { fmt.Println(step, tag, value) }
func (printer) Flush() error                                 { return nil }
func (printer) Close() error                                 { return nil }
func (printer) Finish(err error)                             { fmt.Println("ended with", err) }

// A trainer does this with the trackers in its configuration.
func ExampleStart() {
	mine := trackers.Tracker{Name: "printer", Open: func(_ context.Context, run trackers.Run) (tracking.Sink, error) {
		fmt.Println("run", run.Name)
		return printer{}, nil
	}}
	dir, _ := os.MkdirTemp("", "walker")
	defer os.RemoveAll(dir)
	files, err := tracking.OpenRun(dir, tracking.Options{})
	if err != nil {
		panic(err)
	}
	sinks := trackers.Start([]trackers.Tracker{mine}, trackers.Run{Name: "walker", Dir: dir},
		func(err error) { fmt.Println(err) })
	all := tracking.Multi(files, sinks)
	all.Scalar("Loss / Policy loss", 1600, -0.0125)
	_ = all.Close() // the function above receives errors of trackers
	// Output:
	// run walker
	// 1600 Loss / Policy loss -0.0125
	// ended with <nil>
}

func ExampleWandB() {
	w, err := trackers.WandB(trackers.WandBSettings{Project: "walker", Mode: "offline"})
	fmt.Println(w.Name, err)
	// Output: wandb <nil>
}

func ExampleMLflow() {
	m, err := trackers.MLflow(trackers.MLflowSettings{TrackingURI: "http://localhost:5000", ExperimentName: "walker"})
	fmt.Println(m.Name, err)
	// Output: mlflow <nil>
}

func ExampleNew() {
	_, err := trackers.New("mlflow", map[string]any{"experiment": "walker"})
	fmt.Println(err)
	// Output: trackers: mlflow: unknown key "experiment" (given "walker"): did you mean "experiment_name"?
}

func ExampleRegister() {
	type settings struct {
		// Prefix stands before every line.
		Prefix string `yaml:"prefix"`
	}
	trackers.Register("printer", settings{Prefix: "> "}, func(_ context.Context, run trackers.Run,
		s settings) (tracking.Sink, error) {
		fmt.Println(s.Prefix + run.Name)
		return printer{}, nil
	})
	fmt.Println(trackers.Names())
	// Output: [mlflow printer wandb]
}
