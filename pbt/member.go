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

	// steps are environment steps trained by this member; copies do not change them, while the trainee's own count
	// jumps.
	steps int64
	// copiedAt are the steps at the last copy, and inherited the steps that were behind the copied weights.
	copiedAt, inherited int64
	// changedAt are the steps at the last copy or, if that was later, at the last mutation of the member's own.
	changedAt int64
	// parent is the member whose weights were copied last, -1 for none.
	parent int

	measured

	failure         string // "" while the member trains
	cause           error  // of the last failure, which may be over
	failedIteration int64

	hyperparameters map[string]float64
	original        map[string]float64 // those before the first mutation, where there was one
	mutation        string             // what that did, where the population evolves
	metrics         map[string]float64
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
		Member: m.id, Steps: m.steps, Objective: m.objective, HasObjective: m.hasObjective, Failed: m.failure != "",
		Iteration: m.measuredAt, WeightSteps: m.weightSteps(), SinceCopy: m.steps - m.copiedAt,
		SinceChange: m.steps - m.changedAt,
		Peak:        m.peak, HasPeak: m.hasPeak, Samples: m.samples, Scores: slices.Clone(m.scores),
		Hyperparameters: maps.Clone(m.hyperparameters),
	}
	if m.diverged != "" {
		s.NotFinite, s.Objective, s.HasObjective, s.Peak, s.HasPeak = true, math.NaN(), true, 0, false
	}
	return s
}

// weightSteps returns the environment steps behind the present weights: those of the copied weights at the last copy,
// and the member's own since.
func (m *member) weightSteps() int64 { return m.inherited + m.steps - m.copiedAt }

// train advances the member to the interval's end, or by about most environment steps if most is not 0. It calls
// report after each part of Options.ProgressSteps. An error or a panic of the trainee makes the member a failed one;
// it does not end the population. A misspelt objective ends the population: train returns that error.
func (m *member) train(ctx context.Context, iteration, most int64, report func()) error {
	target := m.opt.target(iteration)
	if most > 0 {
		target = min(target, m.steps+most)
	}
	for m.failure == "" && m.steps < target && ctx.Err() == nil {
		m.snapshot = nil
		end := m.opt.pause(iteration, m.steps)
		stop := min(m.opt.nextObjectiveCheck(m.metrics, iteration, m.steps, end), target)
		if err := guarded(func() error { return m.advance(ctx, iteration, stop, end) }); err != nil {
			if errors.Is(err, ErrBroken) {
				return err
			}
			m.fail(iteration, err)
			return nil
		}
		if m.figure == "" {
			if err := m.opt.checkObjective(m.metrics, iteration); err != nil {
				return wrapMember(m.id, err)
			}
		}
		if m.steps >= end {
			report()
		}
	}
	return nil
}

// trains reports whether the member still has environment steps to train in an interval.
func (m *member) trains(iteration int64) bool {
	return m.failure == "" && m.steps < m.opt.target(iteration)
}

// advance trains until the member has stop own environment steps, and reads the objective where that reaches end. It
// returns earlier only when the context is cancelled meanwhile; the objective then stays as it was, so that an
// interrupted and resumed run measures the same as an uninterrupted one.
func (m *member) advance(ctx context.Context, iteration, stop, end int64) error {
	// The trainee's own count jumps when it restores a copy, so only the difference is this member's.
	before, steps := m.trainee.Steps(), stop-m.steps
	err := m.trainee.Train(ctx, steps)
	trained := m.trainee.Steps() - before
	m.steps += max(trained, 0)
	// An error is the member's failure, unless it only says that the context was cancelled.
	stopped := ctx.Err() != nil
	if err != nil && !(stopped && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))) {
		return err
	}
	if trained < 0 || trained == 0 && !stopped {
		return fmt.Errorf("Train(%d) changed the number of environment steps by %d; it must advance", steps, trained)
	}
	m.metrics = maps.Clone(m.trainee.Metrics())
	m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
	if m.steps >= end {
		m.read(iteration)
	}
	return nil
}

// fail makes the member a failed one. It does not train until another member's weights rescue it.
func (m *member) fail(iteration int64, err error) {
	m.failure, m.failedIteration, m.cause = err.Error(), iteration, err
	m.forget()
}

// forget drops everything known about the weights that the member had before: they failed, or were replaced.
func (m *member) forget() {
	m.snapshot, m.metrics, m.measured = nil, nil, measured{}
}

// copied notes that the member has just been given a copy of the source.
func (m *member) copied(s source) {
	m.forget()
	m.failure, m.failedIteration = "", 0
	m.parent, m.copiedAt, m.changedAt, m.inherited = s.member, m.steps, m.steps, s.weightSteps
	m.scores, m.scoredAt = slices.Clone(s.scores), s.scoredAt
}

// mutated notes that the member has just changed what it trains with, and kept its weights' history.
func (m *member) mutated() { m.snapshot, m.changedAt = nil, m.steps }

// setHyperparameters sets hyperparameters and reads back which are in effect.
func (m *member) setHyperparameters(values map[string]float64) error {
	if err := m.trainee.SetHyperparameters(maps.Clone(values)); err != nil {
		return fmt.Errorf("hyperparameters: %w", err)
	}
	m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
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
	return journal.Event{
		Kind: kind, Iteration: iteration, Member: m.id, Parent: -1, Steps: m.steps,
		Objective: m.opt.Measure.signed(m.objective), HasObjective: m.hasObjective,
		Before: maps.Clone(m.hyperparameters), Cause: cause,
	}
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
	case m.failure != "" && m.failedIteration == iteration:
		return []journal.Event{m.event(iteration, journal.Failed, m.failure)}
	case m.failure == "" && m.diverged != "":
		e := m.event(iteration, journal.Diverged, m.diverged)
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
		samples := m.measurements(value, n)
		m.samples = len(samples)
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
		if samples := s.Samples(m.figure, n); len(samples) > 0 {
			return samples[max(0, len(samples)-n):]
		}
	}
	m.readings = append(m.readings, value)
	m.readings = slices.Delete(m.readings, 0, max(0, len(m.readings)-n))
	return m.readings
}

// set sets the objective of an interval from a figure, and the peak within the interval.
func (m *member) set(iteration int64, figure float64) {
	m.objective, m.hasObjective, m.measuredAt = m.opt.Measure.signed(figure), true, iteration
	if number.Finite(m.objective) && (!m.hasPeak || m.objective > m.peak) {
		m.peak, m.hasPeak = m.objective, true
	}
}

// measureEnd completes what is known of a member at an interval's end: by the separate evaluation of
// Measure.EvaluationEpisodes, and whether its weights are finite, unless the objective tells already. They can be NaN
// while the figures still look well: episodes may have ended before the update that spoilt the weights. A member whose
// snapshot cannot be taken is not judged by it. A cancelled context leaves it incomplete; it is then done again.
func (m *member) measureEnd(ctx context.Context, iteration int64) {
	if m.failure != "" {
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
		if name, value, ok := figureOf(figures, m.opt.Objective, m.figure); ok {
			m.figure, m.samples = name, w.EvaluationEpisodes
			m.set(iteration, value)
		}
	}
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
