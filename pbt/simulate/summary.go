package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// Summary is a result in a few numbers, all means over the seeds.
type Summary struct {
	// Best and Median are the best and the median member's objective at the end, without noise; ControlBest is the best
	// of the members that trained without copying.
	Best, Median, ControlBest float64
	// Gain is by how much Best beats ControlBest (positive is better, whatever the direction), Error its standard
	// error, and Wins the fraction of seeds where it is positive.
	Gain, Error, Wins float64
	// Copies is the number of members replaced per interval after which anything is decided, Fraction the same as a
	// fraction of the members, and SelfMutations likewise.
	Copies, Fraction, SelfMutations float64
	// Lineages is the number of founding members whose weights are left at the end.
	Lineages float64
}

// Summary makes means over the seeds of the figures at the end.
func (r *Result) Summary() Summary {
	n := len(r.Runs)
	decided := float64(max(1, len(r.Steps)-1)) // nothing is decided after the last interval
	var s Summary
	gains := make([]float64, n)
	for i := range r.Runs {
		run, control := &r.Runs[i], &r.Controls[i]
		gains[i] = last(run.Best) - last(control.Best)
		if r.Minimise {
			gains[i] = -gains[i]
		}
		s.Best += last(run.Best)
		s.Median += last(run.Median)
		s.ControlBest += last(control.Best)
		for _, k := range run.Replaced {
			s.Copies += float64(k) / decided
		}
		s.SelfMutations += float64(run.SelfMutations) / decided
		s.Lineages += float64(last(run.Lineages))
		if gains[i] > 0 {
			s.Wins++
		}
	}
	// Until here these are sums over the seeds.
	for _, v := range []*float64{
		&s.Best, &s.Median, &s.ControlBest, &s.Copies, &s.SelfMutations, &s.Lineages, &s.Wins,
	} {
		*v /= float64(n)
	}
	s.Fraction = s.Copies / float64(r.Members)
	s.Gain = stat.Mean(gains, nil)
	if n > 1 { // one seed says nothing of how far seeds differ: the error is then 0
		s.Error = stat.StdDev(gains, nil) / math.Sqrt(float64(n))
	}
	return s
}

// last returns the figure at the end of training, of figures at every interval's end.
func last[T any](values []T) T { return values[len(values)-1] }

// Write writes a table with a line for each result: the means of [Result.Summary], with the gain's standard error. A
// gain of less than about two standard errors may be luck: simulate more seeds before preferring a setting for it. No
// results are an error.
func Write(w io.Writer, results ...*Result) error {
	if len(results) == 0 {
		return errors.New("simulate: there are no results to show")
	}
	header := []string{"settings", "best", "median", "control", "gain", "wins", "copies/interval", "replaced",
		"self-mutations", "lineages left"}
	var rows [][]string
	for i, r := range results {
		s := r.Summary()
		rows = append(rows, []string{
			label(r, i), fmt.Sprintf("%.4g", s.Best), fmt.Sprintf("%.4g", s.Median), fmt.Sprintf("%.4g", s.ControlBest),
			fmt.Sprintf("%+.3g ± %s", s.Gain, oneDigit(s.Error)), fmt.Sprintf("%.0f%%", 100*s.Wins),
			fmt.Sprintf("%.2f of %d", s.Copies, r.Members), fmt.Sprintf("%.0f%%", 100*s.Fraction), fmt.Sprintf("%.2f",
				s.SelfMutations),
			fmt.Sprintf("%.1f", s.Lineages),
		})
	}
	if err := tracking.Table(w, header, rows); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	return nil
}

// label is a result's name, or its number where it has none.
func label(r *Result, i int) string { return cmp.Or(r.Name, fmt.Sprint(i+1)) }

