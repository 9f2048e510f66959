package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// member is a trainee and what its population remembers about it. It knows the options but not the population.
type member struct {
	opt     *Options
	id      int
	trainee Trainee
	seed    int64
	// restartProcess makes rebuilding the trainee an *errNewProcess.
	restartProcess bool

	// Member is what is saved. Copies do not change its Steps, while the trainee's own count jumps.
	states.Member
	cause      error              // of the last failure, which may be over
	original   map[string]float64 // the hyperparameters before the first mutation, where there was one
	mutation   string             // what that did, where the population evolves
	metrics    map[string]float64
	evaluation map[string]float64 // the figures of the last evaluation
	// snapshot is of the present state; nil when not taken since the state changed.
	snapshot *checkpoint.Snapshot
}

// wrapMember says which member an error is of; nil stays nil.
func wrapMember(id int, err error) error {
	if err != nil {
		return fmt.Errorf("pbt: member %d: %w", id, err)
	}
	return nil
}

// status returns what strategies see of the member, sharing no memory with it. Weights that are not finite make the
// objective NaN, whatever was measured, so that every strategy treats the member as diverged.
func (m *member) status() strategy.Status {
	s := strategy.Status{
		Member: m.id, Steps: m.Steps, Failed: m.Failure != "", Iteration: m.MeasuredAt, WeightSteps: m.weightSteps(),
		SinceCopy: m.Steps - m.CopiedAt, SinceChange: m.Steps - max(m.CopiedAt, m.ChangedAt), Samples: m.Samples,
		Hyperparameters: maps.Clone(m.Hyperparameters),
	}
	s.Objective, s.HasObjective = m.objective()
	if peak, ok := m.Peak.Known(); ok {
		s.Peak, s.HasPeak = m.opt.Measure.signed(peak), true
	}
	for _, x := range m.Scores {
		s.Scores = append(s.Scores, m.opt.Measure.signed(float64(x)))
	}
	if m.Diverged != "" {
		s.NotFinite, s.Objective, s.HasObjective, s.Peak, s.HasPeak = true, math.NaN(), true, 0, false
	}
	return s
}

// weightSteps returns the environment steps behind the present weights: those of the copied weights at the last copy,
// and the member's own since.
func (m *member) weightSteps() int64 { return m.Inherited + m.Steps - m.CopiedAt }

// objective returns the objective, of which more is better, as strategies see it.
func (m *member) objective() (objective float64, known bool) {
	if figure, ok := m.Objective.Known(); ok {
		return m.opt.Measure.signed(figure), true
	}
	return 0, false
}

// train advances the member to the interval's end, or by about most environment steps if most is not 0. It calls
// report after each part of Options.ProgressSteps. An error or a panic of the trainee makes the member a failed one;
// it does not end the population. A misspelt objective ends the population: train returns that error.
func (m *member) train(ctx context.Context, iteration, most int64, report func()) error {
	target := m.opt.target(iteration)
	if most > 0 {
		target = min(target, m.Steps+most)
	}
	for m.Failure == "" && m.Steps < target && ctx.Err() == nil {
		m.snapshot = nil
		end := m.opt.pause(iteration, m.Steps)
		stop := min(m.opt.nextObjectiveCheck(m.metrics, iteration, m.Steps, end), target)
		if err := guarded(func() error { return m.advance(ctx, iteration, stop, end) }); err != nil {
			if errors.Is(err, ErrBroken) {
				return err
			}
			m.fail(iteration, err)
			return nil
		}
		if m.Figure == "" {
			if err := m.opt.checkObjective(m.metrics, iteration); err != nil {
				return wrapMember(m.id, err)
			}
		}
		if m.Steps >= end {
			report()
		}
	}
	return nil
}

// trains reports whether the member still has environment steps to train in an interval.
func (m *member) trains(iteration int64) bool {
	return m.Failure == "" && m.Steps < m.opt.target(iteration)
}

