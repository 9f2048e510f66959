package evolution

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
)

// Evolver carries out [Mutations] on the networks and hyperparameters of a [Registry]. It is a pbt.Evolver: [New] makes
// one for its population, and a population of your own takes one as pbt.Options.Evolve.
type Evolver struct {
	mutations Mutations
	registry  Registry
	edits     EditOptions
	keys      []string // hyperparameters that RLHP draws from, sorted
}

var _ pbt.Evolver = (*Evolver)(nil)

// NewEvolver checks mutations m and registry r against each other and against a member with the
// snapshot snap and the hyperparameters values. Where m.Hyperparameters is nil and m.RLHP has a weight,
// [DefaultHyperparameters] of values mutate. What m and r refer to must not be changed afterwards.
//
// It is an error if r or m.Hyperparameters name something that the member does not have, if m.NetworkLimits names a
// network outside r or one that is like another, or if a mutation with a weight is impossible: noise without matrices
// of the policy, edits without its architecture.
func NewEvolver(m Mutations, r Registry, snap *checkpoint.Snapshot, values map[string]float64) (*Evolver, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := r.Check(snap, values); err != nil {
		return nil, err
	}
	m = m.withDefaults()
	if m.Hyperparameters == nil && m.RLHP > 0 {
		m.Hyperparameters = r.defaults(values)
	}
	if err := m.Hyperparameters.Check(values); err != nil {
		return nil, err
	}
	e := &Evolver{mutations: m, registry: r, edits: m.editOptions(), keys: slices.Sorted(maps.Keys(m.Hyperparameters))}
	e.edits.Policy, e.edits.Like = r.policy(), map[string]string{}
	var leaders []string
	for _, g := range r.Groups {
		if g.Like == "" {
			leaders = append(leaders, g.Name)
		} else {
			e.edits.Like[g.Name] = g.Like
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.NetworkLimits)) {
		if !slices.Contains(leaders, name) { // a network that is like another has the other's limits
			reason := fmt.Sprintf("want one of the registry's networks, %q", leaders)
			return nil, &config.Error{Prefix: "evolution", Path: "Mutations.NetworkLimits", Given: name, Reason: reason,
				Nearest: config.Nearest(name, leaders)}
		}
	}
	for _, name := range e.keys {
		if !r.mutable(name) {
			return nil, fmt.Errorf("evolution: hyperparameter %q is not in the registry, which has %s%s",
				name, strings.Join(r.Hyperparameters, ", "), config.Hint(name, r.Hyperparameters))
		}
	}
	return e, e.checkNetworks(snap)
}

// checkNetworks tries whether the mutations of networks that have a weight can be done to the member's.
func (e *Evolver) checkNetworks(snap *checkpoint.Snapshot) error {
	if e.mutations.Parameters > 0 {
		if _, _, err := e.noise(snap, rand.New(rand.NewPCG(0, 0))); err != nil {
			return fmt.Errorf("%w; give mutations of weights (params_mut) a weight of 0, or another policy", err)
		}
	}
	if e.mutations.Architecture == 0 && e.mutations.Activation == 0 {
		return nil
	}
	all, err := Architectures(snap)
	if err != nil {
		return fmt.Errorf("%w; or give mutations of architecture and activation (arch_mut, act_mut) a weight of 0", err)
	}
	if _, ok := all[e.edits.Policy]; !ok {
		return fmt.Errorf("evolution: the policy %q has no architecture; make it from one, or give mutations of "+
			"architecture and activation (arch_mut, act_mut) a weight of 0", e.edits.Policy)
	}
	return nil
}

// Registry returns the registry in use, which must not be changed.
func (e *Evolver) Registry() Registry { return e.registry }

// Validate implements pbt.Evolver: members must have all hyperparameters that may mutate.
func (e *Evolver) Validate(hyperparameters []string) error {
	var problems []error
	for _, name := range e.keys {
		problems = append(problems, missing(name, hyperparameters))
	}
	return errors.Join(problems...)
}

// Keys implements pbt.Evolver: the hyperparameters that may mutate, sorted.
func (e *Evolver) Keys() []string { return slices.Clone(e.keys) }

// Architecture implements pbt.Evolver. It describes the networks of a snapshot, the policy first:
// "policy 4→[64 64] tanh, value 4→[64 64] tanh". The text is empty where the snapshot records no architectures.
func (e *Evolver) Architecture(snap *checkpoint.Snapshot) string {
	all, err := Architectures(snap)
	if err != nil {
		return ""
	}
	names := slices.Sorted(maps.Keys(all))
	if i := slices.Index(names, e.edits.Policy); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, e.edits.Policy)
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, name+" "+all[name].String())
	}
	return strings.Join(texts, ", ")
}

