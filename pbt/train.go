package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Train trains all members to Options.TotalSteps and returns the best that any was at the end of an interval.
//
// When the context is cancelled the members stop, the population is saved, and the error wraps the context's error
// and its cause. Calling Train again, or New with the same options, continues. If the training of a member fails or
// panics, the journal records it, and the strategy may let the member copy another one. Train returns
// ErrNoHealthyMember only when no healthy member is left.
func (p *Population) Train(ctx context.Context) (*Result, error) {
	switch {
	case p.closed:
		return nil, errors.New("pbt: the population is closed; make another with New")
	case p.fatal != nil:
		return nil, p.fatal
	case p.done:
		return p.best, nil
	}
	if len(p.journal.Events) == 0 {
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	for !p.done {
		next := p.interval
		if p.ended { // the process was killed before it wrote the last events
			next = p.finish
		}
		err := next(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			err = fmt.Errorf("pbt: stopped in interval %d of %d: %w", p.iteration, p.opt.lastIteration(), err)
			return nil, errors.Join(err, p.save(false))
		default:
			p.fatal = err
			return nil, err
		}
	}
	return p.best, nil
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

// begin writes the journal's first lines.
func (p *Population) begin() error {
	return p.record(p.opt.begin(p.members))
}

// begin returns the events that a journal of these members begins with: the population, and the start of each member.
func (o *Options) begin(members []*member) []journal.Event {
	events := []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{
		Schema: journal.Schema, Members: o.Members, Objective: o.Objective, IntervalSteps: o.IntervalSteps, Seed: o.Seed, Minimise: o.Measure.Minimise,
		Strategy: strategy.Describe(o.Strategy), Tuned: o.Tuned(slices.Sorted(maps.Keys(members[0].hyperparameters))),
	}}}
	for _, m := range members {
		events = append(events, journal.Event{Kind: journal.Start, Member: m.id, Parent: -1, Seed: m.seed, Before: m.original,
			After: maps.Clone(m.hyperparameters), Mutation: m.mutation, Architecture: m.describe()})
		m.original, m.mutation = nil, ""
	}
	return events
}

// interval is the loop of population based training: train and measure all members, remember the best, decide, exploit
// and explore, record, save. After a cancelled context it returns the cause, and the interval is repeated from where
// its members stopped.
func (p *Population) interval(ctx context.Context) error {
	for training := true; training; {
		if err := p.all(ctx, func(m *member) error {
			return m.train(ctx, p.iteration, p.opt.SaveSteps, func() { m.tell(p.iteration, nil) })
		}); err != nil {
			return err
		}
		training = slices.ContainsFunc(p.members, func(m *member) bool {
			return m.failure == "" && m.steps < p.opt.target(p.iteration)
		})
		if training {
			if err := p.save(false); err != nil {
				return err
			}
		}
	}
	if err := p.all(ctx, func(m *member) error { m.measureEnd(ctx, p.iteration); return nil }); err != nil {
		return err
	}
	// From here on nothing waits for members: what follows is quick, and is repeated as a whole after a crash.
	for _, m := range p.members {
		m.score(p.iteration)
	}
	g := p.Generation()
	if err := p.checkHealth(g); err != nil {
		return err
	}
	// The best is remembered before any decision: a decision may replace or mutate it.
	if err := p.rememberBest(g); err != nil {
		return err
	}
	if p.iteration >= p.opt.lastIteration() || p.opt.reached(g) {
		return p.finish(ctx)
	}
	decisions, err := p.opt.decide(g, stream(p.opt.Seed, streamDecide, p.iteration))
	if err != nil {
		return err
	}
	// The journal is written before the state. If the process dies in between, the next one continues from the state
	// before, decides the same again, and moves these events aside.
	events, err := p.exploit(decisions)
	if err != nil {
		return err
	}
	if err := p.record(events); err != nil {
		return err
	}
	p.iteration++
	for _, m := range p.members {
		m.nextInterval()
	}
	if err := p.save(false); err != nil {
		return err
	}
	return p.tellInterval()
}

// Generation returns where all members stand, as strategies see it.
func (p *Population) Generation() strategy.Generation {
	g := strategy.Generation{Iteration: p.iteration}
	for _, m := range p.members {
		g.Members = append(g.Members, m.status())
	}
	return g
}

