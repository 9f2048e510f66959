package pbt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// ErrNoHealthyMember is returned, wrapped, by Train when every member failed or has an objective that is not finite:
// no member is left to copy. The saved state is that of the last interval that ended well.
var ErrNoHealthyMember = errors.New("no healthy member is left")

// Population is a set of members that train together. It is used by one goroutine at a time; while Train runs, and
// from Options.Progress, none of its methods may be called.
type Population struct {
	opt     Options
	members []*member
	journal *journal.Writer
	stores  *stores
	unlock  func() error

	// What is saved in the directory beside the members.
	iteration int64 // the interval in progress, from 1
	sequence  int64 // the number of the last save
	known     bool  // whether any member has ever reported the objective
	best      *Result
	last      *restored // the last good state saved or loaded

	ended     bool // the saved state is the end of training, and these options ask for no more steps
	recovered error
	fatal     error // what training cannot go on after
	done      bool
	closed    bool
}

// Result is a member at the end of an interval.
type Result struct {
	// Member is the member's number.
	Member int
	// Iteration is the interval at whose end it stood so.
	Iteration int64
	// Steps are its own environment steps then.
	Steps int64
	// Objective is the figure as it was measured, also where less of it is better.
	Objective float64
	// Hyperparameters are those it trained with.
	Hyperparameters map[string]float64
	// Snapshot can be restored into any member, or into a trainee built like one. It is only to be read.
	Snapshot *checkpoint.Snapshot

	file string // its name in the folder "best", once saved
}

// New checks the options, builds the members, and, where Options.Directory holds a population's state, puts them
// back to it. Nothing is trained. Close releases the members.
//
// To continue, Members, Objective, IntervalSteps, Seed and Measure.Minimise must be those of the earlier run;
// TotalSteps may have grown. Where the latest state is damaged the one before is used, and Recovered says so.
func New(opt Options) (*Population, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.clone()
	opt.New, opt.Progress = requireDistinct(opt.New), oneAtATime(opt.Progress) // members train in parallel
	p := &Population{opt: opt, iteration: 1}
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// open locks the directory, loads what it holds, builds the members, and opens the journal at the length that the
// loaded state knows of.
func (p *Population) open() error {
	// The lock comes first: until it is held, another population may be writing.
	var saved *restored
	if dir := p.opt.Directory; dir != "" {
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("pbt: directory: %w", err)
		}
		var err error
		if p.unlock, err = lockDirectory(dir); err != nil {
			return err
		}
		if p.stores, err = openStores(dir, p.opt.Members); err != nil {
			return err
		}
		if saved, err = p.load(); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, "000", stateFile)); saved == nil && err == nil {
			return fmt.Errorf("pbt: %s holds a population whose members train apart; continue it with NewAsync "+
				"(in a file: pbt.asynchronous: true) or, if its members are processes, with gorl-pbt run, or choose another directory", dir)
		}
	}
	// Members are built one after the other, as Options.New promises, each with its saved snapshot at hand.
	for id := range p.opt.Members {
		var state *savedMember
		var snapshot *checkpoint.Snapshot
		if saved != nil {
			state, snapshot = &saved.state.Members[id], saved.snapshots[id]
		}
		m, err := newMember(&p.opt, id, state, snapshot)
		if err != nil {
			return err
		}
		p.members = append(p.members, m)
	}
	// Events after the saved state's length belong to decisions that are now made again. After the end of training they
	// are the last events, which are written again too.
	var keep int64
	finished := false
	if saved != nil {
		s := saved.state
		p.iteration, p.sequence, p.known, p.best = s.Iteration, s.Sequence, s.ObjectiveKnown, saved.best
		saved.snapshots, saved.best, p.last = nil, nil, saved
		keep, finished = s.JournalLength, s.Finished
		if p.ended = finished && p.nothingLeft(); p.ended {
			keep, p.done = journal.Ended(p.opt.Directory, keep, len(p.members))
		}
	}
	var err error
	p.journal, err = journal.Open(p.opt.Directory, keep, !finished)
	return err
}

// nothingLeft reports whether all members have trained for as long as the options ask, and the best one is known.
func (p *Population) nothingLeft() bool {
	if p.iteration < p.opt.lastIteration() && !p.opt.reached(p.Generation()) {
		return false
	}
	short := func(m *member) bool { return m.failure == "" && m.steps < p.opt.target(p.iteration) }
	return p.best != nil && !slices.ContainsFunc(p.members, short)
}

// Trainee returns a member's trainee, nil where there is no such member. It changes when the member is built anew.
func (p *Population) Trainee(id int) Trainee {
	if id < 0 || id >= len(p.members) {
		return nil
	}
	return p.members[id].trainee
}

// Best returns the best that any member has been at the end of an interval, nil before the first one.
func (p *Population) Best() *Result { return p.best }

// Journal returns the events so far, earlier runs in the same directory included.
func (p *Population) Journal() []journal.Event { return slices.Clone(p.journal.Events) }

// Recovered is nil, or says what was damaged in the directory, so that New used the state before it, or forgot the
// best member there had been.
func (p *Population) Recovered() error { return p.recovered }

// Close releases all members, the journal and the directory. It may be called twice.
func (p *Population) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	for _, m := range p.members {
		errs = append(errs, wrapMember(m.id, guarded(m.trainee.Close)))
	}
	if p.journal != nil {
		errs = append(errs, p.journal.Close())
	}
	if p.unlock != nil {
		errs = append(errs, p.unlock())
	}
	return errors.Join(errs...)
}
