package simulate

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/tracking"
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
// gain of less than about two standard errors may be luck: simulate more seeds before preferring a setting for it.
func Write(w io.Writer, results ...*Result) error {
	header := []string{"settings", "best", "median", "control", "gain", "wins", "copies/interval", "replaced",
		"self-mutations", "lineages left"}
	var rows [][]string
	for i, r := range results {
		s := r.Summary()
		rows = append(rows, []string{
			cmp.Or(r.Name, fmt.Sprint(i+1)),
			fmt.Sprintf("%.4g", s.Best), fmt.Sprintf("%.4g", s.Median), fmt.Sprintf("%.4g", s.ControlBest),
			fmt.Sprintf("%+.3g ± %.2g", s.Gain, s.Error), fmt.Sprintf("%.0f%%", 100*s.Wins),
			fmt.Sprintf("%.2f of %d", s.Copies, r.Members), fmt.Sprintf("%.0f%%", 100*s.Fraction),
			fmt.Sprintf("%.2f", s.SelfMutations), fmt.Sprintf("%.1f", s.Lineages),
		})
	}
	if err := tracking.Table(w, header, rows); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	return nil
}
