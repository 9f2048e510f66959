package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/number"
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
func cell(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.5g", x)
}

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
