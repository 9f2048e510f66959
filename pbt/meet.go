package pbt

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/journal"
)

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
		if _, ok := w.m.trainee.(Meeter); ok && w.m.failure == "" {
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
	if p, ok := m.trainee.(Meeter); ok && m.failure == "" {
		_ = guarded(func() error { s = p.SelfPlay(); return nil })
	}
	return s
}
