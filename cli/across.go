package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

// across is figures of runs that differ by their seeds alone.
type across struct {
	name    string
	runs    []string
	figures []string
	values  map[string][]float64 // of a figure, for each run; NaN if the run lacks it
}

// add adds a run and its figures.
func (a *across) add(run string, figures map[string]float64) {
	if a.values == nil {
		a.values = map[string][]float64{}
	}
	a.runs = append(a.runs, run)
	for _, name := range a.figures {
		x, ok := figures[name]
		if !ok {
			x = math.NaN()
		}
		a.values[name] = append(a.values[name], x)
	}
}

// statistics are the rows below the runs.
var statistics = []struct {
	name, key string
	of        aggregate.Statistic
}{{"mean", "mean", aggregate.Mean}, {"interquartile mean", "iqm", aggregate.IQM}}

// write prints a row for each run, and the statistics with their intervals.
func (a *across) write(out io.Writer) error {
	var rows [][]string
	row := func(name string, of func(figure string) float64) {
		cells := []string{name}
		for _, figure := range a.figures {
			cells = append(cells, cell(of(figure)))
		}
		rows = append(rows, cells)
	}
	for i, run := range a.runs {
		row(run, func(figure string) float64 { return a.values[figure][i] })
	}
	if len(a.runs) > 1 {
		for _, s := range statistics {
			estimates := map[string]aggregate.Estimate{}
			for _, figure := range a.figures {
				estimates[figure] = aggregate.Of(a.values[figure], s.of)
			}
			row(s.name, func(figure string) float64 { return estimates[figure].Value })
			row("  95 % from", func(figure string) float64 { return estimates[figure].Low })
			row("  to", func(figure string) float64 { return estimates[figure].High })
		}
	}
	return tracking.Table(out, append([]string{"run"}, a.figures...), rows)
}

// cell writes a figure of a table.
func cell(x float64) string { return strings.Replace(fmt.Sprintf("%.5g", x), "NaN", "-", 1) }

// dict returns the figures for JSON.
func (a *across) dict() map[string]any {
	known := func(x float64) *number.JSON { return number.Optional(x, !math.IsNaN(x)) }
	figures := map[string]any{}
	for _, name := range a.figures {
		values := map[string]*number.JSON{}
		for i, run := range a.runs {
			values[run] = known(a.values[name][i])
		}
		figure := map[string]any{"runs": values}
		for _, s := range statistics {
			e := aggregate.Of(a.values[name], s.of)
			figure[s.key] = map[string]*number.JSON{"value": known(e.Value), "low": known(e.Low), "high": known(e.High)}
		}
		figures[name] = figure
	}
	return map[string]any{"name": a.name, "seeds": len(a.runs), "figures": figures}
}

// paper writes a row for each group, for a paper: "markdown" or "latex".
func paper(out io.Writer, form string, groups []*across) error {
	figures := groups[0].figures
	columns := 2 * len(figures) // after the first two
	begin, between, end, escape := "| ", " | ", " |\n", strings.NewReplacer("|", `\|`)
	top, rule, bottom := "", "|---|--:"+strings.Repeat("|---", columns)+"|\n", ""
	if form == "latex" {
		begin, between, end = "", " & ", " \\\\\n"
		escape = strings.NewReplacer("_", `\_`, "%", `\%`, "&", `\&`, "#", `\#`)
		top = "\\begin{tabular}{lr" + strings.Repeat("l", columns) + "}\n\\hline\n"
		rule, bottom = "\\hline\n", "\\hline\n\\end{tabular}\n"
	}
	line := func(cells []string) string {
		for i := range cells {
			cells[i] = escape.Replace(cells[i])
		}
		return begin + strings.Join(cells, between) + end
	}
	header := []string{"runs", "seeds"}
	for _, figure := range figures {
		header = append(header, figure+", mean (95 % interval)", figure+", IQM (95 % interval)")
	}
	text := top + line(header) + rule
	for _, a := range groups {
		cells := []string{a.name, fmt.Sprint(len(a.runs))}
		for _, figure := range figures {
			for _, s := range statistics {
				e := aggregate.Of(a.values[figure], s.of)
				cells = append(cells, fmt.Sprintf("%s (%s to %s)", cell(e.Value), cell(e.Low), cell(e.High)))
			}
		}
		text += line(cells)
	}
	_, err := io.WriteString(out, text+bottom)
	return err
}

// outcome returns the figures of a run's newest checkpoint: the trainer's metrics, its timestep, and its best figure.
func outcome(dir string) (map[string]float64, error) {
	figures := map[string]float64{}
	saved, err := newest(filepath.Join(dir, "checkpoints"))
	if errors.Is(err, checkpoint.ErrNone) {
		return figures, nil
	} else if err != nil {
		return nil, err
	}
	r, err := inspection.Of(saved.Path, inspection.Options{Tensor: func(string) bool { return false }})
	if err != nil || r.Checkpoint.Trainer == nil {
		return figures, err
	}
	t := r.Checkpoint.Trainer
	for name, x := range t.Metrics {
		figures[name] = float64(x)
	}
	figures["timestep"] = float64(t.Timestep)
	if t.Best != nil {
		figures["best"] = float64(*t.Best)
	}
	return figures, nil
}

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
