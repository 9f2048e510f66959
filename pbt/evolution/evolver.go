package evolution

import (
	"cmp"
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
	edits     editOptions
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
	parts := partsOf(snap)
	if m.Hyperparameters == nil && m.RLHP > 0 {
		m.Hyperparameters = r.defaults(parts, values)
	}
	m.Hyperparameters = m.Hyperparameters.forAgents(parts, values)
	if err := m.Hyperparameters.Check(values); err != nil {
		return nil, err
	}
	e := &Evolver{mutations: m, registry: r, keys: slices.Sorted(maps.Keys(m.Hyperparameters))}
	e.edits = editOptions{Limits: m.Limits, NetworkLimits: m.NetworkLimits, Preserve: m.Preserve, Policy: r.policy(),
		Like: map[string]string{}}
	var leaders []string
	for _, g := range r.Groups {
		if g.Like == "" {
			leaders = append(leaders, g.Name)
		} else {
			e.edits.Like[g.Name] = g.Like
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.NetworkLimits)) {
		// A network that is like another has the other's limits.
		if _, own := owner(parts, name); !slices.Contains(leaders, own) {
			reason := fmt.Sprintf("want one of the registry's networks, %q", leaders)
			return nil, &config.Error{Prefix: "evolution", Path: "Mutations.NetworkLimits", Given: name, Reason: reason,
				Nearest: config.Nearest(name, leaders)}
		}
	}
	for _, name := range e.keys {
		if _, own := owner(parts, name); !r.mutable(own) {
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
	for _, p := range partsOf(snap) {
		if policy := p.prefix + e.edits.Policy; len(all[policy].Parts) == 0 {
			return fmt.Errorf("evolution: the policy %q has no architecture; make it from one, or give mutations of "+
				"architecture and activation (arch_mut, act_mut) a weight of 0", policy)
		}
	}
	return nil
}

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

// Architecture implements pbt.Evolver. It describes the networks of a snapshot, each agent's policy first:
// "policy 4→[64 64] tanh, value 4→[64 64] tanh", in IPPO and MAPPO "speaker.policy 3→[64] tanh, ...". The text is empty
// where the snapshot records no architectures.
func (e *Evolver) Architecture(snap *checkpoint.Snapshot) string {
	var texts []string
	for _, p := range partsOf(snap) {
		all, err := p.architectures()
		if err != nil {
			return ""
		}
		names := slices.Sorted(maps.Keys(all))
		if i := slices.Index(names, e.edits.Policy); i > 0 {
			names = slices.Insert(slices.Delete(names, i, i+1), 0, e.edits.Policy)
		}
		for _, name := range names {
			texts = append(texts, p.prefix+name+" "+all[name].String())
		}
	}
	return strings.Join(texts, ", ")
}

// Evolve implements pbt.Evolver: it mutates a member in one of the ways of [Mutations], drawn by their weights.
// Before training (in.Iteration 0) NoMutation is left out. The text, for the journal, is the name of the
// hyperparameter changed, the edit ("head.add_node(layer 0, 32)"), "param(...)" for noise, or "none", followed in
// parentheses by the reason where a drawn mutation could not be done. It names the agent of a member that consists of
// several ("speaker: head.add_layer"). in is not changed; equal arguments give equal results.
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

// hyperparameter changes one hyperparameter, drawn uniformly, up or down with equal probability. Strict also changes
// those of the same name of a member's other agents, and resets the optimizers whose learning rate changes: AgileRL has
// one value for all agents, and rebuilds optimizers with a new rate.
func (e *Evolver) hyperparameter(in pbt.Candidate, rng *rand.Rand) (pbt.Candidate, string, error) {
	if len(e.keys) == 0 {
		return in, kindNone + " (there is no hyperparameter to mutate)", nil
	}
	names := []string{e.keys[rng.IntN(len(e.keys))]}
	grow := rng.IntN(2) == 0
	parts := partsOf(in.Snapshot)
	if of, drawn := owner(parts, names[0]); e.mutations.Strict && of >= 0 {
		names = slices.DeleteFunc(slices.Clone(e.keys), func(key string) bool {
			i, own := owner(parts, key)
			return i < 0 || own != drawn
		})
	}
	in.Hyperparameters = maps.Clone(in.Hyperparameters)
	next := map[int]*checkpoint.Snapshot{}
	for _, name := range names {
		value, ok := in.Hyperparameters[name]
		if !ok {
			return in, "", missing(name, slices.Sorted(maps.Keys(in.Hyperparameters)))
		}
		in.Hyperparameters[name] = e.mutations.Hyperparameters[name].Mutate(value, grow, e.mutations.Strict)
		for _, o := range e.registry.Optimizers {
			if i, own := owner(parts, name); e.mutations.Strict && i >= 0 && o.LearningRate == own {
				next[i] = resetOptimizers(cmp.Or(next[i], parts[i].snap), o.Name)
			}
		}
	}
	in.Snapshot = joined(in.Snapshot, parts, next)
	return in, strings.Join(names, ", "), nil
}

// noise perturbs the weights of each agent's policy, see addNoise. Optimizers are reset only under Strict.
func (e *Evolver) noise(snap *checkpoint.Snapshot, rng *rand.Rand) (*checkpoint.Snapshot, string, error) {
	parts, next := partsOf(snap), map[int]*checkpoint.Snapshot{}
	var counts []string
	for i, p := range parts {
		noisy, names, err := addNoise(p.snap, e.edits.Policy, e.mutations.MutationSD, rng)
		if err != nil {
			return nil, "", fmt.Errorf("%s%w", p.title(), err)
		}
		if e.mutations.Strict {
			noisy = resetOptimizers(noisy)
		}
		next[i] = settled(noisy)
		counts = append(counts, fmt.Sprintf("%s%d", p.title(), len(names)))
	}
	what := fmt.Sprintf("%s(%s of the policy's matrices)", kindParameters, strings.Join(counts, ", "))
	return joined(snap, parts, next), what, nil
}

// edit changes the architecture or the activation (by kind) of the networks in the registry's groups. It is drawn over
// the policies of all agents, and for one agent, whose other networks follow. Under Strict all agents get an edit of
// the architecture. A network that has nothing of the kind stays as it is.
//
// An edit that limits forbid changes nothing, but under Strict it still resets the optimizers: AgileRL rebuilds those
// of all agents after every mutation of networks.
func (e *Evolver) edit(snap *checkpoint.Snapshot, kind string, rng *rand.Rand) (*checkpoint.Snapshot, string, error) {
	parts := partsOf(snap)
	agents, policies := make([]editable, len(parts)), make([]description.Architecture, len(parts))
	for i, p := range parts {
		recorded, err := p.architectures()
		if err != nil {
			return nil, "", err
		}
		agents[i] = editable{p, e.edits, map[string]description.Architecture{}}
		for _, g := range e.registry.Groups {
			if a, ok := recorded[g.Name]; ok {
				agents[i].architectures[g.Name] = a
			}
		}
		policies[i] = agents[i].architectures[e.edits.Policy]
	}
	edits := make([]map[string]edit, len(parts)) // by agent and network
	which, what := 0, kindActivation
	if kind == kindActivation {
		if agent, _ := parts[0].snap.Values[layout.Agent].(string); e.mutations.Strict && agent == "PPO" {
			return snap, kindNone + " (AgileRL does not change PPO's activation)", nil
		}
		if len(parts) > 1 {
			which = rng.IntN(len(parts))
		}
		edits[which] = agents[which].drawActivations(e.mutations.ActivationSelection, rng)
	} else {
		var drawn edit
		which, drawn = randomEdit(policies, rng, e.mutations.NewLayerProb)
		what, drawn = drawn.String(), agents[which].lead(drawn)
		for i, a := range agents {
			if i == which || e.mutations.Strict {
				edits[i] = a.all(drawn)
			}
		}
	}
	next := map[int]*checkpoint.Snapshot{}
	var texts []string
	for i, a := range agents {
		done, err := a.apply(edits[i], rng)
		if err != nil {
			return nil, "", err
		}
		if len(done.Done) > 0 {
			next[i] = settled(done.Snapshot)
			texts = append(texts, a.title()+done.String())
		}
	}
	for i, p := range parts {
		if next[i] == nil && e.mutations.Strict && (len(texts) == 0 || e.edits.Preserve == PreserveOverlap) {
			next[i] = resetOptimizers(p.snap)
		}
	}
	if len(texts) == 0 {
		texts = []string{fmt.Sprintf("%s (%s%s would go beyond the limits)", kindNone, parts[which].title(), what)}
	}
	return joined(snap, parts, next), strings.Join(texts, "; "), nil
}