// Evolve implements pbt.Evolver: it mutates a member in one of the ways of [Mutations], drawn by their weights.
// Before training (in.Iteration 0) NoMutation is left out. The text, for the journal, is the name of the
// hyperparameter changed, the edit ("head.add_node(layer 0, 32)"), "param(...)" for noise, or "none", followed in
// parentheses by the reason where a drawn mutation could not be done. in is not changed; equal arguments give equal
// results.
func (e *Evolver) Evolve(in pbt.Candidate, rng *rand.Rand) (out pbt.Candidate, what string, err error) {
	m := e.mutations
	rng = rand.New(rand.NewPCG(rng.Uint64(), uint64(m.Seed)))
	switch kind := m.draw(rng, in.Iteration == 0); kind {
	case kindNone:
		what = kindNone
	case kindRLHP:
		return e.hyperparameter(in, rng)
	case kindParameters:
		in.Snapshot, what, err = e.noise(in.Snapshot, rng)
	default:
		in.Snapshot, what, err = e.edit(in.Snapshot, kind, rng)
	}
	return in, what, err
}

// hyperparameter changes one hyperparameter, drawn uniformly, up or down with equal probability. Strict also resets the
// optimizers that it is the learning rate of, because AgileRL rebuilds them with the new rate.
func (e *Evolver) hyperparameter(in pbt.Candidate, rng *rand.Rand) (pbt.Candidate, string, error) {
	if len(e.keys) == 0 {
		return in, kindNone + " (there is no hyperparameter to mutate)", nil
	}
	name := e.keys[rng.IntN(len(e.keys))]
	grow := rng.IntN(2) == 0
	value, ok := in.Hyperparameters[name]
	if !ok {
		return in, "", missing(name, slices.Sorted(maps.Keys(in.Hyperparameters)))
	}
	in.Hyperparameters = maps.Clone(in.Hyperparameters)
	in.Hyperparameters[name] = e.mutations.Hyperparameters[name].Mutate(value, grow, e.mutations.Strict)
	if e.mutations.Strict {
		for _, o := range e.registry.Optimizers {
			if o.LearningRate == name {
				in.Snapshot = resetOptimizers(in.Snapshot, o.Name)
			}
		}
	}
	return in, name, nil
}

// noise perturbs the policy's weights, see [Noise]. Optimizers are reset only under Strict.
func (e *Evolver) noise(snap *checkpoint.Snapshot, rng *rand.Rand) (*checkpoint.Snapshot, string, error) {
	o := NoiseOptions{SD: e.mutations.MutationSD, KeepOptimizer: !e.mutations.Strict, Policy: e.edits.Policy}
	next, names, err := Noise(snap, o, rng)
	if err != nil {
		return nil, "", err
	}
	return e.registry.settle(next), fmt.Sprintf("%s(%d of the policy's matrices)", kindParameters, len(names)), nil
}

// edit changes the architecture or the activation (by kind) of the networks in the registry's groups; shared networks
// follow afterwards. An edit that limits forbid changes nothing, but under Strict it still resets the optimizers, as
// AgileRL rebuilds them after every mutation of networks.
func (e *Evolver) edit(snap *checkpoint.Snapshot, kind string, rng *rand.Rand) (*checkpoint.Snapshot, string, error) {
	all, err := Architectures(snap)
	if err != nil {
		return nil, "", err
	}
	own := map[string]description.Architecture{}
	for _, g := range e.registry.Groups {
		if a, ok := all[g.Name]; ok {
			own[g.Name] = a
		}
	}
	var done Edited
	what := kindActivation
	if kind == kindActivation {
		if agent, _ := snap.Values[layout.Agent].(string); e.mutations.Strict && agent == "PPO" {
			return snap, kindNone + " (AgileRL does not change PPO's activation)", nil
		}
		done, err = DrawActivations(own, snap, e.mutations.ActivationSelection, e.edits, rng)
	} else {
		edit := RandomEdit(own[e.edits.Policy], rng, e.mutations.NewLayerProb)
		what = edit.String()
		done, err = EditNetworks(own, snap, edit, e.edits, rng)
	}
	if err != nil {
		return nil, "", err
	}
	if len(done.Done) == 0 {
		if e.mutations.Strict {
			snap = resetOptimizers(snap)
		}
		return snap, fmt.Sprintf("%s (%s would go beyond the limits)", kindNone, what), nil
	}
	return e.registry.settle(done.Snapshot), done.String(), nil
}
