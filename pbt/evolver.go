package pbt

import (
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