// all runs f for all members. It returns their errors, or the error of the context if it is cancelled.
func (p *Population) all(ctx context.Context, f func(m *member) error) error {
	if err := p.each(ctx, f); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return nil
}

// each runs f for all members, at most Options.Parallel at a time, and joins their errors. A cancelled context keeps
// members that still wait for their turn from starting.
func (p *Population) each(ctx context.Context, f func(m *member) error) error {
	slots := make(chan struct{}, p.opt.Parallel)
	errs := make([]error, len(p.members))
	var wg sync.WaitGroup
start:
	for i, m := range p.members {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			break start
		}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(m)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// checkHealth ends training when no member can be copied any more, or when it is time and no member has reported the
// objective, whose name is then probably wrong.
func (p *Population) checkHealth(g strategy.Generation) error {
	healthy, hopeful := false, false
	for _, m := range g.Members {
		healthy = healthy || m.Healthy()
		hopeful = hopeful || !m.Diverged()
		p.known = p.known || m.HasObjective
	}
	if !healthy && !hopeful {
		events := p.troubles()
		err := fmt.Errorf("pbt: %w after interval %d", ErrNoHealthyMember, p.iteration)
		for _, m := range p.members {
			what := fmt.Sprintf("%s is %v", p.opt.Objective, p.opt.Measure.signed(m.objective))
			switch {
			case m.failure != "":
				what = m.failure
			case m.diverged != "":
				what = m.diverged
			}
			if m.cause != nil && m.failure != "" {
				err = fmt.Errorf("%w; member %d: %w", err, m.id, m.cause)
			} else {
				err = fmt.Errorf("%w; member %d: %s", err, m.id, what)
			}
			events = append(events, m.event(p.iteration, journal.Hopeless, what))
		}
		return errors.Join(err, p.record(events))
	}
	if !p.known && (p.opt.target(p.iteration) >= p.opt.InitialDelay || p.iteration >= p.opt.lastIteration()) {
		return p.opt.unknownObjective(p.members, p.iteration)
	}
	return nil
}

// rememberBest keeps a snapshot of the best member at any interval's end.
func (p *Population) rememberBest(g strategy.Generation) error {
	b, ok := g.Best()
	if !ok || p.best != nil && b.Objective <= p.opt.Measure.signed(p.best.Objective) {
		return nil
	}
	snapshot, err := p.members[b.Member].snapshotOf()
	if err != nil {
		return wrapMember(b.Member, err)
	}
	p.best = &Result{Member: b.Member, Iteration: p.iteration, Steps: b.Steps,
		Objective: p.opt.Measure.signed(b.Objective), Hyperparameters: b.Hyperparameters, Snapshot: snapshot}
	return nil
}

// finish saves the end of training. The last events are written after the state: a process that is killed in between
// writes them again when it continues.
func (p *Population) finish(context.Context) error {
	if !p.ended {
		if err := p.save(true); err != nil {
			return err
		}
	}
	events := p.troubles()
	for _, m := range p.members {
		events = append(events, m.event(p.iteration, journal.Final, ""))
	}
	p.done = true
	if err := p.record(events); err != nil {
		return err
	}
	return p.tellInterval()
}

// tellInterval calls Options.OnInterval.
func (p *Population) tellInterval() error {
	if p.opt.OnInterval == nil {
		return nil
	}
	if err := guarded(func() error { return p.opt.OnInterval(p) }); err != nil {
		return fmt.Errorf("pbt: OnInterval: %w", err)
	}
	return nil
}

// troubles returns the events of members that failed or diverged in this interval.
func (p *Population) troubles() []journal.Event {
	var events []journal.Event
	for _, m := range p.members {
		events = append(events, m.trouble(p.iteration)...)
	}
	return events
}

// record writes events to the journal and reports them to Options.Progress.
func (p *Population) record(events []journal.Event) error {
	if err := p.journal.Append(events...); err != nil {
		return err
	}
	for i := range events {
		if id := events[i].Member; id >= 0 {
			p.members[id].tell(p.iteration, &events[i])
		}
	}
	return nil
}
