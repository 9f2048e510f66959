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

// Place is where one policy of a decentralised population trains.
type Place struct {
	// Policy is its number, 0 to Options.Members-1.
	Policy int
	// Board is all that the policies share; its number of policies is Options.Members.
	Board workspace.Board
	// Synchronous makes the policies wait for each other at every interval's end. All then decide from the same
	// records, as a [Population] with the same options does. Policies that are silent, that failed or that trained to the
	// end hold nobody up. By default nobody waits.
	Synchronous bool
	// Slack is how many iterations newer than its own the records may be that a policy looks at. Default 0: only peers
	// of equal or less experience. Synchronous policies look at records of the very same iteration.
	Slack int64
	// Heartbeat is how often a sign of life is given. Default 10 s.
	Heartbeat time.Duration
	// Silence is how long a policy may give none before the others go on without it. Default 5 minutes.
	Silence time.Duration
	// SaveSteps is the number of own steps after which the private state is saved also within an interval. Default 0:
	// at interval ends only.
	SaveSteps int64
	// Slice is the number of intervals after which Train returns ErrYield, so that more policies than there is room for
	// take turns; a policy that would have to wait for others then yields as well. Default 0: never.
	Slice int64
	// RestartProcess makes Train return ErrRestart where a member would be built anew, for environments that can be made
	// only once in a process. The first trainee is built in Join, from the new hyperparameters.
	RestartProcess bool
	// Experiment is the run's name, for the records.
	Experiment string
	// Clock makes the policy wait. Default: the machine's.
	Clock Clock

	// slots, when not nil, is what the policies of one process wait in to train.
	slots chan struct{}
	// journals, when not nil, are all journals there are in this process.
	journals func() []Event
}

// Clock is what a policy waits by. Whether others are alive is told by the board's own clock.
type Clock interface {
	// After sends once when d has passed.
	After(d time.Duration) <-chan time.Time
}

type machineClock struct{}

func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (p Place) withDefaults() Place {
	if p.Heartbeat == 0 {
		p.Heartbeat = 10 * time.Second
	}
	if p.Silence == 0 {
		p.Silence = 5 * time.Minute
	}
	if p.Clock == nil {
		p.Clock = machineClock{}
	}
	return p
}

func (p Place) validate(o *Options) error {
	switch {
	case p.Board == nil:
		return errors.New("pbt: Place.Board is nil; give the board that the policies share, e.g. workspace.OpenFolder")
	case p.Board.Policies() != o.Members:
		return fmt.Errorf("pbt: Place.Board is one of %d policies, and Options.Members is %d; they must be equal", p.Board.Policies(), o.Members)
	case p.Policy < 0 || p.Policy >= o.Members:
		return fmt.Errorf("pbt: Place.Policy is %d; policies are 0 to %d", p.Policy, o.Members-1)
	case p.Synchronous && o.Asynchronous:
		return errors.New("pbt: Place.Synchronous and Options.Asynchronous contradict each other; set one of the two at most")
	case p.Slack < 0 || p.SaveSteps < 0 || p.Slice < 0:
		return fmt.Errorf("pbt: Place.Slack is %d, SaveSteps %d, Slice %d; give 0 or more", p.Slack, p.SaveSteps, p.Slice)
	case p.Heartbeat < 0 || p.Silence < p.Heartbeat:
		return fmt.Errorf("pbt: Place.Heartbeat is %v and Silence %v; Silence must be several heartbeats", p.Heartbeat, p.Silence)
	}
	return nil
}

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
	seat    workspace.Seat
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
	kept      string               // the name of the snapshot saved last
	keptOf    *checkpoint.Snapshot // which that is, nil where not known
	savedAt   int64                // the own steps at the last save
	joined    time.Time            // by the board's clock
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
// another process holds the policy, Join waits until the context ends, see [workspace.Board]. Nothing is trained.
//
// Options mean what they mean to [New], with these exceptions: Directory and Parallel are not looked at, New is called
// for this one policy only, and Progress is told about it only. Decisions of policies that do not wait for each other
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
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
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
	s.pulse.begin(s.seat, s.place)
	saved, err := s.load()
	if err != nil {
		return err
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

// Recovered is nil, or says what was damaged in the policy's folder, so that Join used the state before it.
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
