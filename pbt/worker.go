package pbt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

var (
	// ErrYield is returned, wrapped, by [Worker.Train] after WorkerOptions.Slice intervals: everything is saved, and the
	// member is to be joined again when a process is free.
	ErrYield = errors.New("the member gives its place to another for a while")
	// ErrRestart is returned, wrapped, by [Worker.Train] where WorkerOptions.RestartProcess is set and a hyperparameter
	// asks for a new process: everything is saved, and the member is to be joined again at once.
	ErrRestart = errors.New("the process must be started again for the new hyperparameters to take effect")
	// ErrBroken is returned, wrapped, by a trainee or Options.New where no other call can bring the member back in this
	// process, for instance because another process that trains it, too, has died. [Worker.Train] then returns it: nothing
	// is published or saved any more, and a process that joins the member goes on from its private state.
	ErrBroken = errors.New("the member cannot go on in this process")
)

// phase is the part of an interval that a worker is in. It is saved, so that a process that continues after a crash
// does not train, publish or decide twice.
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

// WorkerOptions say how one member takes part in a population of workers.
type WorkerOptions struct {
	// Member is the member's number, 0 to Options.Members-1.
	Member int
	// Store is all that the members share, such as a workspace.OpenFolder; it must be for Options.Members members.
	Store workspace.Store
	// Synchronous makes all members wait for each other at every interval's end, and then decide from the same records,
	// as a [Population] with the same options does. Members that are silent, failed or finished are not waited for. The
	// slowest member sets the pace; use it to compare runs. Default false: members decide alone and never wait.
	Synchronous bool
	// Slack is how many iterations newer than the member's own a peer's record may be. A larger value lets slow members
	// copy faster ones, at the cost of comparing members of unequal experience. Default 0: only peers of equal or less
	// experience. Synchronous members ignore it.
	Slack int64
	// Heartbeat is the time between heartbeats. A smaller value lets others notice a dead process sooner and writes more
	// small files. Default 10 s.
	Heartbeat time.Duration
	// Silence is the time without a heartbeat after which the others treat the member as dead and go on without it. Make
	// it several heartbeats, and with Slice longer than a process takes to start. A smaller value reacts sooner, and gives
	// up members whose file system stalls. Default 5 minutes.
	Silence time.Duration
	// Slice is the number of intervals after which Train returns ErrYield, so that more members than processes take turns;
	// a member that would have to wait for others then yields as well. Default 0: never.
	Slice int64
	// RestartProcess makes Train return ErrRestart where the member would be built anew, for simulators that can be made
	// only once in a process. Join in the next process then builds the trainee from the new hyperparameters.
	RestartProcess bool
	// Experiment is the run's name, for the records.
	Experiment string

	// after replaces time.After in tests.
	after func(d time.Duration) <-chan time.Time
	// slots, when not nil, limits how many members of this process train at once.
	slots chan struct{}
	// sharedJournals, when not nil, are the journals of all members, which are then in this process.
	sharedJournals *sharedJournals
}

// Worker is one member of a decentralised population. It trains alone, shares nothing with its peers but a store, and
// decides about itself at the end of every interval. It is used by one goroutine at a time.
type Worker struct {
	opt     Options
	cfg     WorkerOptions
	lease   workspace.Lease
	m       *member
	journal *journal.Writer
	store   *checkpoint.Store // of private snapshots; nil with a store in memory

	phase     phase
	iteration int64 // the interval in progress, from 1
	copies    int64 // how often it took over weights
	sequence  int64 // the number of the last save
	known     bool  // whether anybody has ever reported the objective
	best      float64
	hasBest   bool
	pending   *pending // in phaseDecided
	last      *restoredWorker
	before    *workerState         // what is in the file of the state before
	kept      string               // the name of the snapshot saved last
	keptOf    *checkpoint.Snapshot // which that is, nil where not known
	savedAt   int64                // the own environment steps at the last save
	joined    time.Time            // by the store's clock
	ahead     map[int]ahead        // by member
	cause     string               // the last decision's

	recovered error
	fatal     error
	done      bool
	closed    bool

	heartbeat heartbeat
}

// withDefaults fills in Heartbeat, Silence and the clock.
func (p WorkerOptions) withDefaults() WorkerOptions {
	if p.Heartbeat == 0 {
		p.Heartbeat = 10 * time.Second
	}
	if p.Silence == 0 {
		p.Silence = 5 * time.Minute
	}
	if p.after == nil {
		p.after = time.After
	}
	return p
}

// validate checks the settings against each other and against the population's options.
func (p WorkerOptions) validate(o *Options) error {
	switch {
	case p.Store == nil:
		return errors.New("pbt: WorkerOptions.Store is nil; give the store that the members share, e.g. workspace.OpenFolder")
	case p.Store.Members() != o.Members:
		return fmt.Errorf("pbt: WorkerOptions.Store is for %d members, and Options.Members is %d; they must be equal",
			p.Store.Members(), o.Members)
	case p.Member < 0 || p.Member >= o.Members:
		return fmt.Errorf("pbt: WorkerOptions.Member is %d; members are 0 to %d", p.Member, o.Members-1)
	case o.Evolve != nil || o.Target != nil || o.OnInterval != nil:
		return errors.New("pbt: Options.Evolve, Target and OnInterval need the whole population at hand; use New, which trains it in one process")
	case p.Slack < 0 || p.Slice < 0:
		return fmt.Errorf("pbt: WorkerOptions.Slack is %d and Slice %d; give 0 or more", p.Slack, p.Slice)
	case p.Heartbeat < 0 || p.Silence < p.Heartbeat:
		return fmt.Errorf("pbt: WorkerOptions.Heartbeat is %v and Silence %v; Silence must be several heartbeats",
			p.Heartbeat, p.Silence)
	}
	return nil
}

