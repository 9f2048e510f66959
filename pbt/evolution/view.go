package evolution

import (
	"maps"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
)

// view is a snapshot in which the policy's network goes by the name that edits and noise know it by. Where it does so
// anyway that is the snapshot itself.
func (e *Evolver) view(snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	return swapped(snap, e.registry.policy(), policy)
}

// alias is what a network goes by after two names were exchanged.
func alias(network, a, b string) string {
	switch network {
	case a:
		return b
	case b:
		return a
	}
	return network
}

// alias is what a network goes by in a view, and the other way round.
func (e *Evolver) alias(network string) string { return alias(network, e.registry.policy(), policy) }

// swapped exchanges the names of two networks.
func swapped(snap *checkpoint.Snapshot, a, b string) *checkpoint.Snapshot {
	if a == b {
		return snap
	}
	other := func(network string) string { return alias(network, a, b) }
	arrays := make(map[string]checkpoint.Array, len(snap.Arrays))
	for name, array := range snap.Arrays {
		_, prefix, rest, moment := layout.CutMoment(name)
		if !moment {
			rest = name
		}
		if network, parameter, ok := layout.CutParameter(rest); ok {
			name = prefix + layout.Parameter(other(network), parameter)
		}
		arrays[name] = array
	}
	out := changed(snap, arrays, nil)
	if tree := layout.Map(snap.Values, layout.Architectures); tree != nil {
		renamed := make(map[string]any, len(tree))
		for network, v := range tree {
			renamed[other(network)] = v
		}
		out.Values[layout.Architectures] = renamed
	}
	return out
}

// settle turns a view of evolved networks back into a snapshot like snap: under the networks' own names, with shared
// networks as copies of those they follow, with the architectures that did not take part, and without a rollout in
// progress, which belongs to the weights as they were.
func (e *Evolver) settle(snap, view *checkpoint.Snapshot, architectures map[string]models.Architecture) *checkpoint.Snapshot {
	next := swapped(view, policy, e.registry.policy())
	out := changed(next, maps.Clone(next.Arrays), nil)
	tree := maps.Clone(layout.Map(snap.Values, layout.Architectures))
	if tree != nil {
		for name, a := range architectures {
			tree[e.alias(name)] = a.Values()
		}
	}
	for _, g := range e.registry.Groups {
		for _, shared := range g.Shared {
			maps.DeleteFunc(out.Arrays, func(name string, _ checkpoint.Array) bool {
				return strings.HasPrefix(name, layout.Parameter(shared, ""))
			})
			for rest, a := range layout.Below(next, g.Name) {
				out.Arrays[layout.Parameter(shared, rest)] = a
			}
			if own, ok := tree[g.Name]; ok {
				tree[shared] = own
			}
		}
	}
	if tree != nil {
		out.Values[layout.Architectures] = tree
	}
	if _, ok := out.Values[layout.RolloutSteps]; ok {
		layout.DropRollout(out)
	}
	return out
}
