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

// member is a trainee and what its population remembers about it. It knows the options but not the population: a
// [Worker] has one member only.
type member struct {
	opt     *Options
	id      int
	trainee Trainee
	seed    int64
	// restartProcess makes building the trainee anew an *errNewProcess.
	restartProcess bool

	// steps are environment steps trained by this member; copies do not change them, while the trainee's own count jumps.
	steps int64
	// copiedAt are the steps at the last copy, and inherited the steps that were behind the copied weights.
	copiedAt, inherited int64
	// changedAt are the steps at the last copy or, if that was later, at the last mutation of the member's own.
	changedAt int64
	// parent is the member whose weights were copied last, -1 for none.
	parent int

	// What is known of the present weights. The objective is one of which more is better.
	objective    float64
	hasObjective bool
	measuredAt   int64     // the interval it belongs to, 0 for none
	samples      int       // measurements behind it
	readings     []float64 // the last figures read, where the trainee has no samples of its own
	figure       string    // the name that the objective goes by, "" while unknown
	peak         float64   // the best objective in the interval
	hasPeak      bool
	scores       []float64 // the objectives at interval ends that the weights went through, the last at scoredAt
	scoredAt     int64
	diverged     string // why the weights cannot be used although the member trains, "" when they can

	failure         string // "" while the member trains
	cause           error  // of the last failure, which may be over
	failedIteration int64

	hyperparameters map[string]float64
	original        map[string]float64 // those before the first mutation, where there was one
	mutation        string             // what that did, where the population evolves
	metrics         map[string]float64
	evaluation      map[string]float64 // the figures of the last evaluation
	saved           string             // the name of its last saved snapshot, "" for none
	// snapshot is of the present state; nil when not taken since the state changed.
	snapshot *checkpoint.Snapshot
}

// newMember builds a member through Options.New and sets its hyperparameters. With saved it is put back to how it was saved;
// snapshot may be nil for a member that failed before it had one. Otherwise Options.Diversify applies. On error nothing is
// left open.
func newMember(o *Options, id int, saved *savedMember, snapshot *checkpoint.Snapshot) (m *member, err error) {
	m = &member{opt: o, id: id, parent: -1, seed: seed(o.Seed, streamSeed, int64(id))}
	values := o.initial(id)
	if saved != nil {
		m.load(*saved)
		values = saved.Hyperparameters.Floats()
	}
	// New may use the values, but need not: they are set below in any case.
	if m.trainee, err = o.construct(Member{ID: id, Seed: m.seed, Hyperparameters: values, Restoring: snapshot}); err != nil {
		return nil, wrapMember(id, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, guarded(m.trainee.Close))
			m = nil
		}
	}()
	if err := guarded(func() error { return o.checkMember(id, values, m.trainee) }); err != nil {
		return m, err
	}
	// Weights first, hyperparameters last: a snapshot holds settings, such as the optimizer's rate, that Restore puts back.
	return m, wrapMember(id, guarded(func() error {
		if snapshot != nil {
			if err := m.trainee.Restore(snapshot); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
		if len(values) > 0 {
			if err := m.trainee.SetHyperparameters(values); err != nil {
				return err
			}
		}
		m.hyperparameters = maps.Clone(m.trainee.Hyperparameters())
		if saved == nil {
			return m.diversify()
		}
		return nil
	}))
}

// construct calls Options.New with a copy of the hyperparameters, and tells the trainee how long it will train. A panic, or a nil trainee, is an error.
func (o *Options) construct(m Member) (t Trainee, err error) {
	m.Hyperparameters = maps.Clone(m.Hyperparameters)
	err = guarded(func() (err error) {
		t, err = o.New(m)
		if p, ok := t.(Planner); ok && err == nil && o.TotalSteps > 0 {
			p.Plan(o.TotalSteps)
		}
		return err
	})
	if err == nil && t == nil {
		err = errors.New("New returned nothing")
	}
	return t, err
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
		Iteration: m.measuredAt, WeightSteps: m.weightSteps(), SinceCopy: m.steps - m.copiedAt, SinceChange: m.steps - m.changedAt,
		Peak: m.peak, HasPeak: m.hasPeak, Samples: m.samples, Scores: slices.Clone(m.scores), Hyperparameters: maps.Clone(m.hyperparameters),
	}
	if m.diverged != "" {
		s.NotFinite, s.Objective, s.HasObjective, s.Peak, s.HasPeak = true, math.NaN(), true, 0, false
	}
	return s
}

// weightSteps returns the environment steps behind the present weights: those of the copied weights at the last copy, and
// the member's own since.
func (m *member) weightSteps() int64 { return m.inherited + m.steps - m.copiedAt }

// train advances the member to the interval's end, in parts of Options.ProgressSteps, and calls tell after each. An error or
// a panic of the trainee makes the member a failed one; it does not end the population.
func (m *member) train(ctx context.Context, iteration int64, tell func()) {
	for target := m.opt.target(iteration); m.failure == "" && m.steps < target && ctx.Err() == nil; {
		m.snapshot = nil
		end := m.opt.pause(iteration, m.steps)
		if err := guarded(func() error { return m.advance(ctx, iteration, end, end) }); err != nil {
			m.fail(iteration, err)
			return
		}
		tell()
	}
}

