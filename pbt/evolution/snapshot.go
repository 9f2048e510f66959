package evolution

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
)

// Architectures returns what a snapshot of an agent says of its networks, by their names ("policy", "value",
// "discriminator", ...). Networks without an architecture are left out; none at all is an error.
func Architectures(snap *checkpoint.Snapshot) (map[string]models.Architecture, error) {
	all, err := snap.Value(layout.Architectures)
	if err != nil {
		return nil, fmt.Errorf("evolution: the snapshot names no architectures; make the agent from some, for instance with ppo.Evolvable: %w", err)
	}
	tree, ok := all.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("evolution: the snapshot's architectures are a %T, not names with architectures", all)
	}
	out := map[string]models.Architecture{}
	for name, v := range tree {
		if out[name], err = models.ArchitectureOfValues(v); err != nil {
			return nil, fmt.Errorf("evolution: %s: %w", name, err)
		}
	}
	return out, nil
}

// changed is the snapshot with other arrays and architectures; the rest is shared.
func changed(snap *checkpoint.Snapshot, arrays map[string]checkpoint.Array, architectures map[string]models.Architecture) *checkpoint.Snapshot {
	out := &checkpoint.Snapshot{Arrays: arrays, Values: maps.Clone(snap.Values), Metadata: maps.Clone(snap.Metadata)}
	if architectures != nil {
		tree := map[string]any{}
		for name, a := range architectures {
			tree[name] = a.Values()
		}
		out.Values[layout.Architectures] = tree
		reorder(out, architectures)
		if a, ok := architectures[layout.Policy]; ok {
			describe(out, snap, a)
		}
	}
	return out
}

// reorder brings the list of parameters, which is in the optimizer's order, in line with the architectures.
func reorder(out *checkpoint.Snapshot, architectures map[string]models.Architecture) {
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
		if !evolves || !strings.HasPrefix(parameter, "encoder.") && !strings.HasPrefix(parameter, "head.") {
			names = append(names, v)
			continue
		}
		if begun[network] {
			continue
		}
		begun[network] = true
		for _, m := range a.Modules() {
			for i := 0; i <= len(m.Hidden); i++ {
				names = append(names, layout.Parameter(network, layer(m, i)+".weight"), layout.Parameter(network, layer(m, i)+".bias"))
			}
		}
	}
	out.Values[layout.Parameters] = names
}

// describe brings the policy's description in line with its architecture. One that says more than the architecture did
// is left out: the agent that restores the snapshot describes its policy anew.
func describe(out, before *checkpoint.Snapshot, a models.Architecture) {
	delete(out.Values, layout.Description)
	d, err := description.Of(before.Values[layout.Description])
	all, missing := Architectures(before)
	was, ok := all[layout.Policy]
	if err != nil || missing != nil || !ok {
		return
	}
	last := d.Network.Steps[len(d.Network.Steps)-1]
	if reflect.DeepEqual(d.Network, was.Describe(last.Outputs, last.Activation).Named(layout.Parameter(layout.Policy, ""))) {
		d.Network = a.Describe(last.Outputs, last.Activation).Named(layout.Parameter(layout.Policy, ""))
		out.Values[layout.Description] = d.Values()
	}
}

// ResetOptimizers returns the snapshot with all optimizers as new: moments zero, no steps behind them. Arrays that stay
// are shared.
func ResetOptimizers(snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	for name, a := range out.Arrays {
		if _, _, _, moment := layout.CutMoment(name); moment {
			out.Arrays[name] = checkpoint.Array{DType: a.DType, Shape: a.Shape, Data: make([]byte, len(a.Data))}
		}
	}
	if steps := layout.Map(snap.Values, layout.OptimizerSteps); steps != nil {
		none := map[string]any{}
		for name := range steps {
			none[name] = int64(0)
		}
		out.Values[layout.OptimizerSteps] = none
	}
	return out
}
