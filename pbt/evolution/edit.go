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

// editOptions say how architectures are edited.
type editOptions struct {
	// Limits bound the architecture of every network that NetworkLimits does not name. All zero means
	// DefaultLimits.
	Limits Limits
	// NetworkLimits bound single networks, by name ("discriminator").
	NetworkLimits map[string]Limits
	// Preserve says how weights are carried over.
	Preserve Preserve
	// Policy is the network that an edit is for; the others follow.
	Policy string
	// Like names, by network, another network whose edits and limits it takes over, so that both always have the same
	// architecture. See NetworkGroup.Like.
	Like map[string]string
}

// editable is an agent whose networks are edited.
type editable struct {
	part
	editOptions
	architectures map[string]description.Architecture // of the networks that evolve
}

// limits returns a network's limits, which Mutations.Validate has checked.
func (a editable) limits(network string) Limits {
	network = cmp.Or(a.Like[network], network)
	for _, name := range []string{a.prefix + network, network} {
		if l, own := a.NetworkLimits[name]; own {
			return l
		}
	}
	return cmp.Or(a.Limits, DefaultLimits())
}

// inOrder sorts networks for drawing random numbers: by name, with the policy in the place of "policy" whatever it is
// called, so that the same seed gives an agent the same edits under other names.
func (o editOptions) inOrder(networks iter.Seq[string]) []string {
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

// edited is an agent after an edit.
type edited struct {
	// Architectures are those of all networks. They equal those given if nothing changed.
	Architectures map[string]description.Architecture
	// Snapshot is the agent's new snapshot. It is the one given if nothing changed.
	Snapshot *checkpoint.Snapshot
	// Done has what was applied to each network that changed. It differs from the edit asked for where a limit turned
	// that into another one, and is empty where limits allowed nothing.
	Done map[string]edit

	policy string
}

// String describes the edit of the policy, followed by those of networks that were edited otherwise:
// "head.add_layer, discriminator: head.add_node(layer 0, 4)". It is "None" if nothing changed.
func (e edited) String() string {
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

// lead returns what limits make of an edit of the policy. Where a limit turns the policy's edit into another one (an
// added layer into added nodes), the other networks get that other edit, as AgileRL does it.
func (a editable) lead(e edit) edit {
	_, done, _ := e.apply(a.architectures[a.Policy], a.limits(a.Policy))
	return done
}

// all returns the edit, with the same numbers, for every network that has what it changes.
func (a editable) all(e edit) map[string]edit {
	edits := map[string]edit{}
	for name, shape := range a.architectures {
		if e.fits(shape) {
			edits[name] = e
		}
	}
	return edits
}

// drawActivations returns another activation for every network, drawn by rng from choices without the network's present
// one. Networks with an entry in Like get the one drawn for the other network. A network that no choice is left for
// stays as it is. Weights stay, and so do the optimizers' moments, unless Preserve is PreserveOverlap, which resets
// optimizers. The network computes something else afterwards: this mutation preserves no function.
func (a editable) drawActivations(choices []string, rng *rand.Rand) map[string]edit {
	edits := map[string]edit{}
	for _, name := range a.inOrder(maps.Keys(a.architectures)) {
		now, _ := description.ParseActivation(a.architectures[name].Activation)
		others := slices.DeleteFunc(slices.Clone(choices), func(c string) bool {
			f, _ := description.ParseActivation(c)
			return f == now
		})
		if len(others) > 0 && a.Like[name] == "" {
			edits[name] = edit{Kind: changeActivation, Activation: others[rng.IntN(len(others))]}
		}
	}
	for name, other := range a.Like {
		if edit, ok := edits[other]; ok {
			edits[name] = edit
		}
	}
	return edits
}

// apply applies at most one edit to each network: to its architecture within its limits, then to its arrays. Weights
// and moments follow as Preserve says; rng draws new weights.
func (a editable) apply(edits map[string]edit, rng *rand.Rand) (edited, error) {
	out := edited{maps.Clone(a.architectures), a.snap, map[string]edit{}, a.Policy}
	arrays := a.snap.Arrays
	for _, name := range a.inOrder(maps.Keys(edits)) {
		from := a.architectures[name]
		to, done, different := edits[name].apply(from, a.limits(name))
		if !different {
			continue
		}
		var err error
		if arrays, err = rewire(arrays, layout.Parameter(name, ""), from, to, done, a.Preserve, rng); err != nil {
			return edited{}, fmt.Errorf("%s%w", a.title(), err)
		}
		out.Architectures[name], out.Done[name] = to, done
	}
	if len(out.Done) == 0 {
		return out, nil
	}
	out.Snapshot = changed(a.snap, arrays, out.Architectures)
	if a.Preserve == PreserveOverlap {
		out.Snapshot = resetOptimizers(out.Snapshot)
	}
	return out, nil
}
