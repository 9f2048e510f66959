package evolution

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
)

// EditOptions say how architectures are edited. The zero value has the defaults.
type EditOptions struct {
	// Limits bound the architecture of every network that NetworkLimits does not name. All zero means
	// DefaultLimits.
	Limits Limits
	// NetworkLimits bound single networks, by name ("discriminator").
	NetworkLimits map[string]Limits
	// Preserve says how weights are carried over. Default PreserveFunction.
	Preserve Preserve
	// Policy is the network that an edit is for; the others follow. Default "policy".
	Policy string
	// Like names, by network, another network whose edits and limits it takes over, so that both always have the same
	// architecture. See NetworkGroup.Like.
	Like map[string]string
}

func (o EditOptions) withDefaults() EditOptions {
	o.Preserve = cmp.Or(o.Preserve, PreserveFunction)
	o.Policy = cmp.Or(o.Policy, layout.Policy)
	return o
}

// of returns a network's limits.
func (o EditOptions) of(network string) (Limits, error) {
	network = cmp.Or(o.Like[network], network)
	l, own := o.NetworkLimits[network]
	if !own {
		l = cmp.Or(o.Limits, DefaultLimits())
	}
	if err := l.check(); err != nil {
		return l, fmt.Errorf("evolution: limits of %s: %w", network, err)
	}
	return l, nil
}

// inOrder sorts networks for drawing random numbers: by name, with the policy in the place of "policy" whatever it is
// called, so that the same seed gives an agent the same edits under other names.
func (o EditOptions) inOrder(networks iter.Seq[string]) []string {
	place := func(name string) string {
		switch name {
		case o.Policy:
			return layout.Policy
		case layout.Policy:
			return o.Policy
		}
		return name
	}
	return slices.SortedFunc(networks, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
}

// Edited is an agent after an edit.
type Edited struct {
	// Architectures are those of all networks. They equal those given if nothing changed.
	Architectures map[string]description.Architecture
	// Snapshot is the agent's new snapshot. It is the one given if nothing changed.
	Snapshot *checkpoint.Snapshot
	// Done has what was applied to each network that changed. It differs from the edit asked for where a limit turned
	// that into another one, and is empty where limits allowed nothing.
	Done map[string]Edit

	policy string
}

// String describes the edit of the policy, followed by those of networks that were edited otherwise:
// "head.add_layer, discriminator: head.add_node(layer 0, 4)". It is "None" if nothing changed.
func (e Edited) String() string {
	main := "None"
	if done, ok := e.Done[e.policy]; ok {
		main = done.String()
	}
	texts := []string{main}
	for _, name := range slices.Sorted(maps.Keys(e.Done)) {
		if text := e.Done[name].String(); text != main {
			texts = append(texts, name+": "+text)
		}
	}
	return strings.Join(texts, ", ")
}

// EditNetworks changes the policy's architecture by e, and by the same edit with the same numbers that of every other
// network that has the module, each within its own limits. Where a limit turns the policy's edit into another one (an
// added layer into added nodes), the others get that other edit, as AgileRL does it. Weights and moments follow as
// o.Preserve says; rng draws new weights. An e for a module that the policy does not have is an error.
func EditNetworks(architectures map[string]description.Architecture, snap *checkpoint.Snapshot, e Edit, o EditOptions,
	rng *rand.Rand) (Edited, error) {
	o = o.withDefaults()
	e, err := e.lead(architectures, o)
	if err != nil {
		return Edited{}, err
	}
	return editAll(architectures, snap, e, o, rng)
}

// lead returns what limits make of the edit for the policy.
func (e Edit) lead(architectures map[string]description.Architecture, o EditOptions) (Edit, error) {
	policy, ok := architectures[o.Policy]
	if !ok {
		return e, fmt.Errorf("evolution: an agent without an architecture of its %s cannot be edited", o.Policy)
	}
	limits, err := o.of(o.Policy)
	if err != nil {
		return e, err
	}
	_, done, _, err := e.Apply(policy, limits)
	if err != nil {
		return e, fmt.Errorf("evolution: %s: %w", o.Policy, err)
	}
	return done, nil
}

// editAll applies the edit to every network that has what it changes, once to each.
func editAll(architectures map[string]description.Architecture, snap *checkpoint.Snapshot, e Edit, o EditOptions,
	rng *rand.Rand) (Edited, error) {
	edits := map[string]Edit{}
	for name, a := range architectures {
		if e.Fits(a) {
			edits[name] = e
		}
	}
	return apply(architectures, snap, edits, o, rng)
}

// DrawActivations gives every network another activation, drawn by rng from choices without the network's present one.
// Networks with an entry in o.Like get the one drawn for the other network. A network that no choice is left for
// stays as it is. Weights stay, and so do the optimizers' moments, unless o.Preserve is PreserveOverlap, which resets
// optimizers. The network computes something else afterwards: this mutation preserves no function. Unknown names are
// errors.
func DrawActivations(architectures map[string]description.Architecture, snap *checkpoint.Snapshot, choices []string,
	o EditOptions, rng *rand.Rand) (Edited, error) {
	o = o.withDefaults()
	for _, c := range choices {
		if _, err := description.ParseActivation(c); err != nil {
			return Edited{}, fmt.Errorf("evolution: %w", err)
		}
	}
	edits := map[string]Edit{}
	for _, name := range o.inOrder(maps.Keys(architectures)) {
		now, _ := description.ParseActivation(architectures[name].Activation)
		others := slices.DeleteFunc(slices.Clone(choices), func(c string) bool {
			f, _ := description.ParseActivation(c)
			return f == now
		})
		if len(others) > 0 && o.Like[name] == "" {
			edits[name] = Edit{Kind: ChangeActivation, Activation: others[rng.IntN(len(others))]}
		}
	}
	for name, other := range o.Like {
		if edit, ok := edits[other]; ok {
			edits[name] = edit
		}
	}
	return apply(architectures, snap, edits, o, rng)
}

// apply applies at most one edit to each network: to its architecture within its limits, then to its arrays.
func apply(architectures map[string]description.Architecture, snap *checkpoint.Snapshot, edits map[string]Edit,
	o EditOptions, rng *rand.Rand) (Edited, error) {
	out := Edited{maps.Clone(architectures), snap, map[string]Edit{}, o.Policy}
	arrays := snap.Arrays
	for _, name := range o.inOrder(maps.Keys(edits)) {
		limits, err := o.of(name)
		if err != nil {
			return Edited{}, err
		}
		from := architectures[name]
		to, done, different, err := edits[name].Apply(from, limits)
		if err != nil {
			return Edited{}, fmt.Errorf("evolution: %s: %w", name, err)
		}
		if !different {
			continue
		}
		if arrays, err = rewire(arrays, layout.Parameter(name, ""), from, to, done, o.Preserve, rng); err != nil {
			return Edited{}, err
		}
		out.Architectures[name], out.Done[name] = to, done
	}
	if len(out.Done) == 0 {
		return out, nil
	}
	out.Snapshot = changed(snap, arrays, out.Architectures)
	if o.Preserve == PreserveOverlap {
		out.Snapshot = resetOptimizers(out.Snapshot)
	}
	return out, nil
}