// advance trains until the member has stop own environment steps, and reads the objective where that reaches end. It
// returns earlier only when the context is cancelled meanwhile; the objective then stays as it was, so that an
// interrupted and resumed run measures the same as an uninterrupted one.
func (m *member) advance(ctx context.Context, iteration, stop, end int64) error {
	// The trainee's own count jumps when it restores a copy, so only the difference is this member's.
	before, steps := m.trainee.Steps(), stop-m.Steps
	err := m.trainee.Train(ctx, steps)
	trained := m.trainee.Steps() - before
	m.Steps += max(trained, 0)
	// An error is the member's failure, unless it only says that the context was cancelled.
	stopped := ctx.Err() != nil
	if err != nil && !(stopped && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))) {
		return err
	}
	if trained < 0 || trained == 0 && !stopped {
		return fmt.Errorf("Train(%d) changed the number of environment steps by %d; it must advance", steps, trained)
	}
	m.metrics = maps.Clone(m.trainee.Metrics())
	m.Hyperparameters = maps.Clone(m.trainee.Hyperparameters())
	if m.Steps >= end {
		m.read(iteration)
	}
	return nil
}

// fail makes the member a failed one. It does not train until another member's weights rescue it.
func (m *member) fail(iteration int64, err error) {
	m.Failure, m.FailedIteration, m.cause = err.Error(), iteration, err
	m.forget()
}

// forget drops everything known about the weights that the member had before: they failed, or were replaced.
func (m *member) forget() {
	m.snapshot, m.metrics, m.evaluation = nil, nil, nil
	m.Objective, m.Peak, m.Figure, m.Diverged = nil, nil, "", ""
	m.MeasuredAt, m.Samples, m.Readings = 0, 0, nil
	m.Scores, m.ScoredAt = nil, 0
}

// copied notes that the member has just been given a copy of the source.
func (m *member) copied(s source) {
	m.forget()
	m.Failure, m.FailedIteration = "", 0
	m.Parent, m.CopiedAt, m.ChangedAt, m.Inherited = &s.member, m.Steps, 0, s.weightSteps
	m.Scores, m.ScoredAt = slices.Clone(s.scores), s.scoredAt
}

// mutated notes that the member has just changed what it trains with, and kept its weights' history.
func (m *member) mutated() { m.snapshot, m.ChangedAt = nil, m.Steps }

// setHyperparameters sets hyperparameters and reads back which are in effect.
func (m *member) setHyperparameters(values map[string]float64) error {
	if err := m.trainee.SetHyperparameters(maps.Clone(values)); err != nil {
		return fmt.Errorf("hyperparameters: %w", err)
	}
	m.Hyperparameters = maps.Clone(m.trainee.Hyperparameters())
	return nil
}

