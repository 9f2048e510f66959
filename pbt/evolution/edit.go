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
	"github.com/gorl-dev/gorl/tensor"
)

// policy is the network that an edit is for; others follow.
const policy = layout.Policy

// EditOptions say how architectures change. The zero value has the defaults.
type EditOptions struct {
	// Limits are those of every network that NetworkLimits does not name; all zero means models.DefaultLimits.
	Limits models.Limits
	// NetworkLimits are those of single networks, e.g. of "discriminator".
	NetworkLimits map[string]models.Limits
	// Preserve says how weights are carried over; default PreserveFunction.
	Preserve Preserve
}

// of returns a network's limits.
func (o EditOptions) of(network string) (models.Limits, error) {
	l, own := o.NetworkLimits[network]
	if !own {
		if l = o.Limits; l == (models.Limits{}) {
			l = models.DefaultLimits()
		}
	}
	if err := l.Validate(); err != nil {
		return l, fmt.Errorf("evolution: limits of %s: %w", network, err)
	}
	return l, nil
}

// Edited is an agent after an edit.
type Edited struct {
	// Architectures and Snapshot are the agent's. Where nothing changed they are those that were given.
	Architectures map[string]models.Architecture
	Snapshot      *checkpoint.Snapshot
	// Done is what was finally applied, by network, of those that changed; it is empty where nothing did, as at a limit.
	Done map[string]models.Edit
}

// String reads "head.add_node(layer 0, 32)" as done to the policy, with what differs in other networks, or "None".
func (e Edited) String() string {
	main := "None"
	if done, ok := e.Done[policy]; ok {
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

// Edit changes the policy's architecture, and by the same edit with the same numbers that of every other network with
// such a module, each within its limits. What a limit makes of the policy's edit (no layer but nodes) is what the others
// are given. The weights follow; rng draws new ones. An edit of a module that the policy does not have is an error.
func Edit(architectures map[string]models.Architecture, snap *checkpoint.Snapshot, e models.Edit, o EditOptions, rng *rand.Rand) (Edited, error) {
	if _, ok := architectures[policy]; !ok {
		return Edited{}, fmt.Errorf("evolution: an agent without an architecture of its %s cannot be edited", policy)
	}
	networks := slices.Sorted(maps.Keys(architectures))
	slices.SortStableFunc(networks, func(a, b string) int { return rank(a) - rank(b) })
	edits := map[string]models.Edit{}
	for _, name := range networks {
		a := architectures[name]
		if name != policy && !a.Has(e) {
			continue
		}
		limits, err := o.of(name)
		if err != nil {
			return Edited{}, err
		}
		_, done, _, err := a.Apply(e, limits)
		if err != nil {
			return Edited{}, fmt.Errorf("evolution: %s: %w", name, err)
		}
		if name == policy {
			e = done
		}
		edits[name] = e
	}
	return apply(architectures, snap, edits, o, rng)
}

// rank puts the policy first.
func rank(network string) int {
	if network == policy {
		return 0
	}
	return 1
}

// SetActivation gives every network another activation, drawn from choices without its own; a network that no choice is
// left for stays as it is. Moments stay, too, unless weights are preserved as PreserveOverlap does.
func SetActivation(architectures map[string]models.Architecture, snap *checkpoint.Snapshot, choices []string, o EditOptions, rng *rand.Rand) (Edited, error) {
	for _, c := range choices {
		if _, err := tensor.ParseActivation(c); err != nil {
			return Edited{}, fmt.Errorf("evolution: %w", err)
		}
	}
	edits := map[string]models.Edit{}
	for _, name := range slices.Sorted(maps.Keys(architectures)) {
		now, _ := tensor.ParseActivation(architectures[name].Activation)
		others := slices.DeleteFunc(slices.Clone(choices), func(c string) bool {
			f, _ := tensor.ParseActivation(c)
			return f == now
		})
		if len(others) > 0 {
			edits[name] = models.Edit{Kind: models.SetActivation, Activation: others[rng.IntN(len(others))]}
		}
	}
	return apply(architectures, snap, edits, o, rng)
}

// apply carries out one edit a network.
func apply(architectures map[string]models.Architecture, snap *checkpoint.Snapshot, edits map[string]models.Edit, o EditOptions, rng *rand.Rand) (Edited, error) {
	if o.Preserve == "" {
		o.Preserve = PreserveFunction
	}
	out := Edited{Architectures: maps.Clone(architectures), Snapshot: snap, Done: map[string]models.Edit{}}
	arrays := snap.Arrays
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		limits, err := o.of(name)
		if err != nil {
			return Edited{}, err
		}
		from := architectures[name]
		to, done, different, err := from.Apply(edits[name], limits)
		if err != nil {
			return Edited{}, fmt.Errorf("evolution: %s: %w", name, err)
		}
		if !different {
			continue
		}
		if arrays, err = Rewire(arrays, name+"/", from, to, done, o.Preserve, rng); err != nil {
			return Edited{}, err
		}
		out.Architectures[name], out.Done[name] = to, done
	}
	if len(out.Done) == 0 {
		return out, nil
	}
	out.Snapshot = changed(snap, arrays, out.Architectures)
	if o.Preserve == PreserveOverlap {
		out.Snapshot = ResetOptimizers(out.Snapshot)
	}
	return out, nil
}
