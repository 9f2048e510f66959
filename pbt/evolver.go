package pbt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Evolver changes more than hyperparameters of what is handed on: weights, or the architecture of networks. It takes the
// place of an [Explorer]; what it does to hyperparameters is its own affair. Package evolution has one. An evolver must
// not be changed once a population uses it.
type Evolver interface {
	// Evolve returns what the member is to go on with, and says what was done, for the journal ("learning_rate",
	// "head.add_node(layer 0, 32)", "none"). It is a pure function: equal arguments and random numbers give equal results,
	// and in is not changed; out may share with it what stays the same, and its very snapshot where nothing of that changes.
	Evolve(in Heritage, rng *rand.Rand) (out Heritage, what string, err error)
	// Validate checks the evolver against the hyperparameters that members have.
	Validate(hyperparameters []string) error
	// Keys are the hyperparameters that it may change, sorted.
	Keys() []string
	// Architecture describes the networks of a snapshot, for the journal; empty where there is nothing to say.
	Architecture(snapshot *checkpoint.Snapshot) string
}

// Heritage is what a member goes on with.
type Heritage struct {
	// Member is the member's number, Iteration the interval that ended; 0 before training (see [Options.Diversify]).
	Member    int
	Iteration int64
	// Snapshot is the source's, or for SelfMutate the member's own; Options.Inherit has been applied to it. It has the
	// key "architectures" among its values where the trainee can be built with networks of other shapes (see
	// [Member.Restoring]).
	Snapshot *checkpoint.Snapshot
	// Hyperparameters are set after the snapshot is restored.
	Hyperparameters map[string]float64
}

// evolve asks the evolver.
func (o *Options) evolve(in Heritage, rng *rand.Rand) (out Heritage, what string, err error) {
	given := Heritage{Member: in.Member, Iteration: in.Iteration, Snapshot: in.Snapshot, Hyperparameters: maps.Clone(in.Hyperparameters)}
	err = guarded(func() (err error) {
		out, what, err = o.Evolve.Evolve(given, rng)
		return err
	})
	if err == nil && out.Snapshot == nil {
		err = fmt.Errorf("%T returned no snapshot", o.Evolve)
	}
	if err != nil {
		return Heritage{}, "", fmt.Errorf("evolution: %w", err)
	}
	if out.Hyperparameters == nil {
		out.Hyperparameters = in.Hyperparameters
	}
	return out, what, nil
}

// describe is the member's architecture, for the journal.
func (m *member) describe(o *Options) (text string) {
	if o.Evolve == nil || m.failure != "" {
		return ""
	}
	if snapshot, err := m.snapshotOf(); err == nil {
		_ = guarded(func() error { text = o.Evolve.Architecture(snapshot); return nil })
	}
	return text
}

// evolveInPlace evolves what the member has: it is built anew, from a seed, where the architecture changes.
func (m *member) evolveInPlace(o *Options, iteration, seed int64, rng *rand.Rand) (rebuilt bool, what string, err error) {
	before, err := m.snapshotOf()
	if err != nil {
		return false, "", err
	}
	old := maps.Clone(m.hyperparameters)
	out, what, err := o.evolve(Heritage{Member: m.id, Iteration: iteration, Snapshot: before, Hyperparameters: old}, rng)
	if err != nil {
		return false, "", err
	}
	restore := func(to *member) error {
		if to != m || out.Snapshot != before {
			if err := to.trainee.Restore(out.Snapshot); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
		return to.adopt(out.Hyperparameters)
	}
	anew := o.needsRebuild(old, out.Hyperparameters) || otherArchitectures(before, out.Snapshot)
	if !anew {
		err = guarded(func() error { return restore(m) })
		if err == nil {
			m.snapshot, m.changedAt = nil, m.steps
			return false, what, nil
		}
		anew = errors.Is(err, ErrRebuild)
	}
	if anew {
		if err = m.rebuild(o, seed, out.Hyperparameters, out.Snapshot, restore); err == nil {
			m.snapshot, m.changedAt = nil, m.steps
			return true, what, nil
		}
	}
	undo := guarded(func() error {
		if err := m.trainee.Restore(before); err != nil {
			return err
		}
		return m.adopt(old)
	})
	if undo != nil {
		m.fail(iteration, fmt.Errorf("could not be put back after a failed evolution: %w", undo))
		m.hyperparameters = old
	}
	return false, "", err
}

// otherArchitectures reports whether two snapshots are of trainees with networks of different shapes.
func otherArchitectures(a, b *checkpoint.Snapshot) bool {
	return a != b && !reflect.DeepEqual(architecturesOf(a), architecturesOf(b))
}

// architecturesOf are those recorded in a snapshot, of several agents by prefix, in a form that does not depend on whether
// the snapshot was read from a file.
func architecturesOf(s *checkpoint.Snapshot) map[string]string {
	found := make(map[string]string)
	add := func(prefix string, values map[string]any) {
		if v, ok := values["architectures"]; ok {
			if data, err := json.Marshal(v); err == nil {
				found[prefix] = string(data)
			}
		}
	}
	if s != nil {
		add("", s.Values)
		for _, a := range agentsIn("", s.Values) {
			add(a.prefix, a.values)
		}
	}
	return found
}
