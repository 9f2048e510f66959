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

// mutate returns a mutated copy of values for a member at an interval's end.
func (o *Options) mutate(id int, iteration int64, values map[string]float64) map[string]float64 {
	return o.explorer().Apply(values, stream(o.Seed, streamMutate, iteration, int64(id)))
}

// selfMutate changes a member's hyperparameters and nothing else.
func (m *member) selfMutate(o *Options, iteration int64) error {
	if m.failure != "" {
		return errors.New("the member failed; only another's weights can rescue it")
	}
	old := maps.Clone(m.hyperparameters)
	err := guarded(func() error { return m.adopt(o.mutate(m.id, iteration, old)) })
	if err != nil {
		if undo := guarded(func() error { return m.adopt(old) }); undo != nil {
			m.fail(iteration, fmt.Errorf("hyperparameters could not be put back: %w", undo))
			m.hyperparameters = old
		}
		return err
	}
	m.snapshot = nil
	return nil
}

// replace gives the member the source's weights first and the mutated hyperparameters last, or, on error, leaves it
// as it was.
func (m *member) replace(o *Options, iteration int64, s inheritance) error {
	values := o.mutate(m.id, iteration, s.hyperparameters)
	if m.failure != "" {
		return m.rebuild(o, iteration, s, values)
	}
	rollback, err := m.snapshotOf()
	if err != nil { // it cannot be put back if anything goes wrong, so it must not be touched
		return m.rebuild(o, iteration, s, values)
	}
	old := m.hyperparameters
	if err := guarded(func() error { return m.inherit(o, iteration, s, values) }); err != nil {
		undo := guarded(func() error {
			if err := m.trainee.Restore(rollback); err != nil {
				return err
			}
			return m.adopt(old)
		})
		if undo != nil {
			m.fail(iteration, fmt.Errorf("could not be put back after a failed copy: %w", undo))
			m.hyperparameters = old
		}
		return err
	}
	m.renew()
	return nil
}

// inherit is the order in which everything is handed on.
func (m *member) inherit(o *Options, iteration int64, s inheritance, values map[string]float64) error {
	if err := m.trainee.Restore(s.snapshot); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if r, ok := m.trainee.(Reseeder); ok {
		if err := r.Reseed(seed(o.Seed, streamReseed, iteration, int64(m.id))); err != nil {
			return fmt.Errorf("reseed: %w", err)
		}
	}
	return m.adopt(values)
}

// rebuild replaces a member whose trainee cannot be trusted by one built anew, once that has taken over the source.
func (m *member) rebuild(o *Options, iteration int64, s inheritance, values map[string]float64) error {
	fresh := &member{id: m.id}
	err := guarded(func() (err error) {
		fresh.trainee, err = o.New(Member{ID: m.id, Seed: seed(o.Seed, streamRebuild, iteration, int64(m.id)), Hyperparameters: maps.Clone(values)})
		if err == nil && fresh.trainee == nil {
			err = errors.New("New returned nothing")
		}
		if err != nil {
			return fmt.Errorf("building it anew: %w", err)
		}
		return fresh.inherit(o, iteration, s, values)
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
