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
	type source struct {
		record
		path string
		read func(path string) ([]tracking.Scalar, error)
	}
	var sources []source
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			dir := filepath.Dir(path)
			sources = append(sources, source{record{name: folderName(dir), dir: dir}, path, tracking.ReadFile})
			continue
		}
		dirs, err := tracking.FindRuns(path)
		if err == nil && len(dirs) == 0 {
			err = fmt.Errorf("%s has no runs: no %s or event file in it or below", path, tracking.ScalarsFile)
		}
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			name, _ := filepath.Rel(path, dir) // it is below
			if name == "." {
				name = folderName(dir)
			}
			sources = append(sources, source{record{name: filepath.ToSlash(name), dir: dir}, dir, tracking.ReadRun})
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
		var err error
		s.scalars, err = s.read(s.path)
		switch {
		case err != nil && len(s.scalars) == 0: // for example a run that has just begun
			failures = append(failures, err)
			continue
		case err != nil && !errors.Is(err, tracking.ErrTruncated): // a run in progress is truncated, too
			fmt.Fprintf(warn, "note: %v; what stands before that is used\n", err)
		}
		list = append(list, s.record)
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
		chosen = usualTags(names, slices.ContainsFunc(records, onlyShaped))
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

// usualTags returns the usual tags among all, or all if none is usual. shaped includes shapedReturn.
func usualTags(all []string, shaped bool) []string {
	chosen := slices.DeleteFunc(matching(all, usual), func(tag string) bool { return tag == shapedReturn && !shaped })
	if len(chosen) == 0 {
		return all
	}
	return chosen
}

// onlyShaped reports whether a run, of another program or of an earlier gorl, has only the return that the agent
// received.
func onlyShaped(r record) bool { return r.has(shapedReturn) && !r.has(rawReturn) }

// has reports whether a run has values of a tag.
func (r record) has(tag string) bool {
	return slices.ContainsFunc(r.scalars, func(s tracking.Scalar) bool { return s.Tag == tag })
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
	header := []string{"run", "tag", "values", "from step", "to step", "first", "last", "min", "max"}
	left := 0 // columns that are left out: the name of a single run
	if len(records) == 1 {
		left = 1
	}
	var rows [][]string
	for _, tag := range chosen {
		for _, r := range records {
			s := plot.SeriesOf(r.scalars, tag)
			if len(s.X) == 0 {
				continue
			}
			lo, hi := math.NaN(), math.NaN()
			if known := slices.DeleteFunc(slices.Clone(s.Y), math.IsNaN); len(known) > 0 {
				lo, hi = slices.Min(known), slices.Max(known)
			}
			row := tracking.Cells(r.name, tag, len(s.X), int64(slices.Min(s.X)), int64(slices.Max(s.X)))
			for _, y := range []float64{s.Y[0], s.Y[len(s.Y)-1], lo, hi} {
				row = append(row, fmt.Sprintf("%.5g", y))
			}
			rows = append(rows, row[left:])
		}
	}
	return tracking.Table(w, header[left:], rows)
}

// axis is the horizontal axis of curves.
type axis struct {
	label string
	// of returns a function of the place of a run's value.
	of func(r record) func(s tracking.Scalar) float64
}

// axisOf returns the axis of a name. Files of other programs have one count, which is both steps and timesteps.
func axisOf(name string, records []record) (axis, error) {
	switch name {
	case "time":
		return elapsed(records), nil
	case "timesteps":
		return axis{"timesteps", func(r record) func(tracking.Scalar) float64 {
			if !r.has(tracking.TagTimesteps) {
				return func(s tracking.Scalar) float64 { return float64(s.Step) }
			}
			return counted(r, tracking.TagTimesteps)
		}}, nil
	case "updates":
		for _, r := range records {
			if !r.has(tracking.TagUpdates) {
				return axis{}, commandline.Usagef("--x is updates, but %s has no %q; want steps, timesteps or time",
					r.name, tracking.TagUpdates)
			}
		}
		return axis{"updates", func(r record) func(tracking.Scalar) float64 {
			return counted(r, tracking.TagUpdates)
		}}, nil
	}
	label := "environment steps"
	for _, r := range records {
		if !r.has(tracking.TagTimesteps) && !slices.ContainsFunc(r.scalars, countsSteps) { // not of gorl
			label = "steps"
		}
	}
	return axis{label, func(record) func(tracking.Scalar) float64 {
		return func(s tracking.Scalar) float64 { return float64(cmp.Or(s.EnvSteps, s.Step)) }
	}}, nil
}

// countsSteps reports whether gorl has counted the environment steps before a value.
func countsSteps(s tracking.Scalar) bool { return s.EnvSteps > 0 }

// counted returns a function of the place of a value by a count that the run has as the tag counter. A value between
// two counts has the earlier one.
func counted(r record, counter string) func(s tracking.Scalar) float64 {
	count := plot.SeriesOf(r.scalars, counter)
	return func(s tracking.Scalar) float64 {
		i, found := slices.BinarySearch(count.X, float64(s.Step))
		if !found {
			i--
		}
		if i < 0 {
			return 0
		}
		return count.Y[i]
	}
}

// elapsed is the axis of the time since a run's first value, in a unit that fits the longest run.
func elapsed(records []record) axis {
	var longest time.Duration
	begin := map[string]time.Time{}
	for _, r := range records {
		for _, s := range r.scalars {
			if first, ok := begin[r.name]; !ok || s.Time.Before(first) {
				begin[r.name] = s.Time
			}
		}
		for _, s := range r.scalars {
			longest = max(longest, s.Time.Sub(begin[r.name]))
		}
	}
	unit, label := time.Second, "time (s)"
	switch {
	case longest > 3*time.Hour:
		unit, label = time.Hour, "time (h)"
	case longest > 3*time.Minute:
		unit, label = time.Minute, "time (min)"
	}
	return axis{label, func(r record) func(tracking.Scalar) float64 {
		return func(s tracking.Scalar) float64 { return float64(s.Time.Sub(begin[r.name])) / float64(unit) }
	}}
}

// panels returns a panel for every tag, with a curve for every run that has the tag, in the order of x.
func panels(records []record, chosen []string, x axis, smooth float64, logarithmic func(tag string) bool) ([]plot.Panel,
	error) {
	var list []plot.Panel
	for _, tag := range chosen {
		p := plot.Panel{Title: tag, XLabel: x.label}
		for _, r := range records {
			s := x.curve(r, tag)
			if len(s.X) == 0 {
				continue
			}
			if len(records) > 1 {
				s.Name = r.name
			}
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

// curve returns the values of a tag in a run, in the order of the axis, which several files of one run may not have.
func (x axis) curve(r record, tag string) (s plot.Series) {
	place := x.of(r)
	var points [][2]float64
	for _, value := range r.scalars {
		if value.Tag == tag {
			points = append(points, [2]float64{place(value), value.Value})
		}
	}
	slices.SortStableFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for _, p := range points {
		s.X, s.Y = append(s.X, p[0]), append(s.Y, p[1])
	}
	return s
}
