package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/internal/streams"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// round is the decision about one interval of a group: what it is made from, and what comes of it.
type round struct {
	*group
	filter peers.Filter
	view   workspace.View

	generation strategy.Generation
	records    []*workspace.Record // of the peers in the generation, by member
	decisions  []strategy.Decision // one for each member of the generation
	sources    map[int]source      // what is copied, by member
	standing   []journal.Event     // where the members stand before any decision is applied
	events     []journal.Event     // to be written
}

// run makes the decision of an interval, and then gives members that play against each other ([Meeter]) the members
// as they were before.
func (g *round) run(ctx context.Context) ([]journal.Event, error) {
	present, err := g.present(ctx)
	if err != nil {
		return nil, err
	}
	events, err := g.decide(ctx)
	if err != nil {
		return nil, err
	}
	return events, g.meet(present)
}

// decide asks the strategy, applies the decisions about the group's members, and returns the events to write. If the
// weights of a peer cannot be read, the peer is left out of the generation, and the strategy is asked again.
func (g *round) decide(ctx context.Context) ([]journal.Event, error) {
	g.events, g.filter.Without = g.troubles(), make(map[int]bool)
	seeds := []int64{g.opt.Seed, streams.Decide, g.iteration}
	if !g.exact() {
		seeds = append(seeds, int64(g.filter.Member))
	}
	for {
		g.generation, g.records = g.filter.Generation(g.view, g.statuses()...)
		asked, err := strategy.Ask(g.opt.Strategy, g.generation, streams.New(seeds...))
		if err != nil {
			return nil, err
		}
		g.decisions = strategy.Settle(asked, g.generation, g.opt.Delays, g.opt.Reference)
		copies := false
		for _, w := range g.workers {
			w.cause = g.decisions[w.id].Reason
			copies = copies || g.decisions[w.id].Action == strategy.Replace
		}
		if !copies && len(g.filter.Without) > 0 { // what was decided could not be done
			return g.events, nil
		}
		unread, err := g.capture(ctx)
		if err != nil {
			return nil, err
		}
		if len(unread) == 0 {
			return g.exploit()
		}
		g.events = append(g.events, unread...)
	}
}

// capture reads everything that the decisions copy before anything changes: a source may itself be replaced in this
// interval. It returns an event for every copy of weights that cannot be read, and notes their members in the filter.
func (g *round) capture(ctx context.Context) (unread []journal.Event, err error) {
	g.sources = make(map[int]source)
	for _, w := range g.workers {
		d := g.decisions[w.id]
		_, captured := g.sources[d.Source]
		switch {
		case d.Action != strategy.Replace || captured:
		case g.holds(d.Source):
			g.sources[d.Source] = g.worker(d.Source).m.source()
		default:
			r := *g.records[d.Source]
			s, err := g.fetch(ctx, r)
			if ctx.Err() != nil {
				return nil, contextError(ctx)
			}
			if err != nil {
				e := notApplied(w.announced(d, r.Steps), fmt.Errorf("source: %w", err))
				unread, g.filter.Without[d.Source] = append(unread, e), true
				continue
			}
			g.sources[d.Source] = s
		}
	}
	return unread, nil
}

// fetch reads a peer's weights, which the store verifies, and the hyperparameters that belong to them. If they are
// damaged or gone it looks again, up to four times: the peer may have been replacing them.
func (g *round) fetch(ctx context.Context, r workspace.Record) (source, error) {
	wait := waiter{group: g.group, brief: true}
	for try := 1; ; try++ {
		snapshot, err := g.cfg.Store.Fetch(r)
		if err == nil {
			err = snapshot.CheckFinite()
		}
		if err == nil {
			return source{member: r.Member, snapshot: snapshot, steps: r.Steps, weightSteps: r.WeightSteps,
				hyperparameters: maps.Clone(r.Hyperparameters)}, nil
		}
		if try == 4 {
			return source{}, err
		}
		view, ended := wait.next(ctx)
		if ended != nil {
			return source{}, ended
		}
		again := g.filter.Record(view.Members[r.Member])
		if again == nil || again.Weights == nil {
			return source{}, err
		}
		r = *again
	}
}

// announced returns the event of a decision before it is applied. sourceSteps are the source's own environment steps.
func (w *worker) announced(d strategy.Decision, sourceSteps int64) journal.Event {
	e := w.m.event(w.group.iteration, journal.Kind(d.Action), d.Reason)
	if d.Action == strategy.Replace {
		e.Parent, e.ParentSteps = d.Source, sourceSteps
	}
	return e
}

