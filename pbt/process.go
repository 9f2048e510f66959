package pbt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

var (
	// ErrYield is returned, wrapped, by [Population.Train] after ProcessOptions.Slice intervals: everything is saved,
	// and the member is to be joined again when a process is free.
	ErrYield = errors.New("the member gives its place to another for a while")
	// ErrRestart is returned, wrapped, by [Population.Train] if ProcessOptions.RestartProcess is set and a
	// hyperparameter needs a new process: everything is saved, and the member is to be joined again at once.
	ErrRestart = errors.New("the process must be started again for the new hyperparameters to take effect")
	// ErrBroken is returned, wrapped, by a trainee or Options.New if no other call can bring the member back in this
	// process, for instance because another process that trains the member has died. [Population.Train] then returns
	// it: nothing is published or saved any more, and a process that joins the member continues from its private state.
	ErrBroken = errors.New("the member cannot go on in this process")
)

// ProcessOptions say how a process takes part in a population with one member.
type ProcessOptions struct {
	// Member is the member's number, 0 to Options.Members-1.
	Member int
	// Store is all that the members share, such as a workspace.OpenFolder. It must be for Options.Members members.
	Store workspace.Store
	// Heartbeat is the time between heartbeats. Default 10 s. A smaller value lets others notice a dead process sooner
	// and writes more small files.
	Heartbeat time.Duration
	// Silence is the time without a heartbeat after which the others treat the member as dead and go on without it.
	// Default 5 minutes. Make it several heartbeats, and with Slice longer than a process takes to start. A smaller
	// value reacts sooner, and gives up members whose file system stalls.
	Silence time.Duration
	// Slice is the number of intervals after which Train returns ErrYield, so that more members than processes take
	// turns. A member that would have to wait for others then yields as well. Default 0: never.
	Slice int64
	// RestartProcess makes Train return ErrRestart if the member would be rebuilt, for simulators that can be made only
	// once in a process. Join in the next process then builds the trainee from the new hyperparameters. Default false.
	RestartProcess bool
	// Experiment is the run's name, for the records.
	Experiment string

	// after replaces time.After in tests.
	after func(d time.Duration) <-chan time.Time
}

// withDefaults fills in Heartbeat, Silence and the clock.
func (p ProcessOptions) withDefaults() ProcessOptions {
	p.Heartbeat, p.Silence = cmp.Or(p.Heartbeat, 10*time.Second), cmp.Or(p.Silence, 5*time.Minute)
	if p.after == nil {
		p.after = time.After
	}
	return p
}

// validate checks the settings against each other and against the population's options.
func (p ProcessOptions) validate(o *Options) error {
	switch {
	case p.Store == nil:
		return errors.New("pbt: ProcessOptions.Store is nil; give the store that the members share, e.g. " +
			"workspace.OpenFolder")
	case p.Store.Members() != o.Members:
		return fmt.Errorf("pbt: ProcessOptions.Store is for %d members, and Options.Members is %d; they must be equal",
			p.Store.Members(), o.Members)
	case p.Member < 0 || p.Member >= o.Members:
		return fmt.Errorf("pbt: ProcessOptions.Member is %d; members are 0 to %d", p.Member, o.Members-1)
	case o.needsAll():
		return errors.New("pbt: Options.Evolve, Target and OnInterval need all members in one process; use New")
	case p.Slice < 0:
		return fmt.Errorf("pbt: ProcessOptions.Slice is %d; give 0 or more intervals", p.Slice)
	case p.Heartbeat < 0 || p.Silence < p.Heartbeat:
		return fmt.Errorf("pbt: ProcessOptions.Heartbeat is %v and Silence %v; Silence must be several heartbeats",
			p.Heartbeat, p.Silence)
	}
	return nil
}

// Join takes a member's place in a population of Options.Members, whose other members are usually other processes. It
// builds the member's trainee and, if the member has trained before, puts it back to its private state: the same
// options continue where the last process ended. While another process holds the member, Join waits until the context
// ends, see [workspace.Store]. Nothing is trained.
//
// Options mean the same as for [New], with these exceptions: Directory and Parallel are ignored, New and Progress are
// called for this member only, Evolve, Target and OnInterval are refused, and strategies see no Status.Scores. With
// Options.Asynchronous decisions depend on timing, but each is made from the records of peers of equal or less
// experience and from a random stream of its own. Otherwise the member waits at the end of every interval for all
// members that are not silent, failed or finished; the slowest member sets the pace.
//
// Close leaves the population; peers then see the member as stopped, or as what Train ended with.
func Join(ctx context.Context, opt Options, process ProcessOptions) (*Population, error) {
	opt, process = opt.withDefaults(), process.withDefaults()
	if err := process.validate(&opt); err != nil {
		return nil, err
	}
	if err := opt.validate(); err != nil {
		return nil, err
	}
	p := &Population{opt: opt.clone(), unlock: func() error { return nil }}
	p.opt.Directory = "" // is ignored
	g := p.add(process, make(chan struct{}, 1), process.Member, 1)
	if err := g.open(ctx); err != nil {
		g.fail(err)
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// resume applies the pending decision of the last process: it builds the member from the new hyperparameters. If that
// fails, the member is built as it was before, and the journal says so.
func (w *worker) resume(saved *states.Restored) error {
	g, m, p := w.group, w.m, saved.State.Pending
	src := source{member: p.Source, snapshot: p.Weights, steps: p.SourceSteps, weightSteps: p.SourceWeightSteps}
	c := Candidate{Member: w.id, Iteration: g.iteration, Hyperparameters: p.Values}
	copies := p.Event.Kind == journal.Replace
	var err error
	fill := (*member).restore
	if copies {
		fill = (*member).restoreCopy
		c.Snapshot, err = m.combine(src, saved.Snapshot)
	} else if !m.status().Diverged() {
		m.snapshot = saved.Snapshot
	}
	if err == nil {
		err = m.rebuild(c, fill)
	}
	if err != nil {
		p.Event = notApplied(p.Event, err)
		var broken error
		if w.m, broken = w.build(saved); broken != nil {
			return errors.Join(broken, err)
		}
	} else {
		p.Event.After, p.Event.Rebuilt = maps.Clone(m.Hyperparameters), true
		if copies {
			m.copied(src)
			w.copies++
		} else {
			m.mutated()
		}
	}
	w.m.restartProcess = g.cfg.RestartProcess
	w.cause = p.Event.Cause
	return g.proceed(append(p.Events, p.Event))
}

// lockDirectory takes the lock of a directory, so that one population at a time uses it.
func lockDirectory(dir string) (unlock func() error, err error) {
	unlock, err = durable.Lock(dir, "lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir,
			err)
	case err != nil:
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	if holds := runfile.In(dir); holds.Run && !holds.Population {
		return nil, errors.Join(fmt.Errorf("pbt: %s holds the run of a single agent; choose another directory: %w", dir,
			fs.ErrExist), unlock())
	}
	return unlock, nil
}
