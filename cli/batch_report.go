package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

// report prints the table at the end of a batch.
func (b *batch) report(out io.Writer) error {
	figures := []string{"timestep", "episode.return", "episode.length", "best"}
	if b.Metric != "" {
		figures = []string{b.Metric}
	}
	points, err := b.points(figures)
	if err == nil && b.Metric != "" {
		err = b.reportTrials(out, points)
	} else if err == nil {
		err = points[0].write(out)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nThe runs are in %s. Evaluate and draw them: %s eval %s, %[2]s plot %[3]s\n", b.dir,
		program, process.QuoteWord(b.dir))
	return err
}

// point is the runs of a batch that differ by their seeds alone: a trial of a sweep, or all runs of several seeds.
type point struct {
	across
	settings map[string]any
	estimate aggregate.Estimate // of the first figure
}

// points returns the figures of a batch. Those of a sweep are in order, the best first, those without the metric last.
func (b *batch) points(figures []string) (list []*point, err error) {
	at := map[string]*point{}
	for _, r := range b.Runs {
		known, err := outcome(filepath.Join(b.dir, r.Name))
		if err != nil {
			return nil, err
		}
		if at[r.Point] == nil {
			at[r.Point] = &point{settings: r.Settings, across: across{name: r.Point, figures: figures}}
			list = append(list, at[r.Point])
		}
		at[r.Point].add(r.Name, known)
	}
	for _, p := range list {
		p.estimate = aggregate.Of(p.values[figures[0]], aggregate.Mean)
	}
	score := func(p *point) float64 {
		if b.Lowest {
			return -p.estimate.Value
		}
		return p.estimate.Value
	}
	slices.SortStableFunc(list, func(x, y *point) int { return cmp.Compare(score(y), score(x)) })
	return list, nil
}

// reportTrials prints a row for each point of a sweep, and writes the table as results.csv and results.json.
func (b *batch) reportTrials(out io.Writer, list []*point) error {
	keys := slices.Sorted(maps.Keys(list[0].settings))
	header := slices.Concat([]string{"trial"}, keys, []string{b.Metric})
	if len(list[0].runs) > 1 {
		header = append(header, "95 % from", "to")
	}
	var rows [][]string
	var objects []map[string]any
	for _, p := range list {
		row := []string{p.name}
		for _, key := range keys {
			text := fmt.Sprint(p.settings[key])
			if x, ok := p.settings[key].(float64); ok {
				text = fmt.Sprintf("%.4g", x)
			}
			row = append(row, text)
		}
		row = append(row, cell(p.estimate.Value), cell(p.estimate.Low), cell(p.estimate.High))
		rows = append(rows, row[:len(header)])
		object := p.dict()
		object["settings"] = p.settings
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
