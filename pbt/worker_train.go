package pbt

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Train trains the member to Options.TotalSteps, deciding about it at the end of every interval, and returns the best that
// any member has been so far. That is nil where the store has no best member, and its Snapshot is nil where it cannot be
// read; Recovered then says why.
//
// When the context is cancelled the member stops, its private state is saved, and the error is the context's cause; calling
// Train again, or Join with the same options, continues. Other errors wrap ErrYield and ErrRestart, both after saving;
// [workspace.ErrLeaseLost], after which nothing is written any more; and ErrNoHealthyMember, where this member has diverged
// and so have all peers that might have rescued it: its last good state stays as it was.
//
// A member whose training fails or panics, or whose weights or objective are not finite, publishes that, and copies a peer
// at the interval's end, if the strategy says so; it waits for a healthy peer as long as there may be one.
func (s *Worker) Train(ctx context.Context) (*Result, error) {
	switch {
	case s.closed:
		return nil, errors.New("pbt: the member is closed; join again")
	case s.fatal != nil:
		return nil, s.fatal
	case s.done:
		return s.result()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A process that loses the lease must stop at once, since another process may be training the member.
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.lease.Lost():
			cancel(fmt.Errorf("pbt: member %d: %w", s.cfg.Member, workspace.ErrLeaseLost))
		case <-ended:
		}
	}()
	err := s.run(ctx)
	// How training ended decides what peers see, and whether Train can be called again: a loss of the lease and errors are
	// final, a yield and a cancelled context are not.
	switch {
	case err == nil:
		return s.result()
	case s.isLost(err):
		if !errors.Is(err, workspace.ErrLeaseLost) {
			err = errors.Join(s.lost(), err)
		}
	case errors.Is(err, ErrYield):
		return nil, errors.Join(err, s.beat(workspace.Yielded))
	case errors.Is(err, ErrRestart):
		err = errors.Join(err, s.beat(workspace.Stopped))
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		err = fmt.Errorf("pbt: member %d stopped in interval %d of %d: %w", s.cfg.Member, s.iteration, s.opt.lastIteration(), err)
		if s.phase == phaseTraining {
			err = errors.Join(err, s.checkpoint())
		}
		return nil, errors.Join(err, s.beat(workspace.Stopped))
	default:
		s.cause = err.Error()
		err = errors.Join(err, s.beat(workspace.Failed))
	}
	s.fatal = err
	return nil, err
}

// run goes through the intervals until training ends or the turn is over.
func (s *Worker) run(ctx context.Context) error {
	if len(s.journal.Events) == 0 {
		if err := s.record(s.opt.begin([]*member{s.m})); err != nil {
			return err
		}
	}
	// n counts the intervals of this turn. Deciding about an interval that an earlier process trained is not one.
	for n := int64(0); ; {
		if s.phase == phaseTraining {
			n++
		}
		if err := s.interval(ctx); err != nil || s.done {
			return err
		}
		if s.cfg.Slice > 0 && n >= s.cfg.Slice {
			return s.yield()
		}
	}
}

// yield returns the error that ends a turn.
func (s *Worker) yield() error {
	return fmt.Errorf("pbt: member %d, interval %d: %w", s.cfg.Member, s.iteration, ErrYield)
}

// interval trains to the interval's end, saves, publishes, decides, and applies the decision. A phase that an earlier process
// has completed is not repeated.
func (s *Worker) interval(ctx context.Context) error {
	if s.phase == phaseTraining {
		if err := s.beat(workspace.Training); err != nil {
			return err
		}
		if err := s.inSlot(ctx, s.train); err != nil {
			return err
		}
		s.phase = phaseTrained
		// What failed or diverged is not saved: a process that ends here trains again from the last good state.
		if s.good() != nil {
			if err := s.persist(); err != nil {
				return err
			}
		}
	}
	// Publishing comes before waiting: peers may be waiting for this record.
	if err := s.publish(); err != nil {
		return err
	}
	return s.decideAndApply(ctx)
}

// inSlot runs f when the other members of this process leave room for it; see TrainAsync.
func (s *Worker) inSlot(ctx context.Context, f func(context.Context) error) error {
	if s.cfg.slots != nil {
		select {
		case s.cfg.slots <- struct{}{}:
			defer func() { <-s.cfg.slots }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f(ctx)
}

// train advances the member to the interval's end and completes what is known of it there. An error of the trainee makes the
// member a failed one; it is not an error of train.
func (s *Worker) train(ctx context.Context) error {
	m, target := s.m, s.opt.target(s.iteration)
	for m.failure == "" && m.steps < target && ctx.Err() == nil {
		// end is the next reading of the objective, stop the next save, if that is earlier.
		end := s.opt.pause(s.iteration, m.steps)
		stop := end
		if n := s.cfg.SaveSteps; n > 0 {
			stop = min(stop, max(s.savedAt+n, m.steps+1))
		}
		m.snapshot = nil
		err := guarded(func() error { return m.advance(ctx, s.iteration, stop, end) })
		if err != nil {
			m.fail(s.iteration, err)
			break
		}
		s.describe()
		if m.steps >= end {
			s.tell(nil)
		}
		due := s.cfg.SaveSteps > 0 && m.steps >= s.savedAt+s.cfg.SaveSteps && m.steps < target
		if due {
			if err := s.checkpoint(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() == nil {
		m.measureEnd(ctx, s.iteration)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// checkpoint saves within an interval, if there is something good to save.
func (s *Worker) checkpoint() error {
	if err := s.lost(); err != nil {
		return err
	}
	if s.good() == nil {
		s.savedAt = s.m.steps
		return nil
	}
	return s.persist()
}

// tell calls Options.Progress.
func (s *Worker) tell(e *journal.Event) {
	if s.opt.Progress != nil {
		s.opt.Progress(s.m.update(s.iteration, e))
	}
}

// record writes events to the journal and reports them.
func (s *Worker) record(events []journal.Event) error {
	if err := s.lost(); err != nil {
		return err
	}
	if err := s.journal.Append(events...); err != nil {
		return err
	}
	s.cfg.sharedJournals.add(s.cfg.Member, events)
	for i := range events {
		if events[i].Member >= 0 {
			s.tell(&events[i])
		}
	}
	return nil
}
