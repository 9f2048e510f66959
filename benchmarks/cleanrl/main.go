// Command cleanrl trains by the recipe of CleanRL's ppo_continuous_action.py in environments of Gymnasium's MuJoCo, one
// million environment steps each, and compares the returns with CleanRL's own. It draws the return of the environments'
// own rewards over the environment steps, and prints a table.
//
//	go run ./benchmarks/cleanrl -out docs/images/cleanrl.png
//
// Each agent is trained by `gorl train` with the example cleanrl-continuous, in a run of its own. A run that is
// complete is not trained again, and one that was interrupted goes on.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/plot"
)

var (
	seeds  = flag.Int("seeds", 3, "number of agents in each environment, with seeds 1, 2, ...")
	steps  = flag.Float64("steps", 1_000_000, "environment steps of each agent")
	python = flag.String("python", "python3", "the Python that has Gymnasium with MuJoCo")
	runs   = flag.String("runs", "runs/cleanrl", "folder of the runs")
	out    = flag.String("out", "cleanrl.png", "where the picture goes")
)

// tasks are the environments with the mean return of CleanRL's agents after a million environment steps and its spread
// over three seeds, from the table in CleanRL's documentation of the script.
var tasks = []struct {
	id           string
	mean, spread float64
}{
	{"Hopper-v5", 2382.86, 271.74}, {"HalfCheetah-v5", 1442.64, 46.03},
	{"Walker2d-v5", 2287.95, 571.78}, {"InvertedPendulum-v5", 963.09, 38.23},
}

func main() { compare.Main(run) }

func run(ctx context.Context) error {
	program, remove, err := compare.BuildGorl(ctx)
	if err != nil {
		return err
	}
	defer remove()
	var panels []plot.Panel
	var rows [][]string
	for _, task := range tasks {
		panel := plot.Panel{Title: task.id, XLabel: "environment steps", YLabel: "return"}
		row := []string{task.id}
		var last []float64
		for seed := 1; seed <= *seeds; seed++ {
			curve, err := trained(ctx, program, task.id, seed)
			if err != nil {
				return err
			}
			last = append(last, curve.Y[len(curve.Y)-1])
			row = append(row, fmt.Sprintf("%.0f", last[seed-1]))
			panel.Series = append(panel.Series, curve)
		}
		panel.Series = append(panel.Series, plot.Series{
			Name: "CleanRL's mean after a million environment steps", Dashed: true, X: []float64{0,
				*steps}, Y: []float64{task.mean, task.mean},
		})
		panels = append(panels, panel)
		rows = append(rows, append(row, fmt.Sprintf("%.0f", stat.Mean(last, nil)),
			fmt.Sprintf("%.0f ± %.0f", task.mean, task.spread)))
	}
	header := []string{"environment"}
	for seed := 1; seed <= *seeds; seed++ {
		header = append(header, fmt.Sprintf("seed %d", seed))
	}
	if err := tracking.Table(os.Stdout, append(header, "mean", "CleanRL"), rows); err != nil {
		return err
	}
	return plot.WritePNG(*out, "PPO by CleanRL's recipe: return of the last 100 episodes", panels, 2)
}

// trained returns the curve of a run, which is trained where it is not complete.
func trained(ctx context.Context, program, id string, seed int) (plot.Series, error) {
	dir := filepath.Join(*runs, fmt.Sprintf("%s-%d", id, seed))
	curve, err := read(dir, seed)
	if err == nil && curve.X[len(curve.X)-1] >= *steps {
		return curve, nil
	}
	args := []string{"--resume", dir}
	if err != nil { // there is no run
		args = []string{"--config", "-", "--out", *runs, "--name", filepath.Base(dir), "--seed", fmt.Sprint(seed)}
	}
	example, err := train(ctx, program, nil, "--example", "cleanrl-continuous")
	if err != nil {
		return curve, err
	}
	args = append(args, "--timesteps", fmt.Sprintf("%.0f", *steps), "--set", "environment.id=gymnasium:"+id, "--set",
		"environment.python="+*python)
	if _, err := train(ctx, program, example, args...); err != nil {
		return curve, err
	}
	return read(dir, seed)
}

// train runs gorl train and returns what it prints.
func train(ctx context.Context, program string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"train"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which saves
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("gorl train %s: %w", strings.Join(args, " "), err)
	}
	return text, nil
}

// read returns the curve of the raw return in a run's folder.
func read(dir string, seed int) (plot.Series, error) {
	scalars, err := tracking.ReadRun(dir)
	if err != nil {
		return plot.Series{}, err
	}
	curve := plot.SeriesOf(scalars, "Episode / return")
	if len(curve.Y) == 0 {
		return curve, fmt.Errorf("%s has no returns; remove it to train anew", dir)
	}
	curve.Name = fmt.Sprintf("seed %d", seed)
	return curve, nil
}
