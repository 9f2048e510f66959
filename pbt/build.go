// How a member is built before it trains: [newMember] calls Options.New, checks what it returns, restores what was
// saved, and applies Options.Diversify. [member.rebuild] in exploit.go rebuilds one while the population trains.

package pbt

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// newMember builds a member through Options.New and sets its hyperparameters. With saved it is put back to how it was
// saved, perhaps without a snapshot if it failed before it had one. Otherwise Options.Diversify applies. On error
// nothing is left open.
func newMember(o *Options, id int, saved *states.Restored) (m *member, err error) {
	m = o.unbuilt(id, saved)
	values, snapshot := o.initial(id), (*checkpoint.Snapshot)(nil)
	if saved != nil {
		values, snapshot = m.Hyperparameters, saved.Snapshot
	}
	// New may use the values, but need not: they are set below in any case.
	if m.trainee, err = o.construct(Member{ID: id, Seed: m.seed, Hyperparameters: values,
		Restoring: snapshot}); err != nil {
		return nil, wrapMember(id, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, guarded(m.trainee.Close))
			m = nil
		}
	}()
	if err := guarded(func() error { return o.checkMember(id, values, m.trainee) }); err != nil {
		return m, err
	}
	return m, wrapMember(id, guarded(func() error {
		if err := m.restore(Candidate{Snapshot: snapshot, Hyperparameters: values}); err != nil || saved != nil {
			return err
		}
		return m.diversify()
	}))
}

// construct calls Options.New with a copy of the hyperparameters, and tells the trainee how long it will train. A
// panic, or a nil trainee, is an error.
func (o *Options) construct(m Member) (t Trainee, err error) {
	m.Hyperparameters = maps.Clone(m.Hyperparameters)
	err = guarded(func() (err error) {
		t, err = o.New(m)
		if p, ok := t.(Planner); ok && err == nil && o.TotalSteps > 0 {
			p.Plan(o.TotalSteps)
		}
		return err
	})
	if err == nil && t == nil {
		err = errors.New("New returned nothing")
	}
	return t, err
}

// diversify mutates a member that has not trained yet; see Options.Diversify.
func (m *member) diversify() (err error) {
	if !m.opt.Diversify || slices.Contains(m.opt.Reference, m.id) {
		return nil
	}
	original := m.Hyperparameters
	_, m.mutation, err = m.selfMutate(0, func() []journal.Event { return nil })
	if err != nil {
		return fmt.Errorf("first mutation: %w", err)
	}
	m.original = original
	return nil
}

// checkMember compares a new member with the options; given are the hyperparameters that it is to begin with. Names
// that members do not have are errors with the nearest name, so that a typing error does not silently tune nothing.
func (o *Options) checkMember(id int, given map[string]float64, t Trainee) error {
	if err := o.checkTrainee(t); err != nil {
		return wrapMember(id, err)
	}
	has := t.Hyperparameters()
	keys := slices.Sorted(maps.Keys(has))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if _, ok := has[key]; !ok {
			return fmt.Errorf("pbt: member %d has no hyperparameter %q (from Initial or Sample): %s", id, key,
				config.Among(key, keys))
		}
	}
	for _, key := range o.Rebuild {
		if _, ok := has[key]; !ok {
			return fmt.Errorf("pbt: Rebuild names hyperparameter %q, which members do not have: %s", key,
				config.Among(key, keys))
		}
	}
	if err := o.Explore.Validate(keys); err != nil {
		return err
	}
	if o.Evolve != nil {
		if err := o.Evolve.Validate(keys); err != nil {
			return err
		}
	}
	for _, key := range keys {
		value := has[key]
		if v, ok := given[key]; ok {
			value = v
		}
		if b, ok := o.Explore.BoundsOf(key); ok && (value < b[0] || value > b[1]) {
			return fmt.Errorf("pbt: member %d begins with %s = %v, outside its bounds, %v", id, key, value, b)
		}
	}
	return nil
}

// checkTrainee checks that a trainee can do what the options ask for.
func (o *Options) checkTrainee(t Trainee) error {
	if o.Measure.EvaluationEpisodes == 0 {
		return nil
	}
	e, ok := t.(Evaluator)
	if !ok {
		return errors.New("measure.evaluation_episodes needs trainees with a method EvaluateMetrics (see " +
			"pbt.Evaluator); give ones that have it, or leave it 0")
	}
	if err := e.CheckEvaluation(); err != nil {
		return fmt.Errorf("measure.evaluation_episodes: %w", err)
	}
	return nil
}
