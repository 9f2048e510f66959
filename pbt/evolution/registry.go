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
	"github.com/gorl-dev/gorl/models"
)

// Registry says which of a member's networks, optimizers and settings evolve. [RegistryOf] makes one for gorl's agents.
// A trainee of one's own can do with a registry of its own: networks are known by the names of arrays in its snapshots
// ("actor/head.0.weight" belongs to the network "actor"), optimizers by those of their moments
// ("<optimizer>/exp_avg/actor/head.0.weight"), architectures by the entry "architectures" among the snapshot's values (see
// [Architectures]).
type Registry struct {
	// Groups are the networks; exactly one group is the policy's.
	Groups []NetworkGroup
	// Optimizers are those that train them.
	Optimizers []OptimizerConfig
	// Hyperparameters are the names of settings that may be mutated; nil means all that members have.
	Hyperparameters []string
}

// NetworkGroup is a network that is trained, with those that follow it.
type NetworkGroup struct {
	// Name is the network's, in snapshots.
	Name string
	// Shared are networks with the same weights (target networks): after a mutation they are copies of it.
	Shared []string
	// Like is a network whose architecture this one always has, with weights of its own (AMP's second critic has the value
	// network's): it is edited alike, and given no other activation and limits. Empty for none.
	Like string
	// Policy marks the network whose mutations lead: edits are drawn for it, noise is put on its weights.
	Policy bool
}

// OptimizerConfig is an optimizer.
type OptimizerConfig struct {
	// Name is the optimizer's, in snapshots.
	Name string
	// Networks are those that it trains.
	Networks []string
	// LearningRate is the hyperparameter that holds its learning rate; may be empty.
	LearningRate string
}

// RegistryOf returns the registry of an agent of gorl's (PPO, AMP), by a snapshot of it or of its trainer: every network
// is a group of its own, AMP's second critic is like the first, and all hyperparameters may be mutated.
func RegistryOf(snap *checkpoint.Snapshot) (Registry, error) {
	networks := layout.NetworksIn(snap)
	if !slices.Contains(networks, policy) {
		return Registry{}, fmt.Errorf("evolution: the snapshot has no network %q, only %q; give a Registry that says which of them is the policy", policy, networks)
	}
	var r Registry
	for _, name := range networks {
		g := NetworkGroup{Name: name, Policy: name == policy}
		if name == layout.StyleValue && slices.Contains(networks, layout.Value) {
			g.Like = layout.Value
		}
		r.Groups = append(r.Groups, g)
	}
	optimizers := layout.OptimizersIn(snap)
	for _, name := range optimizers {
		o := OptimizerConfig{Name: name, Networks: networks, LearningRate: layout.LearningRate}
		if own, ok := strings.CutSuffix(name, "_optimizer"); ok && slices.Contains(networks, own) { // e.g. the discriminator's
			o.Networks, o.LearningRate = []string{own}, own+"_learning_rate"
		} else {
			o.Networks = slices.DeleteFunc(slices.Clone(networks), func(n string) bool { return slices.Contains(optimizers, n+"_optimizer") })
		}
		r.Optimizers = append(r.Optimizers, o)
	}
	return r, nil
}

// clone shares no slice with r.
func (r Registry) clone() Registry {
	r.Groups, r.Optimizers, r.Hyperparameters = slices.Clone(r.Groups), slices.Clone(r.Optimizers), slices.Clone(r.Hyperparameters)
	for i := range r.Groups {
		r.Groups[i].Shared = slices.Clone(r.Groups[i].Shared)
	}
	for i := range r.Optimizers {
		r.Optimizers[i].Networks = slices.Clone(r.Optimizers[i].Networks)
	}
	return r
}

