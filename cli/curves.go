package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// record is the scalars of one run.
type record struct {
	name    string
	scalars []tracking.Scalar
	dir     string // the folder of the run
}

// usual are the tags that are drawn by default: returns, lengths of episodes, losses and learning rates, by the names
// of gorl, skrl, Stable-Baselines3 and RLlib. If all runs have rawReturn, shapedReturn is left out.
var usual = []string{
	"*episode / return", "*total reward (mean)", "*ep_rew_mean", "*return", "*return*mean*", "*total timesteps (mean)",
	"*ep_len_mean", "*loss*", "*learning*rate*",
}

// gather reads the runs at some paths: files of scalars, folders of runs, and folders of those. It writes damage to
// warn, and uses the values before the damage.
func gather(paths []string, warn io.Writer) ([]record, error) {
	type source struct{ path, name string }
	var sources []source
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			full, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			sources = append(sources, source{path, filepath.Base(filepath.Dir(full))})
			continue
		}
		dirs, err := tracking.FindRuns(path)
		if err != nil {
			return nil, err
		}
		if len(dirs) == 0 {
			return nil, fmt.Errorf("%s has no runs: no *.jsonl or event file in it or below", path)
		}
		for _, dir := range dirs {
			name, err := filepath.Rel(path, dir)
			if err != nil {
				return nil, err
			}
			if name == "." {
				full, err := filepath.Abs(dir)
				if err != nil {
					return nil, err
				}
				name = filepath.Base(full)
			}
			sources = append(sources, source{dir, filepath.ToSlash(name)})
		}
	}
	count := map[string]int{}
	for _, s := range sources {
		count[s.name]++
	}
	var list []record
	var failures []error
	for _, s := range sources {
		if count[s.name] > 1 {
			s.name = s.path
		}
		read, dir := tracking.ReadRun, s.path
		if info, err := os.Stat(s.path); err == nil && !info.IsDir() {
			read, dir = tracking.ReadFile, filepath.Dir(s.path)
		}
		scalars, err := read(s.path)
		switch {
		case err != nil && len(scalars) == 0: // for example a run that has just begun
			failures = append(failures, err)
			continue
		case err != nil && !errors.Is(err, tracking.ErrTruncated): // a run in progress is truncated, too
			fmt.Fprintf(warn, "note: %v; what stands before that is used\n", err)
		}
		list = append(list, record{s.name, scalars, dir})
	}
	if len(list) == 0 {
		return nil, errors.Join(failures...)
	}
	for _, err := range failures {
		fmt.Fprintf(warn, "note: %v; the run is left out\n", err)
	}
	return list, nil
}

