package pbt

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Evolver changes more than the hyperparameters of a copy: also its weights, or the architecture of its networks. It
// takes the place of an explore.Explorer, and decides about hyperparameters too. Package evolution has AgileRL's. An
// evolver must not be changed once a population uses it.
type Evolver interface {
	// Evolve returns the candidate that the member continues with, and describes the change for the journal
	// ("learning_rate", "head.add_node(layer 0, 32)", "none"). It is a pure function: equal arguments and random
	// numbers give equal results. It must not change in; out may share arrays with it, and have the same snapshot where
	// the weights stay as they are.
	Evolve(in Candidate, rng *rand.Rand) (out Candidate, what string, err error)
	// Validate checks the evolver against the hyperparameters that members have.
	Validate(hyperparameters []string) error
	// Keys are the hyperparameters that it may change, sorted.
	Keys() []string
	// Architecture describes the networks of a snapshot, for the journal; empty if there is nothing to say.
	Architecture(snapshot *checkpoint.Snapshot) string
}

// Candidate is a snapshot with hyperparameters: what a member may continue with.
type Candidate struct {
	// Member is the member's number, Iteration the interval that ended; 0 before training (see [Options.Diversify]).
	Member    int
	Iteration int64
	// Snapshot is the source's, with Options.Copy applied, or for SelfMutate the member's own. It has the key
	// "architectures" among its values where the trainee can be built with networks of other shapes (see
	// [Member.Restoring]).
	Snapshot *checkpoint.Snapshot
	// Hyperparameters are set after the snapshot is restored.
	Hyperparameters map[string]float64
}

// evolve calls Options.Evolve with a copy of the hyperparameters, and completes what it returns.
func (o *Options) evolve(in Candidate, rng *rand.Rand) (out Candidate, what string, err error) {
	given := in
	given.Hyperparameters = maps.Clone(in.Hyperparameters)
	err = guarded(func() (err error) {
		out, what, err = o.Evolve.Evolve(given, rng)
		return err
	})
	if err == nil && out.Snapshot == nil {
		err = fmt.Errorf("%T returned no snapshot", o.Evolve)
	}
	if err != nil {
		return Candidate{}, "", fmt.Errorf("evolution: %w", err)
	}
	if out.Hyperparameters == nil {
		out.Hyperparameters = in.Hyperparameters
	}
	return out, what, nil
}

// evolveInPlace evolves what the member has. If the architecture changes, the member is rebuilt from seed.
func (m *member) evolveInPlace(iteration, seed int64, rng *rand.Rand) (rebuilt bool, what string, err error) {
	before, err := m.snapshotOf()
	if err != nil {
		return false, "", err
	}
	old := maps.Clone(m.hyperparameters)
	out, what, err := m.opt.evolve(Candidate{Member: m.id, Iteration: iteration, Snapshot: before,
		Hyperparameters: old}, rng)
	if err != nil {
		return false, "", err
	}
	restore := func(to *member) error {
		if to != m || out.Snapshot != before {
			if err := to.trainee.Restore(out.Snapshot); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
		return to.setHyperparameters(out.Hyperparameters)
	}
	err = ErrRebuild
	if !m.opt.needsRebuild(old, out.Hyperparameters) && !otherArchitectures(before, out.Snapshot) {
		err = guarded(func() error { return restore(m) })
	}
	if errors.Is(err, ErrRebuild) {
		rebuilt, err = true, m.rebuild(seed, out.Hyperparameters, out.Snapshot, restore)
	}
	if err != nil {
		m.undo(iteration, "could not be put back after a failed evolution", before, old)
		return false, "", err
	}
	m.mutated()
	return rebuilt, what, nil
}
