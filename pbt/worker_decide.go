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
func (w *Worker) decideAndApply(ctx context.Context) error {
	// After the last interval nothing is decided. Only a member that has diverged still waits for weights to end with.
	last := w.iteration >= w.opt.lastIteration()
	if last && !w.m.status().Diverged() {
		if err := w.awaitKnown(ctx); err != nil {
			return err
		}
		return w.finish()
	}
	view, err := w.gather(ctx)
	if err != nil {
		return err
	}
	// A healthy member goes through this loop once. A failed one repeats it until the strategy lets it copy a peer.
	for {
		l := w.peers()
		if l, view, err = w.awaitHealthy(ctx, l, view); err != nil {
			return err
		}
		if last {
			return w.finish()
		}
		events, err := w.decide(ctx, l, view)
		if err != nil {
			return err
		}
		if w.m.failure == "" || w.cfg.Synchronous {
			return w.nextInterval(view, events)
		}
		// The member cannot train and was not rescued. It waits for new records of its peers, and writes only what has
		// changed since the last round: not once more that it was kept.
		if slices.ContainsFunc(events, func(e journal.Event) bool { return e.Kind == journal.Keep || e.Kind == journal.SelfMutate }) {
			events = nil
		}
		if err := w.record(events); err != nil {
			return err
		}
		if err := w.persist(); err != nil {
			return err
		}
		if view, err = w.awaitChange(ctx, view); err != nil {
			return err
		}
	}
}

// peers returns the filter for the present interval.
func (w *Worker) peers() peerFilter {
	return peerFilter{
		member: w.cfg.Member, iteration: w.iteration, exact: w.cfg.Synchronous, slack: w.cfg.Slack, measure: w.opt.Measure,
		silence: w.cfg.Silence, since: w.joined, frames: w.opt.target(w.iteration), total: w.opt.TotalSteps,
	}
}

// awaitHealthy lets a member that failed or diverged wait until there is a healthy peer to copy, as long as one may
// still appear. It returns the filter and the view to decide by; without hope it gives up.
func (w *Worker) awaitHealthy(ctx context.Context, l peerFilter, view workspace.View) (peerFilter, workspace.View,
	error) {
	wait := waiter{worker: w}
	for {
		own := w.m.status()
		g, _ := l.generation(view, own)
		for _, m := range g.Members {
			w.known = w.known || m.HasObjective
		}
		if err := w.checkKnown(l, view); err != nil {
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
			return l, view, w.giveUp()
		}
		// Synchronous members must all decide now, this one too: it is kept, and rescued in a later interval.
		if l.exact {
			return l, view, nil
		}
		var err error
		if view, err = wait.next(ctx); err != nil {
			return l, view, err
		}
	}
}

// awaitKnown makes it an error, at the end of training, that no member ever had an objective. Peers that may still
// report one are waited for.
func (w *Worker) awaitKnown(ctx context.Context) error {
	wait := waiter{worker: w}
	w.known = w.known || w.m.status().HasObjective
	view, err := workspace.View{}, error(nil)
	if !w.known {
		view, err = w.view(ctx)
	}
	for !w.known && err == nil {
		l, more := w.peers(), false
		for _, p := range view.Members {
			for _, r := range slices.Concat(p.Records, p.Stale) {
				w.known = w.known || r.HasObjective
			}
			more = more || p.Member != w.cfg.Member && len(p.Records) == 0 && l.live(view.Now, p)
		}
		switch {
		case w.known:
		case more:
			view, err = wait.next(ctx)
		default:
			return w.opt.unknownObjective([]*member{w.m}, w.iteration)
		}
	}
	return err
}

// checkKnown makes it an error that no member has an objective although Options.InitialDelay is over and all live peers
// have published something: the objective's name is probably wrong.
func (w *Worker) checkKnown(l peerFilter, view workspace.View) error {
	if w.known || w.opt.target(w.iteration) < w.opt.InitialDelay && w.iteration < w.opt.lastIteration() ||
		w.m.status().Failed {
		return nil
	}
	for _, p := range view.Members {
		if p.Member != w.cfg.Member && (l.live(view.Now, p) && len(p.Records) == 0 || slices.ContainsFunc(p.Records, func(r workspace.Record) bool { return r.HasObjective })) {
			return nil
		}
	}
	return w.opt.unknownObjective([]*member{w.m}, w.iteration)
}

// giveUp ends a member that no peer can rescue. Its last good state stays as it was saved.
func (w *Worker) giveUp() error {
	what := w.m.failure
	if what == "" {
		what = w.m.status().Trouble()
	}
	err := fmt.Errorf("pbt: %w after interval %d; member %d: %s", ErrNoHealthyMember, w.iteration, w.cfg.Member, what)
	if w.m.failure != "" && w.m.cause != nil {
		err = fmt.Errorf("%w: %w", err, w.m.cause)
	}
	return errors.Join(err, w.record(append(w.troubles(), w.m.event(w.iteration, journal.Hopeless, what))))
}

// troubles returns the event of a member that failed or diverged, unless the journal has it already.
func (w *Worker) troubles() []journal.Event {
	for _, e := range slices.Backward(w.journal.Events) {
		if e.Iteration < w.iteration {
			break
		}
		if e.Kind == journal.Failed || e.Kind == journal.Diverged {
			return nil
		}
	}
	return w.m.trouble(w.iteration)
}

// decide asks the strategy, applies its decision about this member, and returns the events to write. A source whose
// weights cannot be read is left out of the generation, and the strategy is asked again.
func (w *Worker) decide(ctx context.Context, l peerFilter, view workspace.View) ([]journal.Event, error) {
	events := w.troubles()
	l.without = make(map[int]bool)
	for {
		g, records := l.generation(view, w.m.status())
		parts := []int64{w.opt.Seed, streamDecide, w.iteration}
		if !w.cfg.Synchronous {
			parts = append(parts, int64(w.cfg.Member))
		}
		decisions, err := w.opt.decide(g, stream(parts...))
		if err != nil {
			return nil, err
		}
		d := decisions[w.cfg.Member]
		w.cause = d.Reason
		x := exploitation{Decision: d}
		switch {
		case d.Action != strategy.Replace && len(l.without) > 0: // what was decided could not be done
			return events, nil
		case d.Action == strategy.Replace:
			var values map[string]float64
			x.source, values, err = w.fetch(ctx, l, *records[d.Source])
			if ctx.Err() != nil {
				return nil, contextError(ctx)
			}
			if err != nil {
				e := w.announced(d, records[d.Source].Steps)
				e.Kind = journal.ApplyFailed
				e.Cause = fmt.Sprintf("%s (%s) could not be applied: source: %v", d.Action, d.Reason, err)
				events, l.without[d.Source] = append(events, e), true
				continue
			}
			if x.values = values; d.Origin() != d.Source {
				x.values = g.Members[d.Origin()].Hyperparameters
			}
		}
		return w.exploit(g, decisions, x, events)
	}
}