// Validate checks what can be checked without a member.
func (r Registry) Validate() error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("evolution: registry: "+format, args...))
	}
	policies, seen := 0, map[string]bool{}
	for _, g := range r.Groups {
		if g.Policy {
			policies++
		}
		for _, name := range append([]string{g.Name}, g.Shared...) {
			switch {
			case name == "" || strings.Contains(name, "/"):
				wrong("a network is named %q; give the name before the first slash of its arrays", name)
			case seen[name]:
				wrong("the network %q is named twice", name)
			}
			seen[name] = true
		}
	}
	for _, g := range r.Groups {
		if i := slices.IndexFunc(r.Groups, func(o NetworkGroup) bool { return o.Name == g.Like }); g.Like != "" && (i < 0 || r.Groups[i].Like != "" || g.Policy) {
			wrong("the network %q is like %q; that must be another group, which is like no other, and the policy leads", g.Name, g.Like)
		}
	}
	if policies != 1 {
		wrong("%d of %d groups are the policy's; mark exactly one", policies, len(r.Groups))
	}
	names := map[string]bool{}
	for _, o := range r.Optimizers {
		if o.Name == "" || names[o.Name] {
			wrong("an optimizer is named %q; every one needs a name of its own", o.Name)
		}
		names[o.Name] = true
		for _, n := range o.Networks {
			if !seen[n] {
				wrong("the optimizer %q trains %q, which is in no group%s", o.Name, n, nearby(n, slices.Sorted(maps.Keys(seen))))
			}
		}
	}
	return errors.Join(problems...)
}

// Check compares the registry with a member: everything it names exists there, shared networks are like those they
// follow, and no network that the snapshot has an architecture of is left out.
func (r Registry) Check(snap *checkpoint.Snapshot, hyperparameters map[string]float64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("evolution: registry: "+format, args...))
	}
	known, seen := layout.NetworksIn(snap), map[string]bool{}
	for _, g := range r.Groups {
		own := layout.Below(snap, g.Name)
		if seen[g.Name] = true; len(own) == 0 {
			wrong("members have no network %q: their snapshots have %q%s", g.Name, known, nearby(g.Name, known))
		}
		if tree := layout.Map(snap.Values, layout.Architectures); tree != nil && g.Like != "" && !sameArchitecture(tree[g.Name], tree[g.Like]) {
			wrong("the network %q is to be like %q, but its architecture is another", g.Name, g.Like)
		}
		for _, shared := range g.Shared {
			seen[shared] = true
			if !sameShapes(own, layout.Below(snap, shared)) {
				wrong("the network %q is shared with %q, but its arrays are others", shared, g.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(layout.Map(snap.Values, layout.Architectures))) {
		if !seen[name] {
			wrong("the network %q has an architecture and is in no group; name it, as a group or as shared", name)
		}
	}
	optimizers := layout.OptimizersIn(snap)
	for _, o := range r.Optimizers {
		if !slices.Contains(optimizers, o.Name) {
			wrong("members have no optimizer %q: their snapshots have %q%s", o.Name, optimizers, nearby(o.Name, optimizers))
		}
		if _, ok := hyperparameters[o.LearningRate]; !ok && o.LearningRate != "" {
			problems = append(problems, fmt.Errorf("evolution: registry: optimizer %q: %w", o.Name, unknownHyperparameter(o.LearningRate, slices.Sorted(maps.Keys(hyperparameters)))))
		}
	}
	for _, name := range r.Hyperparameters {
		if _, ok := hyperparameters[name]; !ok {
			problems = append(problems, unknownHyperparameter(name, slices.Sorted(maps.Keys(hyperparameters))))
		}
	}
	return errors.Join(problems...)
}

func nearby(name string, known []string) string {
	if near := config.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func sameShapes(a, b map[string]checkpoint.Array) bool {
	return len(a) > 0 && maps.EqualFunc(a, b, func(x, y checkpoint.Array) bool { return x.DType == y.DType && slices.Equal(x.Shape, y.Shape) })
}

// policy is the name of the policy's network.
func (r Registry) policy() string {
	for _, g := range r.Groups {
		if g.Policy {
			return g.Name
		}
	}
	return policy
}

// sameArchitecture compares two entries of a snapshot.
func sameArchitecture(a, b any) bool {
	x, err1 := models.ArchitectureOfValues(a)
	y, err2 := models.ArchitectureOfValues(b)
	return err1 == nil && err2 == nil && x.Equal(y)
}
