package pbt

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Train trains the member to Options.TotalSteps, deciding about it at the end of every interval, and returns the best
// that any member has been so far. That is nil where the store has no best member, and its Snapshot is nil where it
// cannot be read; Recovered then says why.
//
// When the context is cancelled the member stops, its private state is saved, and the error wraps the context's error
// and its cause. Calling Train again, or Join with the same options, continues. Other errors wrap one of these:
//
//   - ErrYield and ErrRestart, both after saving;
//   - ErrBroken: the last saved state is unchanged;
//   - [workspace.ErrLeaseLost]: nothing is written any more;
//   - ErrNoHealthyMember: this member has diverged, and so have all peers that could rescue it. Its last good state is
//     unchanged.
//
// A member whose training fails or panics, or whose weights or objective are not finite, publishes that, and copies a
// peer at the interval's end, if the strategy says so; it waits for a healthy peer as long as there may be one.
func (w *Worker) Train(ctx context.Context) (*Result, error) {
	switch {
	case w.closed:
		return nil, errors.New("pbt: the member is closed; join again")
	case w.fatal != nil:
		return nil, w.fatal
	case w.done:
		return w.result()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A process that loses the lease must stop at once, since another process may be training the member.
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-w.lease.Lost():
			cancel(fmt.Errorf("pbt: member %d: %w", w.cfg.Member, workspace.ErrLeaseLost))
		case <-ended:
		}
	}()
	err := w.run(ctx)
	// How training ended decides what peers see, and whether Train can be called again: a loss of the lease and errors are
	// final, a yield and a cancelled context are not.
	switch {
	case err == nil:
		return w.result()
	case w.isLost(err):
		if !errors.Is(err, workspace.ErrLeaseLost) {
			err = errors.Join(w.lost(), err)
		}
	case errors.Is(err, ErrYield):
		return nil, errors.Join(err, w.beat(workspace.Yielded))
	case errors.Is(err, ErrRestart), errors.Is(err, ErrBroken):
		err = errors.Join(err, w.beat(workspace.Stopped))
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		err = fmt.Errorf("pbt: member %d stopped in interval %d of %d: %w", w.cfg.Member, w.iteration, w.opt.lastIteration(),
			err)
		if w.phase == phaseTraining {
			err = errors.Join(err, w.checkpoint())
		}
		return nil, errors.Join(err, w.beat(workspace.Stopped))
	default:
		w.cause = err.Error()
		err = errors.Join(err, w.beat(workspace.Failed))
	}
	w.fatal = err
	return nil, err
}

// run goes through the intervals until training ends or the turn is over.
func (w *Worker) run(ctx context.Context) error {
	if len(w.journal.Events) == 0 {
		if err := w.record(w.opt.begin([]*member{w.m})); err != nil {
			return err
		}
	}
	// n counts the intervals of this turn. Deciding about an interval that an earlier process trained is not one.
	for n := int64(0); ; {
		if w.phase == phaseTraining {
			n++
		}
		if err := w.interval(ctx); err != nil || w.done {
			return err
		}
		if w.cfg.Slice > 0 && n >= w.cfg.Slice {
			return w.yield()
		}
	}
}

// yield returns the error that ends a turn.
func (w *Worker) yield() error {
	return fmt.Errorf("pbt: member %d, interval %d: %w", w.cfg.Member, w.iteration, ErrYield)
}

// interval trains to the interval's end, saves, publishes, decides, and applies the decision. A phase that an earlier
// process has completed is not repeated.
func (w *Worker) interval(ctx context.Context) error {
	if w.phase == phaseTraining {
		if err := w.beat(workspace.Training); err != nil {
			return err
		}
		if err := w.inSlot(ctx, w.train); err != nil {
			return err
		}
		w.phase = phaseTrained
		// What failed or diverged is not saved: a process that ends here trains again from the last good state.
		if w.good() != nil {
			if err := w.persist(); err != nil {
				return err
			}
		}
	}
	// Publishing comes before waiting: peers may be waiting for this record.
	if err := w.publish(); err != nil {
		return err
	}
	return w.decideAndApply(ctx)
}

// inSlot runs f when the other members of this process leave room for it; see TrainAsync.
func (w *Worker) inSlot(ctx context.Context, f func(context.Context) error) error {
	if w.cfg.slots != nil {
		select {
		case w.cfg.slots <- struct{}{}:
			defer func() { <-w.cfg.slots }()
		case <-ctx.Done():
			return contextError(ctx)
		}
	}
	return f(ctx)
}

// train advances the member to the interval's end and completes what is known of it there. An error of the trainee
// makes the member a failed one; it is not an error of train.
func (w *Worker) train(ctx context.Context) error {
	m, target := w.m, w.opt.target(w.iteration)
	for m.failure == "" && m.steps < target && ctx.Err() == nil {
		// end is the next reading of the objective, stop the next save, if that is earlier.
		end := w.opt.pause(w.iteration, m.steps)
		stop := m.nextObjectiveCheck(w.iteration, end)
		if n := w.opt.SaveSteps; n > 0 {
			stop = min(stop, max(w.savedAt+n, m.steps+1))
		}
		m.snapshot = nil
		err := guarded(func() error { return m.advance(ctx, w.iteration, stop, end) })
		if errors.Is(err, ErrBroken) {
			return err
		}
		if err != nil {
			m.fail(w.iteration, err)
			break
		}
		if err := m.checkObjective(w.iteration); err != nil {
			return err
		}
		w.describe()
		if m.steps >= end {
			w.m.tell(w.iteration, nil)
		}
		due := w.opt.SaveSteps > 0 && m.steps >= w.savedAt+w.opt.SaveSteps && m.steps < target
		if due {
			if err := w.checkpoint(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() == nil {
		m.measureEnd(ctx, w.iteration)
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return nil
}

// checkpoint saves within an interval, if there is something good to save.
func (w *Worker) checkpoint() error {
	if err := w.lost(); err != nil {
		return err
	}
	if w.good() == nil {
		w.savedAt = w.m.steps
		return nil
	}
	return w.persist()
}

// record writes events to the journal and reports them.
func (w *Worker) record(events []journal.Event) error {
	if err := w.lost(); err != nil {
		return err
	}
	if err := w.journal.Append(events...); err != nil {
		return err
	}
	w.cfg.sharedJournals.add(w.cfg.Member, events)
	for i := range events {
		if events[i].Member >= 0 {
			w.m.tell(w.iteration, &events[i])
		}
	}
	return nil
}
