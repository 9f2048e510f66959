package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// runsOf returns the runs in the folder target if target is not a run itself.
func runsOf(target string) ([]string, error) {
	info, err := os.Stat(target)
	if err != nil || !info.IsDir() || // open reports errors
		isPopulation(target) || exists(target, "checkpoints") || exists(target, runFile) {
		return nil, nil
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
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		rel, err := filepath.Rel(target, dir)
		if err != nil {
			return err
		}
		names[i] = filepath.ToSlash(rel)
	}
	groups := groupRuns(names, dirs)
	tables := make([]*across, len(groups))
	var figures []string
	played := map[string]map[string]float64{}
	for i, dir := range dirs {
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
	for i, g := range groups {
		tables[i] = &across{name: g.Name, figures: figures}
		for _, run := range g.Runs {
			tables[i].add(run, played[run])
		}
	}
	switch {
	case f.table != "":
		return paper(f.stdout, f.table, tables)
	case f.json:
		groups := make([]map[string]any, len(tables))
		for i, a := range tables {
			groups[i] = a.dict()
		}
		return writeJSON(f.stdout, map[string]any{"checkpoint": f.checkpoint, "episodes": f.episodes, "seed": f.seed,
			"stochastic": f.stochastic, "groups": groups})
	}
	for i, a := range tables {
		if i > 0 {
			fmt.Fprintln(f.stdout)
		}
		if _, err := fmt.Fprintf(f.stdout, "%s: %s, checkpoint %s, means of %s each, seed %d\n\n", a.name,
			plural(len(a.runs), "run"), f.checkpoint, plural(f.episodes, "episode"), f.seed); err != nil {
			return err
		}
		if err := a.write(f.stdout); err != nil {
			return err
		}
	}
	return nil
}
