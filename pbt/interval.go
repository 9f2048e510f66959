package pbt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// group is the loop of population based training, for members that train and are decided about together: all of a
// population, or one. What a group of one needs to know of the other members, its peers, comes from the store. A group
// of all members has no peers: it publishes nothing, and its waits return at once.
type group struct {
	population *Population
	opt        *Options
	cfg        ProcessOptions
	workers    []*worker
	slots      chan struct{} // limits how many members of this process train at once

	phase     states.Phase
	iteration int64 // the interval in progress, from 1
	known     bool  // whether any member has ever reported the objective
	hasBest   bool
	objective float64 // of the best member so far that this group knows of; higher is better
	best      *Result // in a group of all members

	joined time.Time   // by the store's clock
	ahead  peers.Ahead // heartbeats of the future

	recovered error
	fatal     error // what training cannot go on after
	done      bool
}

// whole reports whether all members are in this group.
func (g *group) whole() bool { return len(g.workers) == g.opt.Members }

// exact reports whether members decide at the end of an interval from records of that very interval.
func (g *group) exact() bool { return !g.opt.Asynchronous || g.whole() }

// run trains to the end and says to peers how that ended. stopped is true if the context was cancelled and the members
// can continue; err is then what else went wrong.
func (g *group) run(ctx context.Context) (stopped bool, err error) {
	if g.fatal != nil || g.done {
		return false, g.fatal
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A process that loses a lease must stop at once, since another process may be training the member.
	for _, w := range g.workers {
		if lost := w.lease.Lost(); lost != nil {
			go func() {
				select {
				case <-lost:
					cancel(w.lost())
				case <-ctx.Done():
				}
			}()
		}
	}
	err = g.intervals(ctx)
	// How training ended decides what peers see, and whether Train can be called again: a lost lease and errors are
	// final, a yield and a cancelled context are not.
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, workspace.ErrLeaseLost) || g.lost() != nil:
		if !errors.Is(err, workspace.ErrLeaseLost) {
			err = errors.Join(g.lost(), err)
		}
	case errors.Is(err, ErrYield):
		return false, errors.Join(err, g.beat(workspace.Yielded))
	case errors.Is(err, ErrRestart), errors.Is(err, ErrBroken):
		err = errors.Join(err, g.beat(workspace.Stopped))
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		err = nil
		if g.phase == states.Training {
			err = g.each(context.Background(), (*worker).checkpoint)
		}
		return true, errors.Join(err, g.beat(workspace.Stopped))
	default:
		for _, w := range g.workers {
			w.cause = err.Error()
		}
		err = errors.Join(err, g.beat(workspace.Failed))
	}
	g.fatal = err
	return false, err
}

// name names the member in errors of a group of one.
func (g *group) name() string {
	if len(g.workers) > 1 {
		return ""
	}
	return fmt.Sprintf("member %d ", g.workers[0].id)
}

// contextError returns the error of a cancelled context: it wraps the context's own error and its cause. For a lost
// lease it is the cause alone, because no caller has cancelled anything.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) || errors.Is(cause, workspace.ErrLeaseLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// intervals goes through the intervals until training ends or the turn is over.
func (g *group) intervals(ctx context.Context) error {
	var begun []*member
	for _, w := range g.workers {
		if len(w.journal.Events) == 0 {
			begun = append(begun, w.m)
		}
	}
	if len(begun) > 0 {
		if err := g.record(g.opt.begin(begun)); err != nil {
			return err
		}
	}
	// n counts the intervals of this turn. Deciding about an interval that an earlier process trained is not one.
	for n := int64(0); ; {
		if g.phase == states.Training {
			n++
		}
		if err := g.interval(ctx); err != nil || g.done {
			return err
		}
		if g.cfg.Slice > 0 && n >= g.cfg.Slice {
			return g.yield()
		}
	}
}

// interval is one interval of population based training: train and measure the members, publish them, decide, exploit
// and explore, record, save. A phase that an earlier process has completed is not repeated.
func (g *group) interval(ctx context.Context) error {
	if g.phase == states.Training {
		if err := g.beat(workspace.Training); err != nil {
			return err
		}
		if err := g.train(ctx); err != nil {
			return err
		}
	}
	// Peers copy what is published, so a member saves before it publishes. A member that failed or diverged does not: a
	// process that ends here trains again from the last good state.
	if g.phase == states.Training && !g.whole() {
		g.phase = states.Trained
		for _, w := range g.workers {
			if w.good() != nil {
				if err := w.persist(); err != nil {
					return err
				}
			}
		}
	}
	if g.whole() {
		for _, w := range g.workers {
			w.m.score(g.iteration, w.m.status())
		}
	}
	// Publishing comes before waiting, because peers may be waiting for the record. The best is offered before any
	// decision, because a decision may replace or mutate it.
	if err := g.publish(); err != nil {
		return err
	}
	return g.endInterval(ctx)
}

// train trains all members to the interval's end and measures them there. With Options.SaveSteps all members pause, and
// are saved, after so many environment steps.
func (g *group) train(ctx context.Context) error {
	for {
		if err := g.each(ctx, func(w *worker) error { return w.train(ctx) }); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return contextError(ctx)
		}
		if !slices.ContainsFunc(g.workers, func(w *worker) bool { return w.m.trains(g.iteration) }) {
			return nil
		}
		// A member at its end is saved with the next interval's beginning, also if it was ahead after a crash.
		if err := g.each(context.Background(), func(w *worker) error {
			if !w.m.trains(g.iteration) {
				return nil
			}
			return w.checkpoint()
		}); err != nil {
			return err
		}
	}
}

