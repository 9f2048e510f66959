package pbt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

var (
	// ErrYield is returned, wrapped, by [Solo.Train] after Place.Slice intervals: everything is saved, and the policy
	// is to be joined again when there is room for it.
	ErrYield = errors.New("the policy gives its place to another for a while")
	// ErrRestart is returned, wrapped, by [Solo.Train] where Place.RestartProcess is set and a hyperparameter asks for
	// a new process: everything is saved, and the policy is to be joined again at once.
	ErrRestart = errors.New("the process must be started again for the new hyperparameters to take effect")
)

// phase is where a policy is within its interval.
type phase string

const (
	phaseTraining phase = "training"
	// phaseTrained is the interval's end: nothing has been decided.
	phaseTrained phase = "trained"
	// phaseDecided waits for a new process to carry out the decision.
	phaseDecided phase = "decided"
	// phaseFinished is the end of training.
	phaseFinished phase = "finished"
)

// Solo is one policy of a decentralised population: it trains alone and shares nothing with the others but a board. It
// is used by one goroutine at a time, but RequestSave may be called by any.
type Solo struct {
	opt     Options
	place   Place
	seat    workspace.Lease
	m       *member
	journal *journal
	store   *checkpoint.Store // nil on a board in memory

	phase     phase
	iteration int64 // the interval in progress, from 1
	copies    int64 // how often it took over weights
	sequence  int64 // the number of the last save
	known     bool  // whether anybody has ever reported the objective
	best      float64
	hasBest   bool
	pending   *pending // in phaseDecided
	last      *soloRestored
	before    *soloState           // what is in the file of the state before
	kept      string               // the name of the snapshot saved last
	keptOf    *checkpoint.Snapshot // which that is, nil where not known
	savedAt   int64                // the own steps at the last save
	joined    time.Time            // by the board's clock
	ahead     map[int]ahead        // by policy
	cause     string               // the last decision's

	recovered error
	fatal     error
	done      bool
	closed    bool

	pulse  pulse
	saving saveRequest
}

// saveRequest interrupts training so that the state can be saved.
type saveRequest struct {
	mu        sync.Mutex
	wanted    bool
	interrupt context.CancelCauseFunc
}

var errSaveRequested = errors.New("the state is to be saved")

// RequestSave makes Train save the private state as soon as the trainee can be interrupted, and go on. It returns at once
// and may be called by any goroutine, such as one that receives signals.
func (s *Solo) RequestSave() {
	s.saving.mu.Lock()
	defer s.saving.mu.Unlock()
	s.saving.wanted = true
	if s.saving.interrupt != nil {
		s.saving.interrupt(errSaveRequested)
	}
}

// interruptible is a context that ends when a save is requested.
func (r *saveRequest) interruptible(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupt = cancel; r.wanted {
		cancel(errSaveRequested)
	}
	return ctx, cancel
}

// taken reports whether a save was requested, and forgets it.
func (r *saveRequest) taken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := r.wanted
	r.wanted = false
	return wanted
}

// Join takes a policy's place in a population of Options.Members, builds its trainee and, where the policy has trained
// before, puts it back to its private state: the same options and place continue where the last process ended. While
// another process holds the policy, Join waits until the context ends, see [workspace.Store]. Nothing is trained.
//
// Options mean what they mean to [New], with these exceptions: Directory and Parallel are not looked at, New is called
// for this one policy only, and Progress is told about it only; Evolve, Target and OnInterval are refused, and strategies
// see no Status.Scores of peers. Decisions of policies that do not wait for each other
// depend on timing, but each is made from the records of peers of equal or less experience by a random stream of its own.
//
// Close leaves the population; others then see the policy as stopped, or as what Train ended with.
func Join(ctx context.Context, opt Options, place Place) (*Solo, error) {
	opt, place = opt.withDefaults(), place.withDefaults()
	if err := place.validate(&opt); err != nil {
		return nil, err
	}
	opt.Asynchronous = false // Place says it
	if err := opt.validate(); err != nil {
		return nil, err
	}
	s := &Solo{opt: opt.clone(), place: place, phase: phaseTraining, iteration: 1}
	if err := s.open(ctx); err != nil {
		s.fail(err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// fail tells the others, as far as that is possible, that the policy, which cannot be joined, is not to be waited for.
func (s *Solo) fail(cause error) {
	if s.pulse.stop == nil || errors.Is(cause, errOtherPopulation) { // it is another process's, or well
		return
	}
	s.pulse.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Note = s.place.Policy, workspace.Failed, cause.Error()
	})
	_ = s.pulse.send()
}

func (s *Solo) open(ctx context.Context) (err error) {
	if s.seat, err = s.place.Board.Join(ctx, s.place.Policy); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	view, err := s.place.Board.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	s.joined = view.Now
	own := view.Members[s.place.Policy]
	s.pulse.begin(s.seat, s.place, own.Heartbeat)
	saved, err := s.load()
	if err != nil {
		return err
	}
	// A policy that comes back after it has yielded at once, since it had to wait, has been waiting all the time.
	if h := own.Heartbeat; saved != nil && saved.state.WaitingSince != nil && h != nil && h.Phase == workspace.Yielded && wentOn(view, own.Seen, s.place.Silence) {
		s.joined = *saved.state.WaitingSince
	}
	var keep int64
	finished := false
	if saved != nil {
		keep, finished = saved.state.JournalLength, saved.state.Phase == phaseFinished
	}
	// The journal goes first: what a new process makes of a pending decision is written to it.
	if s.journal, err = openJournal(s.seat.Dir(), keep, !finished); err != nil {
		return err
	}
	s.place.chronicle.add(s.place.Policy, s.journal.events)
	if err := s.restore(saved); err != nil {
		return err
	}
	if s.place.RestartProcess {
		s.opt.elsewhere = func(values map[string]float64) error { return &elsewhereError{values: values} }
	}
	return s.beat(workspace.Training)
}

// Policy is the policy's number.
func (s *Solo) Policy() int { return s.place.Policy }

// Trainee is the policy's trainee. It changes when the policy is built anew.
func (s *Solo) Trainee() Trainee { return s.m.trainee }

// Status is where the policy stands.
func (s *Solo) Status() Status { return s.m.status() }

// Iteration is the interval in progress, from 1.
func (s *Solo) Iteration() int64 { return s.iteration }

// Copies is how often the policy has taken over weights, Parent from whom it did so last; -1 for nobody.
func (s *Solo) Copies() (copies int64, parent int) { return s.copies, s.m.parent }

// Journal are the policy's own events so far, earlier processes' included. See [ReadWorkspace] for everybody's.
func (s *Solo) Journal() []Event { return append([]Event(nil), s.journal.events...) }

// Recovered is nil, or says what was damaged in the policy's folder, so that Join used the state before it, and, once Train
// has returned, in the best one's.
func (s *Solo) Recovered() error { return s.recovered }

// Close leaves the population and releases the trainee. What was trained since the last save is lost; Train saves when
// its context is cancelled. It may be called twice.
func (s *Solo) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.pulse.end()
	var errs []error
	if s.m != nil && s.m.trainee != nil {
		errs = append(errs, wrapMember(s.m.id, guarded(s.m.trainee.Close)))
	}
	if s.journal != nil {
		errs = append(errs, s.journal.close())
	}
	if s.seat != nil {
		errs = append(errs, s.seat.Release())
	}
	return errors.Join(errs...)
}
