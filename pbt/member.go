package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Trainee is what a population trains: usually an agent with its environment. A trainee is used by one goroutine at
// a time; several trainees are used at once.
type Trainee interface {
	// Train advances by about that many environment steps. It returns early with the context's error when the
	// context is cancelled, in a state from which it can continue.
	Train(ctx context.Context, steps int64) error
	// Steps is the number of environment steps behind the present weights. Restore may change it.
	Steps() int64
	// Metrics are the latest known figures, e.g. "episode.return", "episode.length", "style_reward". A figure that
	// is not known yet is absent.
	Metrics() map[string]float64
	// Hyperparameters are the settings that may change while training.
	Hyperparameters() map[string]float64
	// SetHyperparameters changes some of them, all or (on error) none.
	SetHyperparameters(values map[string]float64) error
	// Snapshot returns everything needed to continue from here, not sharing memory with the trainee.
	Snapshot() (*checkpoint.Snapshot, error)
	// Restore puts a snapshot of this or of another member back, all or (on error) nothing. It only reads the
	// snapshot, which several members may be given.
	Restore(snapshot *checkpoint.Snapshot) error
	// Close releases what the trainee holds. It may be called twice.
	Close() error
}

// Reseeder is implemented by trainees whose snapshots carry random states. Reseed gives a copy random numbers of its
// own, so that it and its source do not explore in step. It is also where a trainee forgets figures that belong to the
// weights it had before, such as the returns of episodes that they began.
//
// Reseed is called after a member has been given another's weights by Restore, and at no other time: not where a member
// is put back to its own snapshot, nor where it is built anew with its own weights.
type Reseeder interface {
	// Reseed starts the trainee's random sequences anew from seed.
	Reseed(seed int64) error
}

// Planner is implemented by trainees with settings that depend on how long they train, such as a learning rate that
// falls to 0 at the end.
type Planner interface {
	// Plan says how many environment steps the trainee will have trained in the end. It comes before Restore and Train.
	Plan(steps int64)
}

// Member is what Options.New builds a trainee from.
type Member struct {
	// ID is the member's number, 0 to N-1.
	ID int
	// Seed is derived from Options.Seed and ID; it is not negative.
	Seed int64
	// Hyperparameters are those of Options.Initial and Options.Sample, or, where a member is built anew, its present
	// ones. New may use them or leave them: the population sets them afterwards.
	Hyperparameters map[string]float64
	// Restoring is the snapshot that the trainee is given right after it is built: its own where it continues or is built
	// anew, another member's where it takes over weights. New builds networks of the shapes that the snapshot records,
	// where those may change, and otherwise does not need it. It is only to be read; nil for a new member.
	Restoring *checkpoint.Snapshot
}

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
		stop := min(m.nextObjectiveCheck(iteration, end), target)
		if err := guarded(func() error { return m.advance(ctx, iteration, stop, end) }); err != nil {
			m.fail(iteration, err)
			return nil
		}
		if err := m.checkObjective(iteration); err != nil {
			return err
		}
		if m.steps >= end {
			report()
		}
	}
	return nil
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

// tell calls Options.Progress: with progress within an interval, or, with e, an event of the journal.
func (m *member) tell(iteration int64, e *journal.Event) {
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

// Every use of randomness has a stream of its own, numbered by these constants, so that one more draw in one place
// never shifts the draws in another. Journals depend on the numbers: new uses are added at the end.
const (
	streamSeed      = iota + 1 // a member's seed
	streamSample               // a member's initial hyperparameters
	streamDecide               // the strategy, per iteration
	streamMutate               // a member's mutation, per iteration
	streamReseed               // a copy's new seed, per iteration and member
	streamRebuild              // a trainee built anew, per iteration and member
	streamDiversify            // a member's first mutation, before training
	streamFit                  // an explorer that fits a model, per iteration
)

// derive mixes numbers into one seed (the finaliser of SplitMix64 over a running sum).
func derive(parts ...int64) uint64 {
	var h uint64
	for _, p := range parts {
		h += uint64(p) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// stream returns random numbers that depend on parts alone: a seed, the purpose, and further numbers such as the
// iteration.
func stream(parts ...int64) *rand.Rand {
	return rand.New(rand.NewPCG(derive(parts...), derive(append(parts, -1)...)))
}

// rng is the member's random numbers for one purpose (a stream constant) in one iteration.
func (m *member) rng(purpose, iteration int64) *rand.Rand {
	return stream(m.opt.Seed, purpose, iteration, int64(m.id))
}

// derive is a seed of the member's own for one purpose (a stream constant) in one iteration.
func (m *member) derive(purpose, iteration int64) int64 {
	return seed(m.opt.Seed, purpose, iteration, int64(m.id))
}

// seed derives a seed that is not negative.
func seed(parts ...int64) int64 { return int64(derive(parts...) >> 1) }

// PanicError is a panic of a trainee, which makes the member fail, or of Options.New or another function of the
// options. It is the same type as envs.PanicError.
//
// The error's text has the value of the panic and up to three functions with file and line: the function that
// panicked, and its first callers in user code. Value is the argument of panic; Unwrap returns Value if it is an
// error. Stack is the whole stack.
type PanicError = panics.Error

// guarded calls f and turns a panic into a *PanicError, so that one member's bug does not end the other members'
// training.
func guarded(f func() error) error { return panics.Guard("", f) }