// exploit applies one decision for every member of the group, in the order of their numbers, and returns the journal's
// events. A decision that takes a new process is saved for it, and the error is ErrRestart.
func (g *round) exploit() ([]journal.Event, error) {
	before := slices.Clone(g.events)
	g.standing = make([]journal.Event, len(g.generation.Members))
	for i, m := range g.generation.Members {
		if g.holds(i) {
			g.standing[i] = g.worker(i).m.event(g.iteration, journal.Keep, "")
			continue
		}
		g.standing[i] = journal.Event{
			Kind: journal.Keep, Iteration: g.iteration, Member: i, Parent: -1, Steps: m.Steps,
			Objective: g.opt.Measure.signed(m.Objective), HasObjective: m.HasObjective, Before: m.Hyperparameters,
		}
	}
	journals := sync.OnceValues(g.allEvents)
	for _, w := range g.workers {
		d := g.decisions[w.id]
		x := exploitation{Decision: d, source: g.sources[d.Source]}
		if x.values = x.source.hyperparameters; d.Action == strategy.Replace && d.Origin() != d.Source {
			x.values = g.generation.Members[d.Origin()].Hyperparameters
		}
		var unread error
		x.history = func() []journal.Event {
			recorded, err := journals()
			unread = errors.Join(unread, err)
			return g.history(recorded, w.id)
		}
		e := w.announced(d, x.source.steps)
		e.SelfPlay = w.m.selfPlay()
		applied, err := w.m.exploit(e, x)
		if elsewhere, ok := errors.AsType[*errNewProcess](err); ok {
			g.phase = states.Decided
			w.pending = &states.Pending{Events: before, Event: e, Values: elsewhere.values,
				Source: x.source.member, SourceSteps: x.source.steps, SourceWeightSteps: x.source.weightSteps,
				Weights: x.source.snapshot}
			if err := w.persist(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("pbt: member %d, interval %d: %w", w.id, g.iteration, ErrRestart)
		}
		if err = errors.Join(unread, err); err != nil {
			return nil, wrapMember(w.id, err)
		}
		if applied[0].Kind == journal.Replace {
			w.copies++
		}
		g.events = append(g.events, applied...)
	}
	return g.events, nil
}

// history returns what an explore.Fitter learns from when it explores for the member own: the journals of all members,
// the decisions applied in this interval before it, and where the other members stand. Members that wait for each other
// all know the same; each works out what its peers before it were given in this iteration.
func (g *round) history(known []journal.Event, own int) []journal.Event {
	if !g.exact() {
		return slices.Concat(known, g.events, g.standing[own:own+1])
	}
	// Peers may be ahead of this member: what they have written since must not make a difference.
	if end := slices.IndexFunc(known, func(e journal.Event) bool { return e.Iteration >= g.iteration }); end >= 0 {
		known = known[:end]
	}
	known = slices.Concat(known, g.events)
	for i, d := range g.decisions[:own] {
		if g.holds(i) {
			continue
		}
		e := g.standing[i]
		e.Kind, e.Cause = journal.Kind(d.Action), d.Reason
		mutates := d.Action == strategy.SelfMutate
		switch d.Action {
		case strategy.Replace:
			e.Parent, e.ParentSteps, mutates = d.Source, g.generation.Members[d.Source].Steps, d.Mutate
			e.After = g.generation.Members[d.Origin()].Hyperparameters
		case strategy.SelfMutate:
			e.After = e.Before
		}
		if mutates {
			c := Candidate{Member: i, Iteration: g.iteration, Hyperparameters: e.After}
			before := func() []journal.Event { return slices.Concat(known, g.standing[i:]) }
			if c, _, err := g.opt.mutate(c, before); err == nil {
				e.After = c.Hyperparameters
			}
		}
		known = append(known, e)
	}
	return append(known, g.standing[own:]...)
}

// allEvents returns the journals of all members, merged, as far as this process can read them; a damaged journal is
// left out.
func (g *round) allEvents() ([]journal.Event, error) {
	dir := g.workers[0].lease.Dir()
	if dir == "" || len(g.population.workers()) == g.opt.Members {
		return g.population.Journal(), nil
	}
	events, err := journal.Read(filepath.Dir(dir))
	if events == nil {
		return nil, err
	}
	return events, nil
}

// present returns the snapshots of all members, by number, nil for those that have no weights to show. It returns none
// if no member of the group plays against others.
func (g *round) present(ctx context.Context) ([]*checkpoint.Snapshot, error) {
	if len(g.meeters()) == 0 {
		return nil, nil
	}
	all := make([]*checkpoint.Snapshot, g.opt.Members)
	for _, w := range g.workers {
		if !w.m.status().Diverged() {
			all[w.id], _ = w.m.snapshotOf() // without one the member has nothing to show
		}
	}
	_, records := g.filter.Generation(g.view, g.statuses()...)
	for i, r := range records {
		if r == nil || r.Weights == nil || r.Failure != "" {
			continue
		}
		s, err := g.fetch(ctx, *r)
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		if err == nil { // otherwise its peers keep what they have of it
			all[i] = s.snapshot
		}
	}
	return all, nil
}

// meeters returns the group's members that play against others and can train.
func (g *group) meeters() (all []*worker) {
	for _, w := range g.workers {
		if _, ok := w.m.trainee.(Meeter); ok && w.m.Failure == "" {
			all = append(all, w)
		}
	}
	return all
}

// meet begins the next interval of the members that play against others.
func (g *round) meet(present []*checkpoint.Snapshot) error {
	for _, w := range g.meeters() {
		if err := guarded(func() error { return w.m.trainee.(Meeter).Meet(g.iteration, present) }); err != nil {
			return wrapMember(w.id, fmt.Errorf("opponents: %w", err))
		}
		w.m.snapshot = nil
	}
	return nil
}

// selfPlay returns whom the member met in this interval, nil for members that do not play against others.
func (m *member) selfPlay() (s *journal.SelfPlay) {
	if p, ok := m.trainee.(Meeter); ok && m.Failure == "" {
		_ = guarded(func() error { s = p.SelfPlay(); return nil })
	}
	return s
}
