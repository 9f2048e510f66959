package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// conclude is what becomes of the policy at an interval's end, once its weights are published.
func (s *Solo) conclude(ctx context.Context) error {
	last := s.iteration >= s.opt.lastIteration()
	if last && !s.m.status().Diverged() {
		if err := s.awaitKnown(ctx); err != nil {
			return err
		}
		return s.finish()
	}
	view, err := s.gather(ctx)
	if err != nil {
		return err
	}
	for {
		l := s.look()
		if l, view, err = s.consider(ctx, l, view); err != nil {
			return err
		}
		if last {
			return s.finish()
		}
		events, err := s.decide(ctx, l, view)
		if err != nil {
			return err
		}
		if s.m.failure == "" || s.place.Synchronous {
			return s.goOn(view, events)
		}
		// It cannot train, and nobody has rescued it: when others have something new that may change.
		if slices.ContainsFunc(events, func(e Event) bool { return e.Kind == EventKeep || e.Kind == EventSelfMutate }) {
			events = nil
		}
		if err := s.record(events); err != nil {
			return err
		}
		if err := s.persist(); err != nil {
			return err
		}
		if view, err = s.news(ctx, view); err != nil {
			return err
		}
	}
}

// look is how the policy looks at the board as it stands.
func (s *Solo) look() look {
	return look{
		policy: s.place.Policy, iteration: s.iteration, exact: s.place.Synchronous, slack: s.place.Slack, measure: s.opt.Measure,
		silence: s.place.Silence, since: s.joined, frames: s.opt.target(s.iteration), total: s.opt.TotalSteps,
	}
}

// consider lets a policy that failed or diverged wait until there is somebody healthy, as long as there is hope. What it
// returns is how to look at which board.
func (s *Solo) consider(ctx context.Context, l look, view workspace.View) (look, workspace.View, error) {
	w := waiter{s: s}
	for {
		own := s.m.status()
		g, _ := l.generation(view, own)
		for _, m := range g.Members {
			s.known = s.known || m.HasObjective
		}
		if err := s.checkKnown(l, view); err != nil {
			return l, view, err
		}
		if !own.Diverged() || slices.ContainsFunc(g.Members, Status.Healthy) {
			return l, view, nil
		}
		if !l.exact {
			l.rescue = true
			if g, _ := l.generation(view, own); slices.ContainsFunc(g.Members, Status.Healthy) {
				return l, view, nil
			}
			l.rescue = false
		}
		if !l.hopeful(view) {
			return l, view, s.giveUp()
		}
		if l.exact {
			return l, view, nil
		}
		var err error
		if view, err = w.wait(ctx); err != nil {
			return l, view, err
		}
	}
}

// awaitKnown makes it an error that nobody ever had an objective, at the end of training. Those who may still report one
// are waited for.
func (s *Solo) awaitKnown(ctx context.Context) error {
	w := waiter{s: s}
	s.known = s.known || s.m.status().HasObjective
	view, err := workspace.View{}, error(nil)
	if !s.known {
		view, err = s.view(ctx)
	}
	for !s.known && err == nil {
		l, more := s.look(), false
		for _, p := range view.Members {
			for _, r := range slices.Concat(p.Records, p.Stale) {
				s.known = s.known || r.HasObjective
			}
			more = more || p.Member != s.place.Policy && len(p.Records) == 0 && l.live(view.Now, p)
		}
		switch {
		case s.known:
		case more:
			view, err = w.wait(ctx)
		default:
			return s.opt.unknownObjective([]*member{s.m}, s.iteration)
		}
	}
	return err
}

// checkKnown makes it an error that nobody has an objective although it is time and everybody has published something.
func (s *Solo) checkKnown(l look, view workspace.View) error {
	if s.known || s.opt.target(s.iteration) < s.opt.InitialDelay && s.iteration < s.opt.lastIteration() || s.m.status().Failed {
		return nil
	}
	for _, p := range view.Members {
		if p.Member != s.place.Policy && (l.live(view.Now, p) && len(p.Records) == 0 || slices.ContainsFunc(p.Records, func(r workspace.Record) bool { return r.HasObjective })) {
			return nil
		}
	}
	return s.opt.unknownObjective([]*member{s.m}, s.iteration)
}

// giveUp ends a policy that nobody can rescue, and leaves its state as it was.
func (s *Solo) giveUp() error {
	what := s.m.failure
	if what == "" {
		what = s.m.status().Trouble()
	}
	err := fmt.Errorf("pbt: %w after interval %d; policy %d: %s", ErrNoHealthyMember, s.iteration, s.place.Policy, what)
	if s.m.failure != "" && s.m.cause != nil {
		err = fmt.Errorf("%w: %w", err, s.m.cause)
	}
	return errors.Join(err, s.record(append(s.troubles(), s.m.event(&s.opt, s.iteration, EventHopeless, what))))
}

// troubles are the events of a member that failed or diverged, where they do not stand in the journal already.
func (s *Solo) troubles() []Event {
	for _, e := range slices.Backward(s.journal.events) {
		if e.Iteration < s.iteration {
			break
		}
		if e.Kind == EventFailed || e.Kind == EventDiverged {
			return nil
		}
	}
	return s.m.trouble(&s.opt, s.iteration)
}

// decide asks the strategy and carries out what it says of this policy. It returns the events to write. A source whose
// weights cannot be read is left out, and the strategy asked again.
func (s *Solo) decide(ctx context.Context, l look, view workspace.View) ([]Event, error) {
	events := s.troubles()
	l.without = make(map[int]bool)
	for {
		g, records := l.generation(view, s.m.status())
		parts := []int64{s.opt.Seed, streamDecide, s.iteration}
		if !s.place.Synchronous {
			parts = append(parts, int64(s.place.Policy))
		}
		decisions, err := s.opt.decide(g, stream(parts...))
		if err != nil {
			return nil, err
		}
		d := decisions[s.place.Policy]
		s.cause = d.Reason
		var source inheritance
		switch {
		case d.Action != Replace && len(l.without) > 0: // what was decided could not be done
			return events, nil
		case d.Action == Replace:
			source, err = s.fetch(ctx, l, *records[d.Source])
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				e := s.announced(d, records[d.Source].Steps)
				e.Kind, e.Cause = EventApplyFailed, fmt.Sprintf("%s (%s) could not be applied: source: %v", d.Action, d.Reason, err)
				events, l.without[d.Source] = append(events, e), true
				continue
			}
			if d.OthersHyperparameters && d.Other != d.Source {
				source.hyperparameters = maps.Clone(g.Members[d.Other].Hyperparameters)
			}
		}
		return s.carryOut(g, decisions, records, source, events)
	}
}
