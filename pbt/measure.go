package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"gonum.org/v1/gonum/stat"
)

// candidates are the names under which trainees may report an objective, the most telling first.
func candidates(objective string) []string {
	names := []string{objective, "episode." + objective}
	if objective == "true_objective" {
		names = append(names, "episode.return")
	}
	return names
}

// figureOf finds an objective among figures, and the name it goes by. Once it went by the name settled, names that tell
// less are not looked at any more: another figure is not a later value of this one.
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

// signed turns a figure into an objective, of which more is better, and back.
func (m Measure) signed(x float64) float64 {
	if m.Minimise {
		return -x
	}
	return x
}

// read takes the objective from the trainee's latest figures. What is not there leaves it as it was.
func (m *member) read(iteration int64) {
	w := m.opt.Measure
	if w.EvaluationEpisodes > 0 { // that is the only measurement
		return
	}
	name, value, ok := figureOf(m.metrics, m.opt.Objective, m.figure)
	if !ok {
		return
	}
	m.figure = name
	if n := max(w.Window, w.MinSamples); n > 0 {
		samples := m.measurements(name, value, n)
		m.samples = len(samples)
		if len(samples) < w.MinSamples {
			return
		}
		if w.Window > 0 {
			value = w.Reducer.reduce(samples[max(0, len(samples)-w.Window):], w.Minimise)
		}
	}
	m.measured(iteration, value)
}

// measurements are up to n of the latest behind a figure: the trainee's own, or else the readings since the weights
// were taken over.
func (m *member) measurements(name string, value float64, n int) []float64 {
	if s, ok := m.trainee.(Sampler); ok {
		if samples := s.Samples(name, n); len(samples) > 0 {
			return samples[max(0, len(samples)-n):]
		}
	}
	m.readings = append(m.readings, value)
	m.readings = slices.Delete(m.readings, 0, max(0, len(m.readings)-n))
	return m.readings
}

// measured notes the figure as the objective of an interval.
func (m *member) measured(iteration int64, figure float64) {
	m.objective, m.hasObjective, m.measuredAt = m.opt.Measure.signed(figure), true, iteration
	if number.Finite(m.objective) && (!m.hasPeak || m.objective > m.peak) {
		m.peak, m.hasPeak = m.objective, true
	}
}

// measureEnd completes what is known of a member at an interval's end: by an evaluation where one is wanted, and whether
// its weights are finite. A cancelled context leaves it incomplete; it is then done again.
func (m *member) measureEnd(ctx context.Context, iteration int64) {
	if m.failure != "" {
		return
	}
	if m.opt.Measure.EvaluationEpisodes > 0 {
		if err := guarded(func() error { return m.evaluate(ctx, iteration) }); err != nil {
			if ctx.Err() == nil {
				m.fail(iteration, fmt.Errorf("evaluation: %w", err))
			}
			return
		}
	}
	m.checkWeights()
}

func (m *member) evaluate(ctx context.Context, iteration int64) error {
	e, ok := m.trainee.(Evaluator)
	if !ok {
		return errNoEvaluator
	}
	figures, err := e.EvaluateMetrics(ctx, m.opt.Measure.EvaluationEpisodes, m.opt.Measure.EvaluationSeed)
	if err != nil {
		return err
	}
	m.evaluation = maps.Clone(figures)
	if name, value, ok := figureOf(figures, m.opt.Objective, m.figure); ok {
		m.figure, m.samples = name, m.opt.Measure.EvaluationEpisodes
		m.measured(iteration, value)
	}
	return nil
}

var errNoEvaluator = errors.New("Measure.EvaluationEpisodes needs trainees with a method EvaluateMetrics (see pbt.Evaluator); give ones that have it, or leave it 0")

// checkWeights notes whether the member's weights are finite where its objective does not tell already. A member
// whose state cannot be read is not judged by it.
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

// maxScores is how many scores are remembered.
const maxScores = 100

// score notes the objective at an interval's end; doing so again changes nothing.
func (m *member) score(iteration int64) {
	s := m.status()
	if m.failure != "" || !s.HasObjective {
		return
	}
	if m.scoredAt == iteration {
		m.scores = m.scores[:len(m.scores)-1]
	}
	m.scores, m.scoredAt = append(m.scores, s.Objective), iteration
	m.scores = slices.Delete(m.scores, 0, max(0, len(m.scores)-maxScores))
}

// reached reports whether Options.Target is: every member trains, and the mean of its last scores is that good.
func (o *Options) reached(g strategy.Generation) bool {
	const last = 10
	if o.Target == nil || g.Iteration < max(o.TargetGenerations, 1) {
		return false
	}
	for _, m := range g.Members {
		n := len(m.Scores)
		if !m.Healthy() || n == 0 || !(stat.Mean(m.Scores[max(0, n-last):], nil) >= o.Measure.signed(*o.Target)) {
			return false
		}
	}
	return true
}

// nextInterval forgets what belongs to one interval only.
func (m *member) nextInterval() { m.peak, m.hasPeak = 0, false }
