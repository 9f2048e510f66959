package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/cli/internal/watch"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tracking/aggregate"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// seedless are the keys of run.yaml in which runs of one group may differ, besides the section seed.
var seedless = map[string][]string{
	"environment": {"seed"},
	"trainer":     {"seed", "directory", "name"},
	"pbt":         {"seed", "directory", "workspace"},
	"training":    {"directory"},
}

// recipeOf returns the configuration in the folder of a run without its seed and names. It is "" without run.yaml.
func recipeOf(dir string) string {
	c, err := runfile.Read(filepath.Join(dir, runFile))
	if err != nil {
		return ""
	}
	delete(c, "seed")
	for section, keys := range seedless {
		values, _ := c[section].(map[string]any)
		for _, key := range keys {
			delete(values, key)
		}
	}
	experiment, _ := c.Section("agent")["experiment"].(map[string]any)
	delete(experiment, "directory")
	delete(experiment, "experiment_name")
	text, err := c.YAML()
	if err != nil {
		return ""
	}
	return string(text)
}

// groupRuns groups runs that differ by their seeds alone. names and dirs are those of the runs. A run without run.yaml
// is a group of its own.
func groupRuns(names, dirs []string) (groups []watch.Group) {
	at := map[string]int{}
	for i, dir := range dirs {
		recipe := recipeOf(dir)
		k, ok := at[recipe]
		if !ok || recipe == "" {
			k, at[recipe] = len(groups), len(groups)
			groups = append(groups, watch.Group{Name: names[i]})
		}
		groups[k].Runs = append(groups[k].Runs, names[i])
	}
	used := map[string]int{}
	for i := range groups {
		g := &groups[i]
		if len(g.Runs) > 1 {
			above := filepath.Join(dirs[slices.Index(names, g.Runs[0])], "..")
			g.Name = cmp.Or(commonName(g.Runs), folderName(above))
		}
		if used[g.Name]++; used[g.Name] > 1 {
			g.Name = fmt.Sprintf("%s (%d)", g.Name, used[g.Name])
		}
	}
	return groups
}

// commonName returns what the names of runs begin with, without a trailing "seed" and separators.
func commonName(names []string) string {
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	const separators = "-_./ "
	common = strings.TrimRight(common, separators+"0123456789")
	return strings.TrimRight(strings.TrimSuffix(common, "seed"), separators)
}

// joinCurves replaces the curves of each group of several runs by one with its confidence interval. what names the
// statistic in the legend. notes tell which runs end before others of their group.
func joinCurves(panels []plot.Panel, groups []watch.Group, statistic aggregate.Statistic, what string) (
	notes []string) {
	told := map[string]bool{}
	for i := range panels {
		var joined []plot.Series
		for _, g := range groups {
			var x, y [][]float64
			longest, shortest, first := 0.0, 0.0, ""
			for _, s := range panels[i].Series {
				if !slices.Contains(g.Runs, s.Name) && len(groups) > 1 || len(g.Runs) > 1 && s.Faint {
					continue
				}
				if len(g.Runs) == 1 {
					joined = append(joined, s)
					continue
				}
				x, y = append(x, s.X), append(y, s.Y)
				end := s.X[len(s.X)-1]
				if longest = max(longest, end); first == "" || end < shortest {
					shortest, first = end, s.Name
				}
			}
			if len(x) == 0 {
				continue
			}
			c := aggregate.Curves(x, y, statistic)
			joined = append(joined, plot.Series{Name: fmt.Sprintf("%s: %s of %d seeds, 95 %% interval", g.Name, what,
				len(g.Runs)), X: c.X, Y: c.Y, Low: c.Low, High: c.High})
			if shortest < 0.9*longest && !told[first] {
				told[first] = true
				notes = append(notes, fmt.Sprintf("%s ends at %.6g of %.6g; the curve of its group ends there, too "+
					"(--each draws every run)", first, shortest, longest))
			}
		}
		panels[i].Series = joined
	}
	return notes
}

// runsBelow returns the folders of the runs in a folder and up to two levels of folders in it, by their run.yaml. It
// follows no links: a run would count twice.
func runsBelow(root string) (dirs []string) {
	base, _ := filepath.EvalSymlinks(root)
	for _, pattern := range []string{"*/", "*/*/", "*/*/*/"} {
		found, _ := fs.Glob(os.DirFS(root), pattern+runFile) // the pattern is valid
		for _, name := range found {
			rel := filepath.FromSlash(path.Dir(name))
			dir := filepath.Join(root, rel)
			place, _ := filepath.EvalSymlinks(dir)
			linked := place != filepath.Join(base, rel)
			below := func(run string) bool { return strings.HasPrefix(dir, run+string(filepath.Separator)) }
			if !linked && !strings.Contains("/"+name, "/.") && !slices.ContainsFunc(dirs, below) { // no members either
				dirs = append(dirs, dir)
			}
		}
	}
	slices.SortFunc(dirs, inspection.Naturally) // seed-2 before seed-10
	return dirs
}
