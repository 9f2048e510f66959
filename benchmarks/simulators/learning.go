package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
	"github.com/gorl-dev/gorl/tracking/plot"
)

//go:embed skrl_ppo.py
var skrlPPO string

// outcome is what a run of either side came to. The figures of returns are means of the last 100 training episodes.
type outcome struct {
	Curve [][2]float64 `json:"curve"` // timestep, return
	duration
}

func (o outcome) last() float64 { return o.Curve[len(o.Curve)-1][1] }

// compareLearning trains both sides in every simulator, prints a table and draws the curves.
func compareLearning(ctx context.Context) {
	folder := compare.Must(os.MkdirTemp("", "gorl-*"))
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "gorl")
	run(ctx, nil, "go", "build", "-o", program, "./cmd/gorl")
	var panels []plot.Panel
	var rows [][]string
	for simulator := range strings.SplitSeq(*simulators, ",") {
		panel := plot.Panel{Title: fmt.Sprintf("%s, %d seeds", simulator, *seeds), XLabel: "timesteps",
			YLabel: "return"}
		var all [2][]outcome
		for seed := 1; seed <= *seeds; seed++ {
			mine, theirs := gorl(ctx, program, simulator, seed), skrl(ctx, simulator, seed)
			all[0], all[1] = append(all[0], mine), append(all[1], theirs)
			rows = append(rows, []string{
				simulator, strconv.Itoa(seed), fmt.Sprintf("%.4g", mine.last()), fmt.Sprintf("%.4g", theirs.last()),
				fmt.Sprintf("%.0f (%.0f)", mine.Wall, mine.CPU), fmt.Sprintf("%.0f (%.0f)", theirs.Wall, theirs.CPU),
				fmt.Sprintf("%.1f (%.1f)", theirs.Wall/mine.Wall, theirs.CPU/mine.CPU),
			})
		}
		panel.Series = append(curves("gorl", all[0]), curves("skrl", all[1])...)
		panels = append(panels, panel)
	}
	header := []string{"simulator", "seed", "gorl", "skrl", "gorl, s (of all processors)", "skrl, s", "skrl / gorl"}
	compare.Check(tracking.Table(os.Stdout, header, rows))
	compare.Check(plot.WritePNG(*out, "Return of 100 training episodes: each seed, and the mean", panels, 2))
}

// curves returns a faint curve for each seed of a side, and their mean.
func curves(side string, seeds []outcome) (list []plot.Series) {
	var x, y [][]float64
	for _, o := range seeds {
		s := plot.Series{Name: side, Faint: true}
		for _, point := range o.Curve {
			s.X, s.Y = append(s.X, point[0]), append(s.Y, point[1])
		}
		x, y, list = append(x, s.X), append(y, s.Y), append(list, s)
	}
	mean := aggregate.Curves(x, y, aggregate.Mean)
	return append(list, plot.Series{Name: side, X: mean.X, Y: mean.Y, Dashed: side == "skrl"})
}

// remembered returns what a run came to, which train finds out where it is not known. The file lies in the run's
// folder.
func remembered(path string, train func() outcome) (o outcome) {
	if text, err := os.ReadFile(path); err == nil {
		compare.Check(json.Unmarshal(text, &o))
		return o
	}
	o = train()
	if len(o.Curve) == 0 {
		compare.Check(fmt.Errorf("no episode ended in the run of %s", path))
	}
	compare.Check(os.WriteFile(path, compare.Must(json.Marshal(o)), 0o644))
	return o
}

func gorl(ctx context.Context, program, simulator string, seed int) outcome {
	name := fmt.Sprintf("%s-%d", simulator, seed)
	if *overlap {
		name += "-overlap"
	}
	dir := filepath.Join(*runs, name)
	return remembered(filepath.Join(dir, "outcome.json"), func() (o outcome) {
		compare.Check(os.RemoveAll(dir)) // an interrupted run's time is not known
		example, _ := run(ctx, nil, program, "train", "--example", simulator)
		args := []string{"train", "--config", "-", "--quiet", "--out", *runs, "--name", name,
			"--seed", strconv.Itoa(seed), "--set", "environment.python=" + *interpreter,
			"--set", fmt.Sprintf("agent.overlap=%t", *overlap)}
		if *timesteps > 0 {
			args = append(args, "--timesteps", strconv.Itoa(*timesteps))
		}
		_, o.duration = run(ctx, example, program, args...)
		curve := plot.SeriesOf(compare.Must(tracking.ReadRun(dir)), "Episode / return")
		for i := range curve.X {
			o.Curve = append(o.Curve, [2]float64{curve.X[i], curve.Y[i]})
		}
		return o
	})
}

func skrl(ctx context.Context, simulator string, seed int) outcome {
	path := filepath.Join(*runs, fmt.Sprintf("%s-%d-skrl.json", simulator, seed))
	return remembered(path, func() (o outcome) {
		args := []string{"-W", "ignore", "-c", skrlPPO, simulator, strconv.Itoa(seed)}
		if *timesteps > 0 {
			args = append(args, strconv.Itoa(*timesteps))
		}
		text, took := run(ctx, nil, *interpreter, args...)
		text = bytes.TrimSpace(text)
		// The simulator may have printed before.
		compare.Check(json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &o))
		o.duration = took
		return o
	})
}
