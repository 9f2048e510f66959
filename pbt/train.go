package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Train trains all members to Options.TotalSteps and returns the best that any was at the end of an interval.
//
// When the context is cancelled the members stop, the population is saved, and the error is the context's cause;
// calling Train again, or New with the same options, continues. A member whose training fails or panics is written
// to the journal and rescued by another, so far as the strategy does that. Only when nobody healthy is left does
// Train give up, with ErrNoHealthyMember.
func (p *Population) Train(ctx context.Context) (*Result, error) {
	switch {
	case p.closed:
		return nil, errors.New("pbt: the population is closed; make another with New")
	case p.fatal != nil:
		return nil, p.fatal
	case p.done:
		return p.best, nil
	}
	if len(p.journal.events) == 0 {
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	for !p.done {
		err := p.interval(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			err = fmt.Errorf("pbt: stopped in interval %d of %d: %w", p.iteration, p.lastIteration(), err)
			return nil, errors.Join(err, p.save(false))
		default:
			p.fatal = err
			return nil, err
		}
	}
	return p.best, nil
}

// begin writes the journal's first lines.
func (p *Population) begin() error {
	events := []Event{{Kind: EventPopulation, Member: -1, Parent: -1, Run: &RunInfo{
		Schema: journalSchema, Members: p.opt.Members, Objective: p.opt.Objective, IntervalSteps: p.opt.IntervalSteps, Seed: p.opt.Seed,
		Strategy: fmt.Sprintf("%T%+v", p.opt.Strategy, p.opt.Strategy), Tuned: p.tuned,
	}}}
	for _, m := range p.members {
		events = append(events, Event{Kind: EventStart, Member: m.id, Parent: -1, Seed: m.seed, After: maps.Clone(m.hyperparameters)})
	}
	return p.record(events)
}

// interval trains to the interval's end, decides, applies and saves.
func (p *Population) interval(ctx context.Context) error {
	target := p.target()
	if err := p.each(ctx, func(m *member) error { p.train(ctx, m, target); return nil }); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g := p.Generation()
	if err := p.checkHealth(g); err != nil {
		return err
	}
	if err := p.rememberBest(g); err != nil {
		return err
	}
	if p.iteration >= p.lastIteration() {
		return p.finish()
	}
	decisions, err := p.decide(g)
	if err != nil {
		return err
	}
	if err := p.record(append(p.failures(), p.apply(decisions)...)); err != nil {
		return err
	}
	p.iteration++
	return p.save(false)
}

// train advances one member to its target. What goes wrong is the member's failure, not an error.
func (p *Population) train(ctx context.Context, m *member, target int64) {
	if m.failure != "" {
		return
	}
	for m.steps < target && ctx.Err() == nil {
		m.snapshot = nil
		steps := target - m.steps
		if p.opt.ProgressSteps > 0 {
			steps = min(steps, p.opt.ProgressSteps)
		}
		if err := guarded(func() error { return m.advance(ctx, steps, p.opt.Objective) }); err != nil {
			m.fail(p.iteration, err)
			return
		}
		p.tell(m, nil)
	}
}

// checkHealth ends training when nobody can be copied, or the objective does not exist.
func (p *Population) checkHealth(g Generation) error {
	healthy, hopeful := false, false
	for _, m := range g.Members {
		healthy = healthy || m.Healthy()
		hopeful = hopeful || !m.Diverged()
		p.known = p.known || m.HasObjective
	}
	if !healthy && !hopeful {
		events := p.failures()
		err := fmt.Errorf("pbt: %w after interval %d", ErrNoHealthyMember, p.iteration)
		for _, m := range p.members {
			what := fmt.Sprintf("%s is %v", p.opt.Objective, m.objective)
			if m.failure != "" {
				what = m.failure
			}
			if m.cause != nil && m.failure != "" {
				err = fmt.Errorf("%w; member %d: %w", err, m.id, m.cause)
			} else {
				err = fmt.Errorf("%w; member %d: %s", err, m.id, what)
			}
			events = append(events, p.event(m, EventHopeless, what))
		}
		return errors.Join(err, p.record(events))
	}
	if !p.known && (p.target() >= p.opt.InitialDelay || p.iteration >= p.lastIteration()) {
		names := make(map[string]bool)
		for _, m := range p.members {
			for name := range m.metrics {
				names[name] = true
			}
		}
		return fmt.Errorf("pbt: no member reported the objective %q by the end of interval %d: %s; if it takes longer to appear, make IntervalSteps or InitialDelay greater", p.opt.Objective, p.iteration, unknown(p.opt.Objective, slices.Sorted(maps.Keys(names))))
	}
	return nil
}

// rememberBest keeps a snapshot of the best member there ever was.
func (p *Population) rememberBest(g Generation) error {
	b, ok := g.best()
	if !ok || p.best != nil && b.Objective <= p.best.Objective {
		return nil
	}
	snapshot, err := p.members[b.Member].snapshotOf()
	if err != nil {
		return wrapMember(b.Member, err)
	}
	p.best = &Result{Member: b.Member, Iteration: p.iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: b.Hyperparameters, Snapshot: snapshot}
	return nil
}

// decide asks the strategy and completes and checks what it says.
func (p *Population) decide(g Generation) ([]Decision, error) {
	decisions := make([]Decision, len(g.Members))
	for i := range decisions {
		decisions[i] = Decision{Member: i, Action: Keep, Source: i}
	}
	if p.target() < p.opt.InitialDelay {
		for i := range decisions {
			decisions[i].Reason = fmt.Sprintf("nothing is decided before %d steps", p.opt.InitialDelay)
		}
		return decisions, nil
	}
	var decided []Decision
	if err := guarded(func() error {
		decided = p.opt.Strategy.Decide(p.Generation(), stream(p.opt.Seed, streamDecide, p.iteration))
		return nil
	}); err != nil {
		return nil, fmt.Errorf("pbt: strategy %T: %w", p.opt.Strategy, err)
	}
	seen := make(map[int]bool)
	for _, d := range decided {
		wrong := func(what string) error {
			return fmt.Errorf("pbt: strategy %T decided %+v: %s", p.opt.Strategy, d, what)
		}
		switch {
		case d.Member < 0 || d.Member >= len(g.Members):
			return nil, wrong("there is no such member")
		case seen[d.Member]:
			return nil, wrong("the member has a decision already")
		case d.Action != Keep && d.Action != Replace && d.Action != SelfMutate:
			return nil, wrong("there is no such action")
		case d.Action == Replace && (d.Source < 0 || d.Source >= len(g.Members) || d.Source == d.Member):
			return nil, wrong("the source must be another member")
		case d.Action == Replace && !g.Members[d.Source].Healthy():
			return nil, wrong("only healthy members can be copied")
		}
		seen[d.Member] = true
		decisions[d.Member] = d
	}
	return decisions, nil
}

// finish saves the end of training; the last events are written after, and again when this is repeated.
func (p *Population) finish() error {
	if err := p.save(true); err != nil {
		return err
	}
	events := p.failures()
	for _, m := range p.members {
		events = append(events, p.event(m, EventFinal, ""))
	}
	p.done = true
	return p.record(events)
}

// failures are the events of members that failed in this interval.
func (p *Population) failures() []Event {
	var events []Event
	for _, m := range p.members {
		if m.failure != "" && m.failedIteration == p.iteration {
			events = append(events, p.event(m, EventFailed, m.failure))
		}
	}
	return events
}

func (p *Population) event(m *member, kind EventKind, cause string) Event {
	return Event{Kind: kind, Iteration: p.iteration, Member: m.id, Parent: -1, Steps: m.steps, Objective: m.objective, HasObjective: m.hasObjective, Before: maps.Clone(m.hyperparameters), Cause: cause}
}

// record writes events to the journal and tells about them.
func (p *Population) record(events []Event) error {
	if err := p.journal.append(events...); err != nil {
		return err
	}
	for i := range events {
		if id := events[i].Member; id >= 0 {
			p.tell(p.members[id], &events[i])
		}
	}
	return nil
}
