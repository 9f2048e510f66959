package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
	"github.com/gorl-dev/gorl/trainers"
)

// summary describes a metric over all episodes.
type summary struct {
	name                   string
	Mean, Min, Median, Max float64
	Std                    float64 // of the episodes, not of the mean
}

func summarize(name string, values []float64) summary {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return summary{name: name, Mean: aggregate.Mean(values), Min: sorted[0], Max: sorted[n-1],
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Std: stat.PopStdDev(values, nil)}
}

// summaries returns the summaries of return, length and the task's own metrics, the latter sorted by name. Episodes
// that lack one of those do not count for it.
func summaries(e trainers.Evaluation) []summary {
	figures := map[string][]float64{}
	var returns, lengths []float64
	for _, x := range e.Each {
		returns, lengths = append(returns, x.Return), append(lengths, float64(x.Length))
		for name, v := range x.Metrics {
			if name != "return" && name != "length" {
				figures[name] = append(figures[name], v)
			}
		}
	}
	list := []summary{summarize("return", returns), summarize("length", lengths)}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		list = append(list, summarize(name, figures[name]))
	}
	return list
}

// write prints a table of an evaluation.
func (f *evalFlags) write(saved *savedRun, e trainers.Evaluation) error {
	how := "the mean or most probable action"
	if f.stochastic {
		how = "actions drawn from the policy"
	}
	unit := "timestep"
	if saved.sections.Kind() != runfile.Single { // a population counts environment steps
		unit = "environment step"
	}
	fmt.Fprintf(f.stdout, "%s, %s %d: %d episodes of %v, by %s, seed %d\n\n", saved.Path, unit, saved.Manifest.Step,
		e.Episodes, saved.sections.Section("environment")["id"], how, f.seed)
	var rows [][]string
	for _, s := range summaries(e) {
		row := []string{s.name}
		for _, x := range []float64{s.Mean, s.Std, s.Min, s.Median, s.Max} {
			row = append(row, fmt.Sprintf("%.5g", x))
		}
		rows = append(rows, row)
	}
	err := tracking.Table(f.stdout, []string{"", "mean", "std", "min", "median", "max"}, rows)
	if err == nil && f.record != "" {
		_, err = fmt.Fprintf(f.stdout, "\nThe first episode is in %s.\n", f.record)
	}
	return err
}

// writeJSON writes the same for programs. Numbers that JSON cannot hold are texts.
func (f *evalFlags) writeJSON(saved *savedRun, e trainers.Evaluation) error {
	figures := map[string]any{}
	for _, s := range summaries(e) {
		figures[s.name] = number.Map{"mean": s.Mean, "std": s.Std, "min": s.Min, "median": s.Median, "max": s.Max}
	}
	return writeJSON(f.stdout, map[string]any{
		"checkpoint": saved.Path, "step": saved.Manifest.Step, "config": saved.config,
		"environment": saved.sections.Section("environment")["id"],
		"episodes":    e.Episodes, "seed": f.seed, "stochastic": f.stochastic, "figures": figures,
	})
}

// writeJSON writes a value over several lines.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// runsOf returns the runs in the folder target if target is not a run itself.
func runsOf(target string) []string {
	if runfile.In(target).Population || exists(target, "checkpoints") || exists(target, runFile) {
		return nil
	}
	return runsBelow(target)
}

// runSeveral evaluates several runs and prints a table for each group of runs that differ by their seeds alone.
func (f *evalFlags) runSeveral(ctx context.Context, target string, dirs []string) error {
	switch {
	case f.record != "":
		return commandline.Usagef("--record films one run, and %s has %d; give one of them, for instance %s", target,
			len(dirs), dirs[0])
	case f.config == "-":
		return commandline.Usagef("--config - is read once, and %s has %d runs; give a file", target, len(dirs))
	}
	var names, figures []string
	played := map[string]map[string]float64{}
	for i, dir := range dirs {
		rel, _ := filepath.Rel(target, dir) // it is below
		names = append(names, filepath.ToSlash(rel))
		_, result, err := f.play(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		played[names[i]] = map[string]float64{}
		for _, s := range summaries(result) {
			played[names[i]][s.name] = s.Mean
			if !slices.Contains(figures, s.name) {
				figures = append(figures, s.name)
			}
		}
	}
	var tables []*across
	for _, g := range groupRuns(names, dirs) {
		a := &across{name: g.Name, figures: figures}
		for _, run := range g.Runs {
			a.add(run, played[run])
		}
		tables = append(tables, a)
	}
	switch {
	case f.table != "":
		return paper(f.stdout, f.table, tables)
	case f.json:
		var groups []map[string]any
		for _, a := range tables {
			groups = append(groups, a.dict())
		}
		return writeJSON(f.stdout, map[string]any{"checkpoint": f.checkpoint, "episodes": f.episodes, "seed": f.seed,
			"stochastic": f.stochastic, "groups": groups})
	}
	for i, a := range tables {
		if i > 0 {
			fmt.Fprintln(f.stdout)
		}
		fmt.Fprintf(f.stdout, "%s: %s, checkpoint %s, means of %s each, seed %d\n\n", a.name,
			plural(len(a.runs), "run"), f.checkpoint, plural(f.episodes, "episode"), f.seed)
		if err := a.write(f.stdout); err != nil {
			return err
		}
	}
	return nil
}
