package pbt

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// candidates returns the names under which trainees may report an objective, the most specific first.
func candidates(objective string) []string {
	names := []string{objective, "episode." + objective}
	if objective == "true_objective" {
		names = append(names, "episode.return")
	}
	return names
}

// figureOf finds an objective among figures, and the name under which it is reported. settled is that name from an
// earlier reading: less specific names are then not tried any more, because another figure is not a later value of this
// one.
func figureOf(figures map[string]float64, objective, settled string) (name string, value float64, ok bool) {
	for _, name := range candidates(objective) {
		if value, ok := figures[name]; ok {
			return name, value, true
		}
		if name == settled {
			break
		}
	}
	return "", 0, false
}

// signed turns a figure into an objective, of which more is better, and back. Strategies see objectives; journals,
// tables and results have figures.
func (m Measure) signed(x float64) float64 {
	if m.Minimise {
		return -x
	}
	return x
}

// measured is what is known of a member's present weights. Objectives are higher-is-better.
type measured struct {
	objective    float64
	hasObjective bool
	measuredAt   int64              // the interval it belongs to, 0 for none
	samples      int                // measurements behind it
	readings     []float64          // the last figures read, if the trainee has no samples of its own
	figure       string             // the name that the objective goes by, "" while unknown
	evaluation   map[string]float64 // the figures of the last evaluation
	peak         float64            // the best objective in the interval
	hasPeak      bool
	scores       []float64 // the objectives at interval ends that the weights went through, the last at scoredAt
	scoredAt     int64
	diverged     string // why the weights cannot be used although the member trains, "" when they can
}

// read takes the objective from the trainee's latest figures. If they do not have it, or not enough measurements of it,
// the objective stays as it was.
func (m *measured) read(o *Options, t Trainee, figures map[string]float64, iteration int64) {
	w := o.Measure
	if w.EvaluationEpisodes > 0 { // that is the only measurement
		return
	}
	name, value, ok := figureOf(figures, o.Objective, m.figure)
	if !ok {
		return
	}
	m.figure = name
	if n := max(w.Window, w.MinSamples); n > 0 {
		samples := m.measurements(t, value, n)
		m.samples = len(samples)
		if len(samples) < w.MinSamples {
			return
		}
		if w.Window > 0 {
			value = w.Reducer.reduce(samples[max(0, len(samples)-w.Window):], w.Minimise)
		}
	}
	m.set(w, iteration, value)
}

// measurements returns up to n of the latest measurements behind the figure: the trainee's own, or else the readings
// since the last copy, to which this value is added.
func (m *measured) measurements(t Trainee, value float64, n int) []float64 {
	if s, ok := t.(Sampler); ok {
		if samples := s.Samples(m.figure, n); len(samples) > 0 {
			return samples[max(0, len(samples)-n):]
		}
	}
	m.readings = append(m.readings, value)
	m.readings = slices.Delete(m.readings, 0, max(0, len(m.readings)-n))
	return m.readings
}

// set sets the objective of an interval from a figure, and the peak within the interval.
func (m *measured) set(w Measure, iteration int64, figure float64) {
	m.objective, m.hasObjective, m.measuredAt = w.signed(figure), true, iteration
	if number.Finite(m.objective) && (!m.hasPeak || m.objective > m.peak) {
		m.peak, m.hasPeak = m.objective, true
	}
}

// measureEnd completes what is known of a member at an interval's end: by an evaluation where one is wanted, and
// whether its weights are finite. A cancelled context leaves it incomplete; it is then done again.
func (m *member) measureEnd(ctx context.Context, iteration int64) {
	if m.failure != "" {
		return
	}
	if m.opt.Measure.EvaluationEpisodes > 0 {
		if err := guarded(func() error { return m.evaluate(ctx, m.opt, m.trainee, iteration) }); err != nil {
			if ctx.Err() == nil {
				m.fail(iteration, fmt.Errorf("evaluation: %w", err))
			}
			return
		}
	}
	m.checkWeights()
}

// evaluate runs the separate evaluation of Measure.EvaluationEpisodes and takes the objective from its figures.
func (m *measured) evaluate(ctx context.Context, o *Options, t Trainee, iteration int64) error {
	figures, err := t.(Evaluator).EvaluateMetrics(ctx, o.Measure.EvaluationEpisodes, o.Measure.EvaluationSeed)
	if err != nil {
		return err
	}
	m.evaluation = maps.Clone(figures)
	if name, value, ok := figureOf(figures, o.Objective, m.figure); ok {
		m.figure, m.samples = name, o.Measure.EvaluationEpisodes
		m.set(o.Measure, iteration, value)
	}
	return nil
}

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

// checkWeights notes whether the member's weights are finite, unless its objective tells already. Weights can be NaN
// while the figures still look well: episodes may have ended before the update that spoilt the weights. A member whose
// snapshot cannot be taken is not judged by it.
func (m *member) checkWeights() {
	m.diverged = ""
	if m.hasObjective && !number.Finite(m.objective) {
		return
	}
	snapshot, err := m.snapshotOf()
	if err != nil {
		return
	}
	if err := snapshot.CheckFinite(); err != nil {
		m.diverged = fmt.Sprintf("weights: %v", err)
	}
}

// maxScores is the number of scores that a member remembers.
const maxScores = 100

// score appends the objective at an interval's end, as strategies see it, to the scores. A second call for the same
// interval, as after an interruption, replaces the first one's.
func (m *measured) score(iteration int64, s strategy.Status) {
	if s.Failed || !s.HasObjective {
		return
	}
	if m.scoredAt == iteration {
		m.scores = m.scores[:len(m.scores)-1]
	}
	m.scores, m.scoredAt = append(m.scores, s.Objective), iteration
	m.scores = slices.Delete(m.scores, 0, max(0, len(m.scores)-maxScores))
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

// nextInterval forgets the peak, which belongs to one interval only.
func (m *measured) nextInterval() { m.peak, m.hasPeak = 0, false }

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
