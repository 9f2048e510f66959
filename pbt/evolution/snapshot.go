package evolution

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models"
)

// Architectures returns what a snapshot of an agent says of its networks, by their names ("policy", "value",
// "discriminator", ...). Networks without an architecture are left out; none at all is an error.
func Architectures(snap *checkpoint.Snapshot) (map[string]models.Architecture, error) {
	all, err := snap.Value("architectures")
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
		out.Values["architectures"] = tree
	}
	return out
}

// ResetOptimizers returns the snapshot with all optimizers as new: moments zero, no steps behind them. Arrays that stay
// are shared.
func ResetOptimizers(snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	for name, a := range out.Arrays {
		if strings.Contains(name, "/exp_avg/") || strings.Contains(name, "/exp_avg_sq/") {
			out.Arrays[name] = checkpoint.Array{DType: a.DType, Shape: a.Shape, Data: make([]byte, len(a.Data))}
		}
	}
	if steps, ok := snap.Values["optimizer_steps"].(map[string]any); ok {
		none := map[string]any{}
		for name := range steps {
			none[name] = int64(0)
		}
		out.Values["optimizer_steps"] = none
	}
	return out
}