// panels are the best and the median member's objective, the fraction of members replaced and the lineages left, over
// environment steps, as means over the seeds. Of a single result the tenth and ninetieth percentile of the objectives
// are drawn too. Results whose controls are equal, as with settings of strategies alone, share one curve for them.
func panels(results ...*Result) []plot.Panel {
	best := plot.Panel{Title: "best member", YLabel: "objective, without noise"}
	median := plot.Panel{Title: "median member", YLabel: "objective, without noise"}
	replaced := plot.Panel{Title: "members replaced", YLabel: "% of the population"}
	lineages := plot.Panel{Title: "founding members whose weights are left", YLabel: "lineages"}
	curves := func(p *plot.Panel, name string, r *Result, outcomes []Outcome, from int,
		of func(o *Outcome, i int) float64) {
		mean, low, high := bands(r, outcomes, from, of)
		mean.Name, low.Name, high.Name = name, name, name
		low.Dashed, high.Dashed = true, true
		p.Series = append(p.Series, mean)
		if len(results) == 1 && from == 0 {
			p.Series = append(p.Series, low, high)
		}
	}
	atBest := func(o *Outcome, i int) float64 { return o.Best[i] }
	atMedian := func(o *Outcome, i int) float64 { return o.Median[i] }
	for i, r := range results {
		name := label(r, i)
		if len(results) == 1 {
			name = "population based training"
		}
		curves(&best, name, r, r.Runs, 0, atBest)
		curves(&median, name, r, r.Runs, 0, atMedian)
		// Nothing is decided after the last interval.
		share := func(o *Outcome, i int) float64 { return 100 * float64(o.Replaced[i]) / float64(r.Members) }
		curves(&replaced, name, r, r.Runs, 1, share)
		curves(&lineages, name, r, r.Runs, 1, func(o *Outcome, i int) float64 { return float64(o.Lineages[i]) })
	}
	for i, r := range results {
		drawn := func(other *Result) bool { return reflect.DeepEqual(r.Controls, other.Controls) }
		if slices.ContainsFunc(results[:i], drawn) {
			continue
		}
		name := "control: the same members without copying"
		if i > 0 {
			name = "control of " + label(r, i)
		}
		curves(&best, name, r, r.Controls, 0, atBest)
		curves(&median, name, r, r.Controls, 0, atMedian)
		if len(results) > 1 { // so that settings which hardly differ from it can be seen beneath
			best.Series[len(best.Series)-1].Dashed, median.Series[len(median.Series)-1].Dashed = true, true
		}
	}
	panels := []plot.Panel{best, median, replaced, lineages}
	for i := range panels {
		panels[i].XLabel = "environment steps"
	}
	return panels
}

// bands returns the mean, the tenth and the ninetieth percentile over the seeds of a figure at every interval's end,
// without the last omit intervals where there are more. A percentile is the figure of one of the seeds.
func bands(r *Result, outcomes []Outcome, omit int, of func(o *Outcome, i int) float64) (mean, low, high plot.Series) {
	values := make([]float64, len(outcomes))
	for i, steps := range r.Steps[:max(1, len(r.Steps)-omit)] {
		for j := range outcomes {
			values[j] = of(&outcomes[j], i)
		}
		slices.Sort(values)
		add := func(s *plot.Series, y float64) { s.X, s.Y = append(s.X, float64(steps)), append(s.Y, y) }
		add(&mean, stat.Mean(values, nil))
		add(&low, stat.Quantile(0.1, stat.Empirical, values, nil))
		add(&high, stat.Quantile(0.9, stat.Empirical, values, nil))
	}
	return mean, low, high
}

// WritePNG draws the panels at path, under a title that says how large the populations are and of how many seeds the
// means are. Both are those of the first result: compare results of one size.
func WritePNG(path string, results ...*Result) error {
	if len(results) == 0 {
		return errors.New("simulate: there are no results to draw")
	}
	r := results[0]
	title := fmt.Sprintf("simulated populations: %d members, %d intervals, mean of %d seeds", r.Members, len(r.Steps),
		len(r.Runs))
	if len(results) == 1 {
		title += ", dashed: 10th and 90th percentile"
	}
	if err := plot.WritePNG(path, title, panels(results...), 2); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	return nil
}

// oneDigit writes a number with one significant digit, and no exponent where it is not tiny: 20, 4, 0.03.
func oneDigit(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 0, 64), 64)
	if err != nil {
		rounded = x
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}