// train trains the member to the interval's end, or to its next save, and completes what is known of it at the end.
func (w *worker) train(ctx context.Context) error {
	g := w.group
	err := w.m.train(ctx, g.iteration, g.opt.SaveSteps, func() {
		w.describe()
		w.m.notify(g.iteration, nil)
	})
	if err == nil && ctx.Err() == nil && !w.m.trains(g.iteration) {
		w.m.measureEnd(ctx, g.iteration)
	}
	return err
}

// each runs f for all members, as many at a time as Options.Parallel allows in this process, and joins their errors. A
// cancelled context keeps members that still wait for their turn from starting.
func (g *group) each(ctx context.Context, f func(w *worker) error) error {
	errs := make([]error, len(g.workers))
	var wg sync.WaitGroup
start:
	for i, w := range g.workers {
		select {
		case g.slots <- struct{}{}:
		case <-ctx.Done():
			break start
		}
		wg.Go(func() {
			defer func() { <-g.slots }()
			errs[i] = f(w)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// endInterval waits for peers as far as it must, asks the strategy, applies the decisions about the group's members,
// and begins the next interval. After the last interval nothing is decided.
func (g *group) endInterval(ctx context.Context) error {
	own := g.statuses()
	last := g.iteration >= g.opt.lastIteration() ||
		g.opt.reached(strategy.Generation{Iteration: g.iteration, Members: own})
	// A member that has diverged still waits at the end for weights to end with.
	if last && slices.ContainsFunc(own, func(s strategy.Status) bool { return !s.Diverged() }) {
		g.known = g.known || slices.ContainsFunc(own, func(s strategy.Status) bool { return s.HasObjective })
		if !g.known {
			view, err := g.view(ctx)
			if err == nil {
				err = g.checkKnown(g.filter(), view)
			}
			if err != nil {
				return err
			}
		}
		return g.finish()
	}
	view, err := g.gather(ctx)
	if err != nil {
		return err
	}
	// Only a failed member that does not wait for others repeats this loop, until the strategy lets it copy a peer.
	for {
		l := g.filter()
		if l, view, err = g.awaitHealthy(ctx, l, view); err != nil {
			return err
		}
		if last {
			return g.finish()
		}
		events, err := (&round{group: g, filter: l, view: view}).run(ctx)
		if err != nil {
			return err
		}
		if g.exact() || g.workers[0].m.Failure == "" {
			return g.nextInterval(view, events)
		}
		// The member cannot train and was not rescued. It waits for new records of its peers, and writes only what has
		// changed since the last round, not each time that it was kept.
		if slices.ContainsFunc(events, func(e journal.Event) bool {
			return e.Kind == journal.Keep || e.Kind == journal.SelfMutate
		}) {
			events = nil
		}
		if err := g.record(events); err != nil {
			return err
		}
		if err := g.workers[0].persist(); err != nil {
			return err
		}
		if view, err = g.awaitChange(ctx, view); err != nil {
			return err
		}
	}
}

// nextInterval records the events of the decisions, saves, and lets old records be deleted.
func (g *group) nextInterval(view workspace.View, events []journal.Event) error {
	oldest := g.filter().Oldest(view)
	if err := g.proceed(events); err != nil {
		return err
	}
	if g.whole() {
		return g.callOnInterval()
	}
	// From now on peers know that records of weights which the member gave up are stale.
	if err := g.beat(workspace.Training); err != nil {
		return err
	}
	for _, w := range g.workers {
		if err := w.lease.Prune(oldest); err != nil {
			return wrapMember(w.id, err)
		}
	}
	return nil
}

// proceed writes events to the journals, and then saves the members at the beginning of the next interval. In this
// order a journal is never behind its state: a process that dies in between continues from the state before, decides
// the same again, and drops the events that it had not known.
func (g *group) proceed(events []journal.Event) error {
	if err := g.record(events); err != nil {
		return err
	}
	g.iteration++
	g.phase = states.Training
	for _, w := range g.workers {
		w.pending = nil
		w.m.Peak = nil // it belongs to one interval only
	}
	return g.each(context.Background(), (*worker).persist)
}

// finish saves the end of training. The last events are written after the state; a process that is killed in between
// writes them when it runs again.
func (g *group) finish() error {
	if g.phase != states.Finished {
		g.phase = states.Finished
		if err := g.each(context.Background(), (*worker).persist); err != nil {
			return err
		}
	}
	events := g.troubles()
	for _, w := range g.workers {
		e := w.m.event(g.iteration, journal.Final, "")
		e.SelfPlay = w.m.selfPlay()
		events = append(events, e)
	}
	events = slices.DeleteFunc(events, func(e journal.Event) bool { return g.worker(e.Member).ended })
	g.done = true
	if err := g.record(events); err != nil {
		return err
	}
	return errors.Join(g.beat(workspace.Finished), g.callOnInterval())
}

// callOnInterval calls Options.OnInterval.
func (g *group) callOnInterval() error {
	if g.opt.OnInterval == nil {
		return nil
	}
	if err := guarded(func() error { return g.opt.OnInterval(g.population) }); err != nil {
		return fmt.Errorf("pbt: OnInterval: %w", err)
	}
	return nil
}

// worker returns a member of this group.
func (g *group) worker(id int) *worker { return g.workers[id-g.workers[0].id] }

// holds reports whether a member is in this group.
func (g *group) holds(id int) bool {
	return id >= g.workers[0].id && id < g.workers[0].id+len(g.workers)
}

// statuses returns the members of this group as strategies see them.
func (g *group) statuses() (all []strategy.Status) {
	for _, w := range g.workers {
		all = append(all, w.m.status())
	}
	return all
}
