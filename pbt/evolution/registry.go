package evolution

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
)

// Registry says which of a member's networks, optimizers and settings evolve. [RegistryOf] makes one for gorl's agents.
//
// A trainee of your own needs a registry of its own, and snapshots that follow three conventions. Arrays are named
// "<network>/<layer>.weight" and ".bias", where layers are "encoder.<part>.<i>" and "head.<i>", with "out" for the
// last, convolutions "encoder.<part>.conv.<i>", and recurrent layers are as models.Net names them. Optimizers' moments
// are named "<optimizer>/exp_avg/<network>/..." and "<optimizer>/exp_avg_sq/<network>/...". The value "architectures"
// has the architecture of every network by its name (see [Architectures]); without it only weights and hyperparameters
// can mutate.
//
// If a member consists of several agents (IPPO and MAPPO with their groups, a trainers.Group), the registry holds for
// each of them, with the agent's own names: "policy" and "learning_rate", and not "speaker.policy".
type Registry struct {
	// Groups are the networks. Exactly one group is the policy's, and every network with an architecture is in a group.
	Groups []NetworkGroup
	// Optimizers are those that train the networks.
	Optimizers []OptimizerConfig
	// Hyperparameters are the names of settings that may be mutated. nil means all that members have.
	Hyperparameters []string
}

// NetworkGroup is a network that evolves.
type NetworkGroup struct {
	// Name is the network's name in snapshots: "actor" for arrays such as "actor/head.0.weight".
	Name string
	// Like is another group whose architecture this one always has, with weights of its own, as AMP's second critic
	// has the value network's. It gets the other's edits, activation and limits. Empty for none. A target network is
	// like the network that it follows; the trainee copies the weights in Restore.
	Like string
	// Policy marks the network that leads: edits are drawn for it, and noise is put on its weights.
	Policy bool
}

// OptimizerConfig is an optimizer.
type OptimizerConfig struct {
	// Name is the optimizer's name in snapshots.
	Name string
	// LearningRate is the hyperparameter that holds its learning rate. Under Strict a mutation of that resets the
	// optimizer. Empty if there is none.
	LearningRate string
}

// RegistryOf returns the registry of one of gorl's agents, from a snapshot of the agent or of its trainer. Every
// network is a group of its own, AMP's second critic is like the value network, and all hyperparameters may be mutated.
// A snapshot without a network "policy" is an error: give a Registry for such an agent.
func RegistryOf(snap *checkpoint.Snapshot) (Registry, error) {
	snap = partsOf(snap)[0].snap
	networks := layout.NetworksIn(snap)
	if !slices.Contains(networks, layout.Policy) {
		return Registry{}, fmt.Errorf("evolution: the snapshot has no network %q, only %q; give a Registry that "+
			"says which of them is the policy", layout.Policy, networks)
	}
	var r Registry
	for _, name := range networks {
		g := NetworkGroup{Name: name, Policy: name == layout.Policy}
		if name == layout.StyleValue && slices.Contains(networks, layout.Value) {
			g.Like = layout.Value
		}
		r.Groups = append(r.Groups, g)
	}
	for _, name := range layout.OptimizersIn(snap) {
		o := OptimizerConfig{Name: name, LearningRate: layout.LearningRate}
		if own, ok := strings.CutSuffix(name, "_optimizer"); ok && slices.Contains(networks, own) { // the discriminator
			o.LearningRate = own + "_learning_rate"
		}
		r.Optimizers = append(r.Optimizers, o)
	}
	return r, nil
}

// group returns the index of the first group with a name, -1 if there is none.
func (r Registry) group(name string) int {
	return slices.IndexFunc(r.Groups, func(g NetworkGroup) bool { return g.Name == name })
}

// policy returns the name of the network that leads, which a valid registry has.
func (r Registry) policy() string {
	return r.Groups[slices.IndexFunc(r.Groups, func(g NetworkGroup) bool { return g.Policy })].Name
}