// Join takes a member's place in a population of Options.Members, builds its trainee and, where the member has trained
// before, puts it back to its private state: the same options continue where the last process ended. While another
// process holds the member, Join waits until the context ends, see [workspace.Store]. Nothing is trained.
//
// Options mean the same as for [New], with these exceptions: Directory and Parallel are ignored, New is called for this
// member only, and so is Progress; Evolve, Target and OnInterval are refused, and strategies see no Status.Scores of
// peers. Decisions of members that do not wait for each other depend on timing, but each is made from the records of
// peers of equal or less experience and from a random stream of its own.
//
// Close leaves the population; peers then see the member as stopped, or as what Train ended with.
func Join(ctx context.Context, opt Options, cfg WorkerOptions) (*Worker, error) {
	opt, cfg = opt.withDefaults(), cfg.withDefaults()
	if err := cfg.validate(&opt); err != nil {
		return nil, err
	}
	if err := opt.validate(); err != nil {
		return nil, err
	}
	w := &Worker{opt: opt.clone(), cfg: cfg, phase: phaseTraining, iteration: 1}
	if err := w.open(ctx); err != nil {
		w.fail(err)
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// fail publishes, as far as possible, that the member could not be joined, so that peers do not wait for it.
func (w *Worker) fail(cause error) {
	// Without a lease the member is another process's; with other options it is well, and only these options are wrong.
	// And a member that is broken is joined again by another process.
	if w.heartbeat.stop == nil || errors.Is(cause, errOtherPopulation) || errors.Is(cause, ErrBroken) {
		return
	}
	w.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Note = w.cfg.Member, workspace.Failed, cause.Error()
	})
	_ = w.heartbeat.send()
}

// open takes the lease, starts the heartbeat, reads the private state and builds the member, in this order: a process
// that does not hold the lease must not write, and building may take long, so peers must see the heartbeat before.
func (w *Worker) open(ctx context.Context) (err error) {
	if w.lease, err = w.cfg.Store.Join(ctx, w.cfg.Member); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	// Silence of peers is counted from now, by the store's clock: this process cannot know for how long it was away.
	view, err := w.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	w.joined = view.Now
	own := view.Members[w.cfg.Member]
	w.heartbeat.begin(w.lease, w.cfg, own.Heartbeat)
	saved, err := w.load()
	if err != nil {
		return err
	}
	// A member that yielded at once because it had to wait has been waiting ever since: silence is counted from then.
	if h := own.Heartbeat; saved != nil && saved.state.WaitingSince != nil && h != nil && h.Phase == workspace.Yielded &&
		wentOn(view, own.Seen, w.cfg.Silence) {
		w.joined = *saved.state.WaitingSince
	}
	var keep int64
	finished := false
	if saved != nil {
		keep, finished = saved.state.JournalLength, saved.state.Phase == phaseFinished
	}
	// The journal is opened before the member is built, because a pending decision that building applies is written to it.
	if w.journal, err = journal.Open(w.lease.Dir(), keep, !finished); err != nil {
		return err
	}
	w.cfg.sharedJournals.add(w.cfg.Member, w.journal.Events)
	if err := w.restore(saved); err != nil {
		return err
	}
	w.m.restartProcess = w.cfg.RestartProcess
	return w.beat(workspace.Training)
}

// Member is the member's number.
func (w *Worker) Member() int { return w.cfg.Member }

// Trainee is the member's trainee. It changes when the member is built anew.
func (w *Worker) Trainee() Trainee { return w.m.trainee }

// Status is where the member stands, as strategies see it.
func (w *Worker) Status() strategy.Status { return w.m.status() }

// Iteration is the interval in progress, from 1.
func (w *Worker) Iteration() int64 { return w.iteration }

// Copies returns how often the member was replaced, and the member copied last; -1 for none.
func (w *Worker) Copies() (copies int64, parent int) { return w.copies, w.m.parent }

// Journal returns the member's own events so far, earlier processes' included. See journal.ReadWorkspace for all
// members'.
func (w *Worker) Journal() []journal.Event { return append([]journal.Event(nil), w.journal.Events...) }

// Recovered is nil, or says what was damaged in the member's folder, so that Join used the state before, and, once
// Train has returned, in the best member's.
func (w *Worker) Recovered() error { return w.recovered }

// Close leaves the population and releases the trainee. What was trained since the last save is lost; Train saves when
// its context is cancelled. It may be called twice.
func (w *Worker) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.heartbeat.end()
	var errs []error
	if w.m != nil && w.m.trainee != nil {
		errs = append(errs, wrapMember(w.m.id, guarded(w.m.trainee.Close)))
	}
	if w.journal != nil {
		errs = append(errs, w.journal.Close())
	}
	if w.lease != nil {
		errs = append(errs, w.lease.Release())
	}
	return errors.Join(errs...)
}
