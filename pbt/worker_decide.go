package pbt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// decideAndApply is the second half of an interval's end, after the member has published its record: it waits for peers
// where it must, asks the strategy, applies the decision about this member, and begins the next interval.
func (s *Worker) decideAndApply(ctx context.Context) error {
	// After the last interval nothing is decided. Only a member that has diverged still waits for weights to end with.
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
	// A healthy member goes through this loop once. A failed one repeats it until the strategy lets it copy a peer.
	for {
		l := s.peers()
		if l, view, err = s.awaitHealthy(ctx, l, view); err != nil {
			return err
		}
		if last {
			return s.finish()
		}
		events, err := s.decide(ctx, l, view)
		if err != nil {
			return err
		}
		if s.m.failure == "" || s.cfg.Synchronous {
			return s.nextInterval(view, events)
		}
		// The member cannot train and was not rescued. It waits for new records of its peers, and writes only what has changed
		// since the last round: not once more that it was kept.
		if slices.ContainsFunc(events, func(e journal.Event) bool { return e.Kind == journal.Keep || e.Kind == journal.SelfMutate }) {
			events = nil
		}
		if err := s.record(events); err != nil {
			return err
		}
		if err := s.persist(); err != nil {
			return err
		}
		if view, err = s.awaitChange(ctx, view); err != nil {
			return err
		}
	}
}

// peers returns the filter for the present interval.
func (s *Worker) peers() peerFilter {
	return peerFilter{
		member: s.cfg.Member, iteration: s.iteration, exact: s.cfg.Synchronous, slack: s.cfg.Slack, measure: s.opt.Measure,
		silence: s.cfg.Silence, since: s.joined, frames: s.opt.target(s.iteration), total: s.opt.TotalSteps,
	}
}

// awaitHealthy lets a member that failed or diverged wait until there is a healthy peer to copy, as long as one may still
// appear. It returns the filter and the view to decide by; without hope it gives up.
func (s *Worker) awaitHealthy(ctx context.Context, l peerFilter, view workspace.View) (peerFilter, workspace.View, error) {
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
		if !own.Diverged() || slices.ContainsFunc(g.Members, strategy.Status.Healthy) {
			return l, view, nil
		}
		// No peer of equal or less experience is healthy. A newer record is better than none: the member has lost its own
		// weights.
		if !l.exact {
			l.rescue = true
			if g, _ := l.generation(view, own); slices.ContainsFunc(g.Members, strategy.Status.Healthy) {
				return l, view, nil
			}
			l.rescue = false
		}
		if !l.hopeful(view) {
			return l, view, s.giveUp()
		}
		// Synchronous members must all decide now, this one too: it is kept, and rescued in a later interval.
		if l.exact {
			return l, view, nil
		}
		var err error
		if view, err = w.wait(ctx); err != nil {
			return l, view, err
		}
	}
}

// awaitKnown makes it an error, at the end of training, that no member ever had an objective. Peers that may still report
// one are waited for.
func (s *Worker) awaitKnown(ctx context.Context) error {
	w := waiter{s: s}
	s.known = s.known || s.m.status().HasObjective
	view, err := workspace.View{}, error(nil)
	if !s.known {
		view, err = s.view(ctx)
	}
	for !s.known && err == nil {
		l, more := s.peers(), false
		for _, p := range view.Members {
			for _, r := range slices.Concat(p.Records, p.Stale) {
				s.known = s.known || r.HasObjective
			}
			more = more || p.Member != s.cfg.Member && len(p.Records) == 0 && l.live(view.Now, p)
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

// checkKnown makes it an error that no member has an objective although Options.InitialDelay is over and all live peers have
// published something: the objective's name is probably wrong.
func (s *Worker) checkKnown(l peerFilter, view workspace.View) error {
	if s.known || s.opt.target(s.iteration) < s.opt.InitialDelay && s.iteration < s.opt.lastIteration() || s.m.status().Failed {
		return nil
	}
	for _, p := range view.Members {
		if p.Member != s.cfg.Member && (l.live(view.Now, p) && len(p.Records) == 0 || slices.ContainsFunc(p.Records, func(r workspace.Record) bool { return r.HasObjective })) {
			return nil
		}
	}
	return s.opt.unknownObjective([]*member{s.m}, s.iteration)
}

// giveUp ends a member that no peer can rescue. Its last good state stays as it was saved.
func (s *Worker) giveUp() error {
	what := s.m.failure
	if what == "" {
		what = s.m.status().Trouble()
	}
	err := fmt.Errorf("pbt: %w after interval %d; member %d: %s", ErrNoHealthyMember, s.iteration, s.cfg.Member, what)
	if s.m.failure != "" && s.m.cause != nil {
		err = fmt.Errorf("%w: %w", err, s.m.cause)
	}
	return errors.Join(err, s.record(append(s.troubles(), s.m.event(s.iteration, journal.Hopeless, what))))
}

// troubles returns the event of a member that failed or diverged, unless the journal has it already.
func (s *Worker) troubles() []journal.Event {
	for _, e := range slices.Backward(s.journal.Events) {
		if e.Iteration < s.iteration {
			break
		}
		if e.Kind == journal.Failed || e.Kind == journal.Diverged {
			return nil
		}
	}
	return s.m.trouble(s.iteration)
}

// decide asks the strategy, applies its decision about this member, and returns the events to write. A source whose weights
// cannot be read is left out of the generation, and the strategy is asked again.
func (s *Worker) decide(ctx context.Context, l peerFilter, view workspace.View) ([]journal.Event, error) {
	events := s.troubles()
	l.without = make(map[int]bool)
	for {
		g, records := l.generation(view, s.m.status())
		parts := []int64{s.opt.Seed, streamDecide, s.iteration}
		if !s.cfg.Synchronous {
			parts = append(parts, int64(s.cfg.Member))
		}
		decisions, err := s.opt.decide(g, stream(parts...))
		if err != nil {
			return nil, err
		}
		d := decisions[s.cfg.Member]
		s.cause = d.Reason
		x := exploitation{Decision: d}
		switch {
		case d.Action != strategy.Replace && len(l.without) > 0: // what was decided could not be done
			return events, nil
		case d.Action == strategy.Replace:
			var values map[string]float64
			x.source, values, err = s.fetch(ctx, l, *records[d.Source])
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				e := s.announced(d, records[d.Source].Steps)
				e.Kind = journal.ApplyFailed
				e.Cause = fmt.Sprintf("%s (%s) could not be applied: source: %v", d.Action, d.Reason, err)
				events, l.without[d.Source] = append(events, e), true
				continue
			}
			if x.values = values; d.From != d.Source {
				x.values = g.Members[d.From].Hyperparameters
			}
		}
		return s.exploit(g, decisions, x, events)
	}
}
