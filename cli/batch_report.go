package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

// report prints the table at the end of a batch.
func (b *batch) report(out io.Writer) (err error) {
	if b.Metric != "" {
		err = b.reportTrials(out)
	} else {
		a := across{name: filepath.Base(b.dir)}
		a.figures = []string{"timestep", "episode.return", "episode.length", "best"}
		for _, r := range b.Runs {
			figures, err := outcome(filepath.Join(b.dir, r.Name))
			if err != nil {
				return err
			}
			a.add(r.Name, figures)
		}
		err = a.write(out)
	}
	if err != nil {
		return err
	}
	dir := process.QuoteWord(b.dir)
	_, err = fmt.Fprintf(out, "\nThe runs are in %s. Evaluate and draw them: %s eval %s, %[2]s plot %[3]s\n", b.dir,
		program, dir)
	return err
}

// trial is a point of a sweep.
type trial struct {
	settings map[string]any
	values   []float64 // of the metric, for each seed
	estimate aggregate.Estimate
	name     string
}

// trials returns the points of a sweep, the best first, those without the metric last.
func (b *batch) trials() (list []*trial, err error) {
	at := map[string]*trial{}
	for _, r := range b.Runs {
		figures, err := outcome(filepath.Join(b.dir, r.Name))
		if err != nil {
			return nil, err
		}
		if at[r.Point] == nil {
			at[r.Point] = &trial{settings: r.Settings, name: r.Point}
			list = append(list, at[r.Point])
		}
		x, ok := figures[b.Metric]
		if !ok {
			x = math.NaN()
		}
		at[r.Point].values = append(at[r.Point].values, x)
	}
	for _, t := range list {
		t.estimate = aggregate.Of(t.values, aggregate.Mean)
	}
	slices.SortStableFunc(list, func(x, y *trial) int {
		first, second, sign := x.estimate.Value, y.estimate.Value, map[bool]int{true: 1, false: -1}[b.Lowest]
		switch {
		case math.IsNaN(first) || math.IsNaN(second):
			return map[bool]int{true: 1}[math.IsNaN(first)] - map[bool]int{true: 1}[math.IsNaN(second)]
		case first < second:
			return -sign
		case first > second:
			return sign
		}
		return 0
	})
	return list, nil
}

// reportTrials prints a row for each point of a sweep, and writes the table as results.csv and results.json.
func (b *batch) reportTrials(out io.Writer) error {
	list, err := b.trials()
	if err != nil {
		return err
	}
	header := []string{"trial"}
	keys := slices.Sorted(maps.Keys(list[0].settings))
	header = append(append(header, keys...), b.Metric)
	if len(list[0].values) > 1 {
		header = append(header, "95 % from", "to")
	}
	var rows [][]string
	var objects []map[string]any
	for _, t := range list {
		row := []string{t.name}
		for _, key := range keys {
			text := fmt.Sprint(t.settings[key])
			if x, ok := t.settings[key].(float64); ok {
				text = fmt.Sprintf("%.4g", x)
			}
			row = append(row, text)
		}
		row = append(row, cell(t.estimate.Value), cell(t.estimate.Low), cell(t.estimate.High))
		rows = append(rows, row[:len(header)])
		a := across{name: t.name, figures: []string{b.Metric}}
		for i, r := range slices.DeleteFunc(slices.Clone(b.Runs), func(r batchRun) bool { return r.Point != t.name }) {
			a.add(r.Name, map[string]float64{b.Metric: t.values[i]})
		}
		object := a.dict()
		object["settings"] = t.settings
		objects = append(objects, object)
	}
	for name, write := range map[string]func(w io.Writer) error{
		"results.csv": func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(append([][]string{header}, rows...))
		},
		"results.json": func(w io.Writer) error { return writeJSON(w, objects) },
	} {
		if err := durable.WriteFile(filepath.Join(b.dir, name), write); err != nil {
			return err
		}
	}
	return tracking.Table(out, header, rows)
}
