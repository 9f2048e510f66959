package pbt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/checkpoint"
)

// ErrRebuild is returned, wrapped, by [Trainee.SetHyperparameters] for values that only take effect when the trainee is
// built anew. It then changes nothing, and Options.New is called with these values; a trainee must accept the values
// that it was built with.
var ErrRebuild = errors.New("the trainee must be built anew for these hyperparameters")

// needsRebuild reports whether a hyperparameter of Options.Rebuild changes.
func (o *Options) needsRebuild(before, after map[string]float64) bool {
	for _, key := range o.Rebuild {
		if before[key] != after[key] {
			return true
		}
	}
	return false
}

// rebuildFrom builds the member's trainee anew and lets it take over the source.
func (m *member) rebuildFrom(o *Options, iteration int64, s inheritance, own *checkpoint.Snapshot, values map[string]float64) error {
	snapshot, err := o.combine(s, own)
	if err != nil {
		return err
	}
	return m.rebuildTaking(o, iteration, s, snapshot, values)
}

// rebuildTaking builds the member's trainee anew and gives it what comes from a source.
func (m *member) rebuildTaking(o *Options, iteration int64, s inheritance, snapshot *checkpoint.Snapshot, values map[string]float64) error {
	err := m.rebuild(o, seed(o.Seed, streamRebuild, iteration, int64(m.id)), values, snapshot, func(fresh *member) error {
		return fresh.take(o, iteration, snapshot, values)
	})
	if err == nil {
		m.renew(s)
	}
	return err
}

// rebuildAsIs builds the member's trainee anew with the weights that it has and mutated hyperparameters.
func (m *member) rebuildAsIs(o *Options, iteration int64, values map[string]float64) error {
	snapshot, err := m.snapshotOf()
	if err != nil {
		return err
	}
	err = m.rebuild(o, seed(o.Seed, streamRebuild, iteration, int64(m.id)), values, snapshot, func(fresh *member) error {
		if err := fresh.trainee.Restore(snapshot); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		return fresh.adopt(values)
	})
	if err == nil {
		m.snapshot, m.changedAt = nil, m.steps
	}
	return err
}

// rebuild replaces the member's trainee by one built anew, once fill has succeeded for that; restoring is what fill
// restores, if anything.
func (m *member) rebuild(o *Options, seed int64, values map[string]float64, restoring *checkpoint.Snapshot, fill func(fresh *member) error) error {
	if o.elsewhere != nil {
		return o.elsewhere(values)
	}
	fresh := &member{id: m.id}
	var err error
	if fresh.trainee, err = o.construct(Member{ID: m.id, Seed: seed, Hyperparameters: maps.Clone(values), Restoring: restoring}); err != nil {
		return fmt.Errorf("building it anew: %w", err)
	}
	err = guarded(func() error {
		if err := o.checkTrainee(fresh.trainee); err != nil {
			return err
		}
		return fill(fresh)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("built anew: %w", err), guarded(fresh.trainee.Close))
	}
	abandoned := m.trainee
	m.trainee, m.hyperparameters = fresh.trainee, fresh.hyperparameters
	if abandoned != nil {
		// It may be in an unknown state: that it may not close cleanly must not cost the new one.
		_ = guarded(abandoned.Close)
	}
	return nil
}

// diversify mutates the hyperparameters of a member that has not trained yet.
func (m *member) diversify(o *Options) error {
	if !o.Diversify || o.isReference(m.id) {
		return nil
	}
	original := maps.Clone(m.hyperparameters)
	if o.Evolve != nil {
		var err error
		if _, m.mutation, err = m.evolveInPlace(o, 0, m.seed, stream(o.Seed, streamDiversify, int64(m.id))); err != nil {
			return fmt.Errorf("first mutation: %w", err)
		}
		m.original = original
		return nil
	}
	values := o.explorerAt(0, m.id, func() []Event { return nil }).Apply(maps.Clone(original), stream(o.Seed, streamDiversify, int64(m.id)))
	err := ErrRebuild
	if !o.needsRebuild(original, values) {
		err = m.adopt(values)
	}
	if errors.Is(err, ErrRebuild) {
		err = m.rebuild(o, m.seed, values, nil, func(fresh *member) error { return fresh.adopt(values) })
	}
	if err != nil {
		return fmt.Errorf("first mutation: %w", err)
	}
	m.original = original
	return nil
}
