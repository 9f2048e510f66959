package evolution

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
)

// Architectures reads the architectures that a snapshot of an agent records, by network: "policy", "value",
// "discriminator" and so on, in IPPO and MAPPO by group and network, "speaker.policy". Networks without a recorded
// architecture are left out. An agent that records none is an error: make it with ppo.Evolvable, amp.Evolvable or
// ippo.Evolvable.
func Architectures(snap *checkpoint.Snapshot) (map[string]description.Architecture, error) {
	all := map[string]description.Architecture{}
	for _, p := range partsOf(snap) {
		own, err := p.architectures()
		if err != nil {
			return nil, err
		}
		for name, a := range own {
			all[p.prefix+name] = a
		}
	}
	return all, nil
}

// architectures returns those of the agent by its own names.
func (p part) architectures() (map[string]description.Architecture, error) {
	snap := p.snap
	all, err := snap.Value(layout.Architectures)
	if err != nil {
		return nil, fmt.Errorf(
			"evolution: %sthe snapshot names no architectures; make the agent from some, for instance with "+
				"ppo.Evolvable: %w", p.title(), err)
	}
	tree, ok := all.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("evolution: %sthe snapshot's architectures are a %T, not names with architectures",
			p.title(), all)
	}
	out := map[string]description.Architecture{}
	for name, v := range tree {
		if out[name], err = description.ArchitectureOf(v); err != nil {
			return nil, fmt.Errorf("evolution: %s%s: %w", p.prefix, name, err)
		}
	}
	return out, nil
}

// changed returns a snapshot like snap with other arrays. Where architectures is not nil, it also records these
// architectures and brings the values that depend on them in line. Everything else is shared with snap.
func changed(snap *checkpoint.Snapshot, arrays map[string]checkpoint.Array,
	architectures map[string]description.Architecture) *checkpoint.Snapshot {
	out := &checkpoint.Snapshot{Arrays: arrays, Values: maps.Clone(snap.Values), Metadata: maps.Clone(snap.Metadata)}
	if architectures == nil {
		return out
	}
	tree := map[string]any{}
	maps.Copy(tree, layout.Map(snap.Values, layout.Architectures))
	for name, a := range architectures {
		tree[name] = a.Values()
	}
	out.Values[layout.Architectures] = tree
	reorder(out, architectures)
	if a, ok := architectures[layout.Policy]; ok {
		describe(out, snap, a)
	}
	return out
}

// reorder rewrites the snapshot's list of parameter names, which is in the order in which the optimizer numbers them.
// The parameters of an edited network stand together in that list: where the first of them stood, all of the new
// architecture are listed, encoders first. Parameters outside its modules, such as log standard deviations,
// keep their places.
func reorder(out *checkpoint.Snapshot, architectures map[string]description.Architecture) {
	listed, ok := out.Values[layout.Parameters].([]any)
	if !ok {
		return
	}
	begun := map[string]bool{}
	var names []any
	for _, v := range listed {
		name, _ := v.(string)
		network, parameter, _ := layout.CutParameter(name)
		a, evolves := architectures[network]
		if module, _, _ := strings.Cut(parameter, "."); !evolves || module != "encoder" && module != "memory" &&
			module != "head" {
			names = append(names, v)
			continue
		}
		if begun[network] {
			continue
		}
		begun[network] = true
		arrays, err := a.Network(1, "").Arrays()
		if err != nil {
			continue // architectures are valid here
		}
		for _, array := range arrays {
			names = append(names, layout.Parameter(network, array.Name))
		}
	}
	out.Values[layout.Parameters] = names
}

// describe brings the description of the policy for inference in line with its new architecture a. It can do so only
// where the description before said nothing beyond the architecture before; otherwise it leaves the description out,
// and the agent that restores the snapshot writes a new one.
func describe(out, before *checkpoint.Snapshot, a description.Architecture) {
	delete(out.Values, layout.Description)
	d, err := description.Of(before.Values[layout.Description])
	all, missing := Architectures(before)
	was, ok := all[layout.Policy]
	if err != nil || missing != nil || !ok {
		return
	}
	last := d.Network.Steps[len(d.Network.Steps)-1]
	network := func(a description.Architecture) description.Network {
		return a.Network(last.Outputs, last.Activation).Named(layout.Parameter(layout.Policy, ""))
	}
	if reflect.DeepEqual(d.Network, network(was)) {
		d.Network = network(a)
		out.Values[layout.Description] = d.Values()
	}
}

// resetOptimizers returns the snapshot with the named optimizers as they begin: moments zero and no steps counted.
// Without names it resets all of them. An optimizer restarts its bias correction with its step count, so that its
// first steps are of the usual length. Arrays that do not change are shared with snap.
func resetOptimizers(snap *checkpoint.Snapshot, names ...string) *checkpoint.Snapshot {
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	reset := func(optimizer string) bool { return len(names) == 0 || slices.Contains(names, optimizer) }
	for name, a := range out.Arrays {
		if optimizer, _, _, moment := layout.CutMoment(name); moment && reset(optimizer) {
			out.Arrays[name] = checkpoint.Array{DType: a.DType, Shape: a.Shape, Data: make([]byte, len(a.Data))}
		}
	}
	if steps := maps.Clone(layout.Map(snap.Values, layout.OptimizerSteps)); steps != nil {
		for name := range steps {
			if reset(name) {
				steps[name] = int64(0)
			}
		}
		out.Values[layout.OptimizerSteps] = steps
	}
	return out
}

// settled returns a snapshot of mutated networks without a rollout in progress, which the policy before collected.
func settled(snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	if _, ok := snap.Values[layout.RolloutSteps]; !ok {
		return snap
	}
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	layout.DropRollout(out)
	return out
}
