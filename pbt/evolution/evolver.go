package evolution

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt"
)

// Evolver carries out [Mutations] on the networks and hyperparameters of a [Registry]: a pbt.Evolver. [New] makes one; with
// NewEvolver populations of one's own can have it as pbt.Options.Evolve.
type Evolver struct {
	mutations Mutations
	registry  Registry
	keys      []string // hyperparameters to choose from, sorted
}

var _ pbt.Evolver = (*Evolver)(nil)

// NewEvolver checks mutations and registry, against each other and against a member: a snapshot of it, and its
// hyperparameters. With Mutations.Hyperparameters nil they are the default ones of these values.
func NewEvolver(m Mutations, r Registry, snap *checkpoint.Snapshot, values map[string]float64) (*Evolver, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := r.Check(snap, values); err != nil {
		return nil, err
	}
	m = m.clone().withDefaults()
	if m.Hyperparameters == nil && m.RLHP > 0 {
		m.Hyperparameters = DefaultHyperparameters(values)
		maps.DeleteFunc(m.Hyperparameters, func(name string, _ RLParameter) bool {
			return r.Hyperparameters != nil && !slices.Contains(r.Hyperparameters, name)
		})
	}
	if err := m.Hyperparameters.Check(values); err != nil {
		return nil, err
	}
	if err := m.checkNetworks(r); err != nil {
		return nil, err
	}
	e := &Evolver{mutations: m, registry: r.clone(), keys: slices.Sorted(maps.Keys(m.Hyperparameters))}
	for _, name := range e.keys {
		if r.Hyperparameters != nil && !slices.Contains(r.Hyperparameters, name) {
			return nil, fmt.Errorf("evolution: hyperparameter %q is not in the registry, which has %s%s", name, strings.Join(r.Hyperparameters, ", "), nearby(name, r.Hyperparameters))
		}
	}
	return e, e.checkNetworks(snap)
}

// checkNetworks makes sure that what has a weight can be done to the networks.
func (e *Evolver) checkNetworks(snap *checkpoint.Snapshot) error {
	m := e.mutations
	lead := e.registry.policy()
	if m.Parameters > 0 {
		if _, _, err := Noise(e.view(snap), NoiseOptions{SD: m.MutationSD}, rand.New(rand.NewPCG(0, 0))); err != nil {
			return fmt.Errorf("%w; give Mutations.Parameters a weight of 0, or another policy", err)
		}
	}
	if m.Architecture == 0 && m.Activation == 0 {
		return nil
	}
	all, err := Architectures(snap)
	if err != nil {
		return fmt.Errorf("%w; or give Mutations.Architecture and Activation a weight of 0", err)
	}
	if _, ok := all[lead]; !ok {
		return fmt.Errorf("evolution: the policy %q has no architecture; make it from one, or give Mutations.Architecture and Activation a weight of 0", lead)
	}
	return nil
}

// Registry is the one in use.
func (e *Evolver) Registry() Registry { return e.registry.clone() }

// Validate implements pbt.Evolver.
func (e *Evolver) Validate(hyperparameters []string) error {
	for _, name := range e.keys {
		if !slices.Contains(hyperparameters, name) {
			return unknownHyperparameter(name, hyperparameters)
		}
	}
	return nil
}

// Keys implements pbt.Evolver.
func (e *Evolver) Keys() []string { return slices.Clone(e.keys) }

// Architecture implements pbt.Evolver: "policy 4→[64 64], value 4→[64 64]", the policy first; empty where the networks
// have no architectures.
func (e *Evolver) Architecture(snap *checkpoint.Snapshot) string {
	all, err := Architectures(snap)
	if err != nil {
		return ""
	}
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { return e.rank(a) - e.rank(b) })
	var texts []string
	for _, name := range names {
		texts = append(texts, name+" "+all[name].String())
	}
	return strings.Join(texts, ", ")
}

func (e *Evolver) rank(network string) int {
	if network == e.registry.policy() {
		return 0
	}
	return 1
}

// Evolve implements pbt.Evolver: it does one thing to a member. What it says was done is the hyperparameter's name, the
// edit, "param" for noise, or "none", with the reason where something else was drawn.
func (e *Evolver) Evolve(in pbt.Candidate, rng *rand.Rand) (pbt.Candidate, string, error) {
	m := e.mutations
	rng = rand.New(rand.NewPCG(rng.Uint64(), uint64(m.Seed)))
	kind := m.draw(rng, in.Iteration == 0)
	if kind == kindNone {
		return in, kindNone, nil
	}
	if kind == kindRLHP {
		return e.hyperparameter(in, rng)
	}
	next, what, err := e.networks(in.Snapshot, kind, rng)
	if err != nil {
		return in, "", err
	}
	in.Snapshot = next
	return in, what, nil
}

