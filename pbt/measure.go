package pbt

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// checkObjective returns an error if the objective's name is probably a misspelt name of a figure. It does so in the
// first interval, as soon as there is that figure. A name unlike all figures is no error, because that figure may come
// later.
func (o *Options) checkObjective(figures map[string]float64, iteration int64) error {
	if _, _, ok := figureOf(figures, o.Objective, ""); ok || iteration > 1 {
		return nil
	}
	known := slices.Sorted(maps.Keys(figures))
	for _, name := range candidates(o.Objective) {
		if config.Slip(name, known) {
			return fmt.Errorf("there is no objective %q: %s", o.Objective, config.Among(o.Objective, known))
		}
	}
	return nil
}

// nextObjectiveCheck returns the number of own environment steps, at most end, at which a member pauses to look for the
// objective among its figures. In the first interval the member pauses after each tenth, until the objective is found.
// It does not if Options.ProgressSteps makes pauses already.
func (o *Options) nextObjectiveCheck(figures map[string]float64, iteration, steps, end int64) int64 {
	if _, _, ok := figureOf(figures, o.Objective, ""); ok || iteration > 1 || o.ProgressSteps > 0 {
		return end
	}
	tenth := max(1, o.IntervalSteps/10)
	return min(end, (steps/tenth+1)*tenth)
}

// maxScores is the number of scores that a member remembers.
const maxScores = 100

// score appends the objective at an interval's end, as strategies see it, to the scores. A second call for the same
// interval, as after an interruption, replaces the first one's.
func (m *member) score(iteration int64, s strategy.Status) {
	if s.Failed || !s.HasObjective {
		return
	}
	if m.ScoredAt == iteration {
		m.Scores = m.Scores[:len(m.Scores)-1]
	}
	m.Scores, m.ScoredAt = append(m.Scores, number.JSON(m.opt.Measure.signed(s.Objective))), iteration
	m.Scores = slices.Delete(m.Scores, 0, max(0, len(m.Scores)-maxScores))
}

// reached reports whether the population has reached Options.Target: every member is healthy, and the mean of its last
// 10 scores is at least the target.
func (o *Options) reached(g strategy.Generation) bool {
	const last = 10
	if o.Target == nil || g.Iteration < max(o.Target.Generations, 1) {
		return false
	}
	for _, m := range g.Members {
		n := len(m.Scores)
		if !m.Healthy() || n == 0 || !(stat.Mean(m.Scores[max(0, n-last):], nil) >= o.Measure.signed(o.Target.Figure)) {
			return false
		}
	}
	return true
}

// Measure says how a member's objective comes from what its trainee reports. The zero value takes the figure as the
// trainee reports it at the interval's end, higher is better. The yaml tags are the keys under pbt.measure in a file.
type Measure struct {
	// Minimise makes lower better. Strategies see the objective times −1.
	Minimise bool `yaml:"minimise"`
	// Window is the number of last measurements of the present weights that Reducer combines: episodes of a
	// [Sampler], otherwise readings at reports of progress (progress_steps). 0 takes the figure as reported.
	//
	// A larger window ranks members by less noise, and notices later that one has become better or worse.
	Window int `yaml:"window" config:"min=0"`
	// Reducer combines the window: mean (or empty), median, min, max, last, ema (exponential moving average) or lcb
	// (mean less one standard error). Use median against outliers, lcb for reliable members.
	Reducer Reducer `yaml:"reducer" config:"oneof=|mean|median|min|max|last|ema|lcb"`
	// MinSamples is the number of measurements below which the objective is unknown. Default 0.
	MinSamples int `yaml:"min_samples" config:"min=0"`
	// EvaluationEpisodes is the number of episodes of a separate evaluation at the interval's end, which measures
	// the objective and decides which member is best; 0 is none. It needs an [Evaluator] and Window 0.
	// EvaluationSeed seeds its environments; choose one that no member trains on.
	//
	// More episodes cost more time and rank members more surely. Exploration noise then does not count.
	EvaluationEpisodes int   `yaml:"evaluation_episodes" config:"min=0"`
	EvaluationSeed     int64 `yaml:"evaluation_seed"`
}

// Reducer is a way to make one number of several measurements.
type Reducer string

// The reducers.
const (
	// ReduceMean is the arithmetic mean.
	ReduceMean Reducer = "mean"
	// ReduceMedian is the middle measurement; outliers do not count.
	ReduceMedian Reducer = "median"
	// ReduceMin is the least figure, whichever way is better.
	ReduceMin Reducer = "min"
	// ReduceMax is the greatest figure, whichever way is better.
	ReduceMax Reducer = "max"
	// ReduceLast is the newest measurement.
	ReduceLast Reducer = "last"
	// ReduceEMA is an exponential moving average with a weight of 2/(n+1) for each of n measurements.
	ReduceEMA Reducer = "ema"
	// ReduceLCB is a lower confidence bound: the mean minus one standard error (plus, where lower is better).
	ReduceLCB Reducer = "lcb"
)

// reduce returns the reduction of x, oldest first; minimise says that lower is better, which matters to ReduceLCB.
func (r Reducer) reduce(x []float64, minimise bool) float64 {
	switch r {
	case ReduceMedian:
		return median(x)
	case ReduceMin:
		return slices.Min(x)
	case ReduceMax:
		return slices.Max(x)
	case ReduceLast:
		return x[len(x)-1]
	case ReduceEMA:
		weight, average := 2/float64(len(x)+1), x[0]
		for _, v := range x[1:] {
			average += weight * (v - average)
		}
		return average
	case ReduceLCB:
		mean, deviation := stat.MeanStdDev(x, nil)
		if len(x) == 1 { // one measurement says nothing about its own error
			return mean
		}
		if minimise {
			return mean + stat.StdErr(deviation, float64(len(x)))
		}
		return mean - stat.StdErr(deviation, float64(len(x)))
	}
	return stat.Mean(x, nil)
}

// median is the middle one, or the mean of the two in the middle.
func median(x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