// tags returns the tags of all runs that match a pattern, in the order of the patterns, then of their names. Without
// patterns it returns the usual tags, or all tags if none is usual.
func tags(records []record, patterns []string) ([]string, error) {
	all := map[string]bool{}
	for _, r := range records {
		for _, s := range r.scalars {
			all[s.Tag] = true
		}
	}
	names := slices.Sorted(maps.Keys(all))
	if len(names) == 0 {
		return nil, errors.New("there are no scalars")
	}
	chosen := matching(names, patterns)
	if len(patterns) == 0 {
		chosen = matching(names, usual)
		if !slices.ContainsFunc(records, onlyShaped) {
			chosen = slices.DeleteFunc(chosen, func(tag string) bool { return tag == shapedReturn })
		}
		if len(chosen) == 0 {
			chosen = names
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no tag matches; %s plot --list prints them, for instance %q", program, names[0])
	}
	return chosen, nil
}

// The tags of returns: of the environment's own rewards, and of the rewards that the agent receives from wrappers.
const (
	rawReturn    = tracking.TagReturn
	shapedReturn = tracking.TagTotalReward + " (mean)"
)

// onlyShaped reports whether a run, of another program or of an earlier gorl, has only the return that the agent
// received.
func onlyShaped(r record) bool {
	has := func(tag string) bool {
		return slices.ContainsFunc(r.scalars, func(s tracking.Scalar) bool { return s.Tag == tag })
	}
	return has(shapedReturn) && !has(rawReturn)
}

func matching(names, patterns []string) (chosen []string) {
	for _, p := range patterns {
		match := commandline.Globs([]string{p})
		for _, name := range names {
			if match(name) && !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
	}
	return chosen
}

// writeList writes a row for every tag of every run.
func writeList(w io.Writer, records []record, chosen []string) error {
	header := []string{"tag", "values", "from step", "to step", "first", "last", "min", "max"}
	if len(records) > 1 {
		header = append([]string{"run"}, header...)
	}
	var rows [][]string
	for _, tag := range chosen {
		for _, r := range records {
			s := plot.SeriesOf(r.scalars, tag)
			if len(s.X) == 0 {
				continue
			}
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, y := range s.Y {
				if !math.IsNaN(y) {
					lo, hi = min(lo, y), max(hi, y)
				}
			}
			if lo > hi {
				lo, hi = math.NaN(), math.NaN()
			}
			row := []string{tag, fmt.Sprint(len(s.X)), fmt.Sprint(int64(slices.Min(s.X))),
				fmt.Sprint(int64(slices.Max(s.X)))}
			for _, y := range []float64{s.Y[0], s.Y[len(s.Y)-1], lo, hi} {
				row = append(row, fmt.Sprintf("%.5g", y))
			}
			if len(records) > 1 {
				row = append([]string{r.name}, row...)
			}
			rows = append(rows, row)
		}
	}
	return tracking.Table(w, header, rows)
}

// axis is the horizontal axis of curves.
type axis struct {
	label string
	// of returns the places of a tag's values in a run.
	of func(r record, tag string) []float64
}

// axisOf returns the axis of a name. Files of other programs have one count, which is both steps and timesteps.
func axisOf(name string, records []record) (axis, error) {
	switch name {
	case "time":
		return elapsed(records), nil
	case "timesteps":
		return axis{"timesteps", func(r record, tag string) []float64 {
			if x, ok := counted(r, tag, tracking.TagTimesteps); ok {
				return x
			}
			return plot.SeriesOf(r.scalars, tag).X
		}}, nil
	case "updates":
		for _, r := range records {
			if !slices.ContainsFunc(r.scalars, func(s tracking.Scalar) bool { return s.Tag == tracking.TagUpdates }) {
				return axis{}, commandline.Usagef("--x is updates, but %s has no %q; want steps, timesteps or time",
					r.name, tracking.TagUpdates)
			}
		}
		return axis{"updates", func(r record, tag string) []float64 {
			x, _ := counted(r, tag, tracking.TagUpdates)
			return x
		}}, nil
	}
	label := "environment steps"
	if slices.ContainsFunc(records, func(r record) bool { return !countsSteps(r) }) {
		label = "steps"
	}
	return axis{label, func(r record, tag string) (x []float64) {
		for _, s := range r.scalars {
			if s.Tag == tag {
				x = append(x, float64(cmp.Or(s.EnvSteps, s.Step)))
			}
		}
		return x
	}}, nil
}

// countsSteps reports whether gorl has counted a run's environment steps.
func countsSteps(r record) bool {
	return slices.ContainsFunc(r.scalars, func(s tracking.Scalar) bool {
		return s.EnvSteps > 0 || s.Tag == tracking.TagTimesteps
	})
}

// counted returns the places of a tag's values by a count that the run has as the tag counter. A value between two
// counts has the earlier one. ok is false if the run does not have the counter.
func counted(r record, tag, counter string) (x []float64, ok bool) {
	count := plot.SeriesOf(r.scalars, counter)
	for _, step := range plot.SeriesOf(r.scalars, tag).X {
		i, found := slices.BinarySearch(count.X, step)
		if !found {
			i--
		}
		if i < 0 {
			x = append(x, 0)
		} else {
			x = append(x, count.Y[i])
		}
	}
	return x, len(count.X) > 0
}

// elapsed is the axis of the time since a run's first value, in a unit that fits the longest run.
func elapsed(records []record) axis {
	var longest time.Duration
	begin := map[string]time.Time{}
	for _, r := range records {
		var first, last time.Time
		for _, s := range r.scalars {
			if first.IsZero() || s.Time.Before(first) {
				first = s.Time
			}
			if s.Time.After(last) {
				last = s.Time
			}
		}
		begin[r.name], longest = first, max(longest, last.Sub(first))
	}
	unit, label := time.Second, "time (s)"
	switch {
	case longest > 3*time.Hour:
		unit, label = time.Hour, "time (h)"
	case longest > 3*time.Minute:
		unit, label = time.Minute, "time (min)"
	}
	return axis{label, func(r record, tag string) []float64 {
		var x []float64
		for _, s := range r.scalars {
			if s.Tag == tag {
				x = append(x, float64(s.Time.Sub(begin[r.name]))/float64(unit))
			}
		}
		return x
	}}
}

// panels returns a panel for every tag, with a curve for every run that has the tag, in the order of x.
func panels(records []record, chosen []string, x axis, smooth float64, logarithmic func(tag string) bool) ([]plot.Panel,
	error) {
	var list []plot.Panel
	for _, tag := range chosen {
		p := plot.Panel{Title: tag, XLabel: x.label}
		for _, r := range records {
			s := plot.SeriesOf(r.scalars, tag)
			if len(s.X) == 0 {
				continue
			}
			s.X, s.Name = x.of(r, tag), ""
			if len(records) > 1 {
				s.Name = r.name
			}
			s = inOrder(s)
			if smooth > 0 {
				raw := s
				raw.Faint = true
				p.Series = append(p.Series, raw)
			}
			smoothed, err := s.Smoothed(smooth)
			if err != nil {
				return nil, err
			}
			p.Series = append(p.Series, smoothed)
		}
		if logarithmic(tag) && slices.ContainsFunc(p.Series, positive) { // else there would be nothing to see
			p.Scale = plot.Log
		}
		list = append(list, p)
	}
	return list, nil
}

func positive(s plot.Series) bool {
	return slices.ContainsFunc(s.Y, func(y float64) bool { return y > 0 })
}

// inOrder sorts a curve's points by x, which several files of one run may have out of order.
func inOrder(s plot.Series) plot.Series {
	index := make([]int, len(s.X))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(s.X[a], s.X[b]) })
	x, y := make([]float64, len(index)), make([]float64, len(index))
	for i, from := range index {
		x[i], y[i] = s.X[from], s.Y[from]
	}
	s.X, s.Y = x, y
	return s
}