// hyperparameter changes one.
func (e *Evolver) hyperparameter(in pbt.Candidate, rng *rand.Rand) (pbt.Candidate, string, error) {
	if len(e.keys) == 0 {
		return in, kindNone + " (there is no hyperparameter to mutate)", nil
	}
	name := e.keys[rng.IntN(len(e.keys))]
	grow := rng.IntN(2) == 0
	value, ok := in.Hyperparameters[name]
	if !ok {
		return in, "", unknownHyperparameter(name, slices.Sorted(maps.Keys(in.Hyperparameters)))
	}
	in.Hyperparameters = maps.Clone(in.Hyperparameters)
	in.Hyperparameters[name] = e.mutations.Hyperparameters[name].Mutate(value, grow, e.mutations.Strict)
	if e.mutations.Strict {
		for _, o := range e.registry.Optimizers {
			if o.LearningRate == name {
				in.Snapshot = resetOptimizer(in.Snapshot, o.Name)
			}
		}
	}
	return in, name, nil
}

// networks changes weights or architectures.
func (e *Evolver) networks(snap *checkpoint.Snapshot, kind string, rng *rand.Rand) (next *checkpoint.Snapshot, what string, err error) {
	m := e.mutations
	view := e.view(snap)
	if kind == kindParameters {
		next, names, err := Noise(view, NoiseOptions{SD: m.MutationSD, KeepOptimizer: !m.Strict}, rng)
		if err != nil {
			return nil, "", err
		}
		return e.settle(snap, next, nil), fmt.Sprintf("%s(%d of the policy's matrices)", kindParameters, len(names)), nil
	}
	all, err := Architectures(view)
	if err != nil {
		return nil, "", err
	}
	own := map[string]models.Architecture{}
	for _, g := range e.registry.Groups {
		if a, ok := all[e.alias(g.Name)]; ok {
			own[e.alias(g.Name)] = a
		}
	}
	var done Edited
	what = kindActivation
	if kind == kindActivation {
		if agent, _ := snap.Values[layout.Agent].(string); m.Strict && agent == "PPO" {
			return snap, kindNone + " (AgileRL does not change PPO's activation)", nil
		}
		done, err = e.activation(own, view, rng)
	} else {
		edit := own[policy].Random(rng, m.NewLayerProb)
		what = edit.String()
		done, err = Edit(own, view, edit, e.editOptions(), rng)
	}
	if err != nil {
		return nil, "", err
	}
	if len(done.Done) == 0 {
		if m.Strict {
			snap = ResetOptimizers(snap)
		}
		return snap, fmt.Sprintf("%s (%s would go beyond the limits)", kindNone, what), nil
	}
	return e.settle(snap, done.Snapshot, done.Architectures), done.String(), nil
}

// activation changes that of all networks; networks that are like another follow it.
func (e *Evolver) activation(all map[string]models.Architecture, view *checkpoint.Snapshot, rng *rand.Rand) (Edited, error) {
	leading, following := maps.Clone(all), map[string]models.Edit{}
	for _, g := range e.registry.Groups {
		if g.Like != "" {
			delete(leading, e.alias(g.Name))
		}
	}
	done, err := SetActivation(leading, view, e.mutations.ActivationSelection, e.editOptions(), rng)
	if err != nil {
		return done, err
	}
	for _, g := range e.registry.Groups {
		if edit, ok := done.Done[e.alias(g.Like)]; ok && g.Like != "" {
			following[e.alias(g.Name)] = edit
		}
	}
	architectures := maps.Clone(all)
	maps.Copy(architectures, done.Architectures)
	next, err := apply(architectures, done.Snapshot, following, e.editOptions(), rng)
	if err != nil {
		return next, err
	}
	maps.Copy(next.Done, done.Done)
	return next, nil
}

// editOptions are the mutations' with the names that networks have in a view.
func (e *Evolver) editOptions() EditOptions {
	o := e.mutations.editOptions()
	limits := make(map[string]models.Limits, len(o.NetworkLimits))
	for name, l := range o.NetworkLimits {
		limits[e.alias(name)] = l
	}
	for _, g := range e.registry.Groups {
		if l, ok := limits[e.alias(g.Like)]; ok && g.Like != "" {
			limits[e.alias(g.Name)] = l
		}
	}
	o.NetworkLimits = limits
	return o
}

// resetOptimizer is ResetOptimizers for one of them.
func resetOptimizer(snap *checkpoint.Snapshot, name string) *checkpoint.Snapshot {
	all := ResetOptimizers(snap)
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	for array, a := range all.Arrays {
		if optimizer, _, _, ok := layout.CutMoment(array); ok && optimizer == name {
			out.Arrays[array] = a
		}
	}
	if steps := maps.Clone(layout.Map(snap.Values, layout.OptimizerSteps)); steps != nil {
		if _, ok := steps[name]; ok {
			steps[name] = int64(0)
		}
		out.Values[layout.OptimizerSteps] = steps
	}
	return out
}