// advance trains until the member has stop own steps, and reads the objective where that reaches end. It returns earlier
// only when the context is cancelled meanwhile; the objective then stays as it was, so that an interrupted and resumed run
// measures the same as an uninterrupted one.
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
		return fmt.Errorf("Train(%d) changed the number of steps by %d; it must advance", steps, trained)
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
	m.snapshot, m.metrics, m.evaluation, m.readings = nil, nil, nil, nil
	m.objective, m.hasObjective, m.measuredAt, m.samples = 0, false, 0, 0
	m.peak, m.hasPeak, m.figure, m.diverged = 0, false, "", ""
	m.scores, m.scoredAt = nil, 0
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
		Objective: m.opt.Measure.signed(m.objective), HasObjective: m.hasObjective, Before: maps.Clone(m.hyperparameters), Cause: cause,
	}
}

// update returns what Options.Progress is called with: progress within an interval, or, with e, an event of the journal.
func (m *member) update(iteration int64, e *journal.Event) Update {
	u := Update{Iteration: iteration, TargetSteps: m.opt.target(iteration), Status: m.status(), Event: e}
	if e == nil {
		u.Metrics = maps.Clone(m.metrics)
		return u
	}
	u.Iteration = e.Iteration
	if e.Kind == journal.Failed {
		u.Err = m.cause
	}
	return u
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

// savedMember is a member in a state file: everything that continuing needs beside its snapshot. Objectives are saved as
// figures, so that people can read the file.
type savedMember struct {
	Steps           int64        `json:"steps"`
	Parent          *int         `json:"parent,omitempty"`
	Objective       *number.JSON `json:"objective,omitempty"`
	Failure         string       `json:"failure,omitempty"`
	FailedIteration int64        `json:"failed_iteration,omitempty"`
	Hyperparameters number.Map   `json:"hyperparameters"`
	// CopiedAt are the member's steps when it last took over weights, Inherited the steps behind those.
	CopiedAt  int64 `json:"copied_at,omitempty"`
	Inherited int64 `json:"inherited,omitempty"`
	// ChangedAt are the member's steps when it last mutated itself, where that was after CopiedAt.
	ChangedAt int64 `json:"changed_at,omitempty"`
	// MeasuredAt is the interval that Objective belongs to.
	MeasuredAt int64         `json:"measured_at,omitempty"`
	Samples    int           `json:"samples,omitempty"`
	Readings   []number.JSON `json:"readings,omitempty"`
	Figure     string        `json:"figure,omitempty"`
	Peak       *number.JSON  `json:"peak,omitempty"`
	Diverged   string        `json:"diverged,omitempty"`
	// Scores are those that the weights went through, the last of them of the interval ScoredAt.
	Scores   []number.JSON `json:"scores,omitempty"`
	ScoredAt int64         `json:"scored_at,omitempty"`
	// Snapshot is the name of the member's snapshot in its folder, "" for none.
	Snapshot string `json:"snapshot,omitempty"`
}

// state returns the member as it is saved; snapshot is the name of its snapshot, "" for none.
func (m *member) state(snapshot string) savedMember {
	s := savedMember{
		Steps: m.steps, Failure: m.failure, FailedIteration: m.failedIteration, Hyperparameters: number.MapOf(m.hyperparameters),
		CopiedAt: m.copiedAt, Inherited: m.inherited, MeasuredAt: m.measuredAt, Samples: m.samples, Figure: m.figure, Diverged: m.diverged,
		ScoredAt: m.scoredAt, Snapshot: snapshot,
	}
	if parent := m.parent; parent >= 0 {
		s.Parent = &parent
	}
	if m.hasObjective {
		objective := number.JSON(m.opt.Measure.signed(m.objective))
		s.Objective = &objective
	}
	if m.hasPeak {
		peak := number.JSON(m.opt.Measure.signed(m.peak))
		s.Peak = &peak
	}
	if m.changedAt > m.copiedAt {
		s.ChangedAt = m.changedAt
	}
	for _, r := range m.readings {
		s.Readings = append(s.Readings, number.JSON(r))
	}
	for _, x := range m.scores {
		s.Scores = append(s.Scores, number.JSON(m.opt.Measure.signed(x)))
	}
	return s
}

// load puts the member back to how state saved it.
func (m *member) load(s savedMember) {
	m.steps, m.parent, m.saved = s.Steps, s.parent(), s.Snapshot
	m.failure, m.failedIteration = s.Failure, s.FailedIteration
	m.copiedAt, m.inherited, m.measuredAt = s.CopiedAt, s.Inherited, s.MeasuredAt
	m.changedAt = max(s.CopiedAt, s.ChangedAt)
	m.samples, m.figure, m.diverged = s.Samples, s.Figure, s.Diverged
	if s.Objective != nil {
		m.objective, m.hasObjective = m.opt.Measure.signed(float64(*s.Objective)), true
	}
	if s.Peak != nil {
		m.peak, m.hasPeak = m.opt.Measure.signed(float64(*s.Peak)), true
	}
	for _, r := range s.Readings {
		m.readings = append(m.readings, float64(r))
	}
	m.scoredAt = s.ScoredAt
	for _, x := range s.Scores {
		m.scores = append(m.scores, m.opt.Measure.signed(float64(x)))
	}
}

// parent returns the member copied last, -1 for none.
func (s savedMember) parent() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}
