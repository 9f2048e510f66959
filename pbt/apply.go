package pbt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
)

// inheritance is what a source hands on, taken before any decision is applied.
type inheritance struct {
	snapshot        *checkpoint.Snapshot
	hyperparameters map[string]float64
	steps           int64
	err             error
}

// apply carries out decisions, one a member and in their order, and returns what became of them.
func (p *Population) apply(decisions []Decision) []Event {
	sources := make(map[int]inheritance)
	for _, d := range decisions {
		if _, taken := sources[d.Source]; d.Action != Replace || taken {
			continue
		}
		s := p.members[d.Source]
		snapshot, err := s.snapshotOf()
		sources[d.Source] = inheritance{snapshot: snapshot, hyperparameters: maps.Clone(s.hyperparameters), steps: s.steps, err: err}
	}
	events := make([]Event, 0, len(decisions))
	for _, d := range decisions {
		m := p.members[d.Member]
		e := p.event(m, EventKind(d.Action), d.Reason)
		trained := m.failure == ""
		var err error
		switch d.Action {
		case Replace:
			s := sources[d.Source]
			e.Parent, e.ParentSteps = d.Source, s.steps
			if err = s.err; err != nil {
				err = fmt.Errorf("source: %w", err)
			} else {
				err = p.replace(m, s)
			}
			if err == nil {
				m.parent = d.Source
			}
		case SelfMutate:
			err = p.selfMutate(m)
		}
		if err != nil {
			e.Kind, e.Cause = EventApplyFailed, fmt.Sprintf("%s (%s) could not be applied: %v", d.Action, d.Reason, err)
		} else if d.Action != Keep {
			e.After = maps.Clone(m.hyperparameters)
		}
		events = append(events, e)
		if trained && m.failure != "" { // not even putting it back succeeded
			events = append(events, p.event(m, EventFailed, m.failure))
		}
	}
	return events
}

func (p *Population) mutate(m *member, values map[string]float64) map[string]float64 {
	return p.opt.Mutation.Apply(values, stream(p.opt.Seed, streamMutate, p.iteration, int64(m.id)))
}

// selfMutate changes a member's hyperparameters and nothing else.
func (p *Population) selfMutate(m *member) error {
	if m.failure != "" {
		return errors.New("the member failed; only another's weights can rescue it")
	}
	old := maps.Clone(m.hyperparameters)
	err := guarded(func() error { return m.adopt(p.mutate(m, old)) })
	if err != nil {
		if undo := guarded(func() error { return m.adopt(old) }); undo != nil {
			m.fail(p.iteration, fmt.Errorf("hyperparameters could not be put back: %w", undo))
			m.hyperparameters = old
		}
		return err
	}
	m.snapshot = nil
	return nil
}

// replace gives the member the source's weights first and the mutated hyperparameters last, or, on error, leaves it
// as it was.
func (p *Population) replace(m *member, s inheritance) error {
	values := p.mutate(m, s.hyperparameters)
	if m.failure != "" {
		return p.rebuild(m, s, values)
	}
	rollback, err := m.snapshotOf()
	if err != nil { // it cannot be put back if anything goes wrong, so it must not be touched
		return p.rebuild(m, s, values)
	}
	old := m.hyperparameters
	if err := guarded(func() error { return p.inherit(m, s, values) }); err != nil {
		undo := guarded(func() error {
			if err := m.trainee.Restore(rollback); err != nil {
				return err
			}
			return m.adopt(old)
		})
		if undo != nil {
			m.fail(p.iteration, fmt.Errorf("could not be put back after a failed copy: %w", undo))
			m.hyperparameters = old
		}
		return err
	}
	m.renew()
	return nil
}

// inherit is the order in which everything is handed on.
func (p *Population) inherit(m *member, s inheritance, values map[string]float64) error {
	if err := m.trainee.Restore(s.snapshot); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if r, ok := m.trainee.(Reseeder); ok {
		if err := r.Reseed(seed(p.opt.Seed, streamReseed, p.iteration, int64(m.id))); err != nil {
			return fmt.Errorf("reseed: %w", err)
		}
	}
	return m.adopt(values)
}

// rebuild replaces a member whose trainee cannot be trusted by one built anew, once that has taken over the source.
func (p *Population) rebuild(m *member, s inheritance, values map[string]float64) error {
	fresh := &member{id: m.id}
	err := guarded(func() (err error) {
		fresh.trainee, err = p.opt.New(Member{ID: m.id, Seed: seed(p.opt.Seed, streamRebuild, p.iteration, int64(m.id)), Hyperparameters: maps.Clone(values)})
		if err == nil && fresh.trainee == nil {
			err = errors.New("New returned nothing")
		}
		if err != nil {
			return fmt.Errorf("building it anew: %w", err)
		}
		return p.inherit(fresh, s, values)
	})
	if err != nil {
		if fresh.trainee != nil {
			err = errors.Join(err, guarded(fresh.trainee.Close))
		}
		return err
	}
	abandoned := m.trainee
	m.trainee, m.hyperparameters = fresh.trainee, fresh.hyperparameters
	m.renew()
	// The abandoned trainee is in an unknown state: that it may not close cleanly must not cost the new one.
	_ = guarded(abandoned.Close)
	return nil
}