// mutable reports whether a hyperparameter may be mutated.
func (r Registry) mutable(name string) bool {
	return r.Hyperparameters == nil || slices.Contains(r.Hyperparameters, name)
}

// defaults returns [DefaultHyperparameters] of the values of each agent, without those that the registry leaves out.
func (r Registry) defaults(parts []part, values map[string]float64) HyperparameterConfig {
	all := HyperparameterConfig{}
	for i, agent := range parts {
		for name, p := range DefaultHyperparameters(valuesOf(parts, i, values)) {
			if _, ok := values[agent.prefix+name]; ok && r.mutable(name) {
				all[agent.prefix+name] = p
			}
		}
	}
	return all
}

// problems collects what is wrong with a registry.
type problems []error

func (p *problems) add(format string, args ...any) {
	*p = append(*p, fmt.Errorf("evolution: registry: "+format, args...))
}

// Validate checks what can be checked without a member: names are given once, exactly one group is the policy's, and
// Like names another group that leads. The error joins all problems.
func (r Registry) Validate() error {
	var wrong problems
	policies := 0
	for at, g := range r.Groups {
		if g.Policy {
			policies++
		}
		switch {
		case g.Name == "" || strings.Contains(g.Name, "/"):
			wrong.add("a network is named %q; give the name before the first slash of its arrays", g.Name)
		case r.group(g.Name) < at:
			wrong.add("the network %q is named twice", g.Name)
		}
		i := r.group(g.Like)
		if g.Like != "" && (i < 0 || r.Groups[i].Like != "" || g.Policy) {
			wrong.add("the network %q is like %q; that must be another group, which is like no other, and the "+
				"policy leads", g.Name, g.Like)
		}
	}
	if policies != 1 {
		wrong.add("%d of %d groups are the policy's; mark exactly one", policies, len(r.Groups))
	}
	return errors.Join(wrong...)
}

// Check compares the registry with the snapshot of a member: everything that the registry names exists there, and every
// network with an architecture is in a group. The error joins all problems, with the nearest name for one that does not
// exist.
func (r Registry) Check(snap *checkpoint.Snapshot, hyperparameters map[string]float64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	var all []error
	parts := partsOf(snap)
	for i, p := range parts {
		if err := r.check(p.snap, valuesOf(parts, i, hyperparameters)); err != nil {
			all = append(all, fmt.Errorf("%s%w", p.title(), err))
		}
	}
	return errors.Join(all...)
}

// check is Check for one agent.
func (r Registry) check(snap *checkpoint.Snapshot, hyperparameters map[string]float64) error {
	var wrong problems
	known := layout.NetworksIn(snap)
	recorded := layout.Map(snap.Values, layout.Architectures)
	architectures, _ := Architectures(snap) // none where one of them cannot be read
	for _, g := range r.Groups {
		if len(layout.Below(snap, g.Name)) == 0 {
			wrong.add("members have no network %q: their snapshots have %q%s", g.Name, known,
				config.Hint(g.Name, known))
		}
		a, like := architectures[g.Name], architectures[g.Like]
		if recorded != nil && g.Like != "" && (len(like.Parts) == 0 || !a.Equal(like)) {
			wrong.add("the network %q is to be like %q, but its architecture is another", g.Name, g.Like)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if r.group(name) < 0 {
			wrong.add("the network %q has an architecture and is in no group; give it one", name)
		}
	}
	optimizers, settings := layout.OptimizersIn(snap), slices.Sorted(maps.Keys(hyperparameters))
	for _, o := range r.Optimizers {
		if !slices.Contains(optimizers, o.Name) {
			wrong.add("members have no optimizer %q: their snapshots have %q%s", o.Name, optimizers,
				config.Hint(o.Name, optimizers))
		}
		if err := missing(o.LearningRate, settings); err != nil && o.LearningRate != "" {
			wrong.add("optimizer %q: %w", o.Name, err)
		}
	}
	for _, name := range r.Hyperparameters {
		wrong = append(wrong, missing(name, settings))
	}
	return errors.Join(wrong...)
}