// snapshotOf returns the member's snapshot. It is taken once and kept until the member's state changes.
func (m *member) snapshotOf() (*checkpoint.Snapshot, error) {
	if m.snapshot != nil {
		return m.snapshot, nil
	}
	if m.trainee == nil {
		return nil, errors.New("snapshot: the member has diverged, and the process that had its weights has ended")
	}
	err := guarded(func() (err error) {
		m.snapshot, err = m.trainee.Snapshot()
		return err
	})
	if err == nil && m.snapshot == nil {
		err = errors.New("the trainee returned no snapshot")
	}
	if err != nil {
		m.snapshot = nil
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return m.snapshot, nil
}

// event returns a journal's event of where the member stands.
func (m *member) event(iteration int64, kind journal.Kind, cause string) journal.Event {
	e := journal.Event{
		Kind: kind, Iteration: iteration, Member: m.id, Parent: -1, Steps: m.Steps,
		Before: maps.Clone(m.Hyperparameters), Cause: cause,
	}
	e.Objective, e.HasObjective = m.Objective.Known()
	return e
}

// notify calls Options.Progress: with progress within an interval, or, with e, an event of the journal.
func (m *member) notify(iteration int64, e *journal.Event) {
	if m.opt.Progress == nil {
		return
	}
	u := Update{Iteration: iteration, TargetSteps: m.opt.target(iteration), Status: m.status(), Event: e}
	if e == nil {
		u.Metrics = maps.Clone(m.metrics)
	} else {
		u.Iteration = e.Iteration
		if e.Kind == journal.Failed {
			u.Err = m.cause
		}
	}
	m.opt.Progress(u)
}

// trouble returns the event of a member that failed or diverged in an interval, nil for others.
func (m *member) trouble(iteration int64) []journal.Event {
	switch {
	case m.Failure != "" && m.FailedIteration == iteration:
		return []journal.Event{m.event(iteration, journal.Failed, m.Failure)}
	case m.Failure == "" && m.Diverged != "":
		e := m.event(iteration, journal.Diverged, m.Diverged)
		e.Objective, e.HasObjective = 0, false // the decision's event has it
		return []journal.Event{e}
	}
	return nil
}

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

// signed turns a figure into an objective and back. A higher objective is always better. Strategies see objectives;
// journals, tables and results have figures.
func (m Measure) signed(x float64) float64 {
	if m.Minimise {
		return -x
	}
	return x
}

// read takes the objective from the trainee's latest figures. If they do not have it, or not enough measurements of it,
// the objective stays as it was.
func (m *member) read(iteration int64) {
	w := m.opt.Measure
	if w.EvaluationEpisodes > 0 { // that is the only measurement
		return
	}
	name, value, ok := figureOf(m.metrics, m.opt.Objective, m.Figure)
	if !ok {
		return
	}
	m.Figure = name
	if n := max(w.Window, w.MinSamples); n > 0 {
		samples := m.measurements(value, n)
		m.Samples = len(samples)
		if len(samples) < w.MinSamples {
			return
		}
		if w.Window > 0 {
			value = w.Reducer.reduce(samples[max(0, len(samples)-w.Window):], w.Minimise)
		}
	}
	m.set(iteration, value)
}

// measurements returns up to n of the latest measurements behind the figure: the trainee's own, or else the readings
// since the last copy, to which this value is added.
func (m *member) measurements(value float64, n int) []float64 {
	if s, ok := m.trainee.(Sampler); ok {
		if samples := s.Samples(m.Figure, n); len(samples) > 0 {
			return samples[max(0, len(samples)-n):]
		}
	}
	m.Readings = append(m.Readings, number.JSON(value))
	m.Readings = slices.Delete(m.Readings, 0, max(0, len(m.Readings)-n))
	readings := make([]float64, len(m.Readings))
	for i, x := range m.Readings {
		readings[i] = float64(x)
	}
	return readings
}

// set sets the objective of an interval from a figure, and the peak within the interval.
func (m *member) set(iteration int64, figure float64) {
	m.Objective, m.MeasuredAt = number.Optional(figure, true), iteration
	signed := m.opt.Measure.signed
	if peak, ok := m.Peak.Known(); number.Finite(figure) && (!ok || signed(figure) > signed(peak)) {
		m.Peak = m.Objective
	}
}

// measureEnd completes what is known of a member at an interval's end: by the separate evaluation of
// Measure.EvaluationEpisodes, and whether its weights are finite, unless the objective tells already. They can be NaN
// while the figures still look well: episodes may have ended before the update that spoilt the weights. A member whose
// snapshot cannot be taken is not judged by it. A cancelled context leaves it incomplete; it is then done again.
func (m *member) measureEnd(ctx context.Context, iteration int64) {
	if m.Failure != "" {
		return
	}
	if w := m.opt.Measure; w.EvaluationEpisodes > 0 {
		var figures map[string]float64
		if err := guarded(func() (err error) {
			figures, err = m.trainee.(Evaluator).EvaluateMetrics(ctx, w.EvaluationEpisodes, w.EvaluationSeed)
			return err
		}); err != nil {
			if ctx.Err() == nil {
				m.fail(iteration, fmt.Errorf("evaluation: %w", err))
			}
			return
		}
		m.evaluation = maps.Clone(figures)
		if name, value, ok := figureOf(figures, m.opt.Objective, m.Figure); ok {
			m.Figure, m.Samples = name, w.EvaluationEpisodes
			m.set(iteration, value)
		}
	}
	m.Diverged = ""
	if figure, ok := m.Objective.Known(); ok && !number.Finite(figure) {
		return
	}
	snapshot, err := m.snapshotOf()
	if err != nil {
		return
	}
	if err := snapshot.CheckFinite(); err != nil {
		m.Diverged = fmt.Sprintf("weights: %v", err)
	}
}
