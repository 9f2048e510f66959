package inspection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/number"
)

// ofTorch describes a file of PyTorch: one of skrl's agents, or any with tensors.
func ofTorch(path string, o Options) (*Checkpoint, error) {
	v, err := torchfile.Open(path)
	if err != nil {
		return nil, err
	}
	snap, err := convert.FromTorch(v)
	if err != nil {
		return nil, fmt.Errorf("inspection: %s: %w", path, err)
	}
	if _, ours := snap.Values[layout.Agent]; ours { // converted from a checkpoint of gorl's
		return ofSnapshot(size(path), snap, o), nil
	}
	c := &Checkpoint{Stored: size(path), Kind: "PyTorch file", Values: map[string]any{}}
	c.tensors(snap.Arrays, o)
	scalars(c.Values, "", v)
	for name := range snap.Arrays {
		if strings.HasPrefix(name, layout.Parameter(layout.Policy, "")) { // else reading it again would tell nothing
			if a, ok := ofSkrl(path); ok {
				c.Kind, c.Agents = "checkpoint of an agent of skrl", []Agent{a}
			}
			break
		}
	}
	return c, nil
}

// ofSkrl describes the agent in a checkpoint of skrl. ok is false for a file of another kind.
func ofSkrl(path string) (Agent, bool) {
	k, err := skrl.Read(path)
	if err != nil || k.Module(layout.Policy) == nil {
		return Agent{}, false
	}
	a := Agent{Class: "PPO", Settings: map[string]any{},
		Undescribed: "skrl's checkpoints do not say what the policy computes"}
	if k.Module(layout.Discriminator) != nil {
		a.Class = "AMP"
	}
	var names []string
	for _, m := range k.Modules {
		names = append(names, m.Name)
	}
	a.Settings["modules"] = strings.Join(names, ", ")
	if adam, err := k.Adam(); err == nil && adam != nil {
		for name, x := range map[string]float64{
			"learning_rate": adam.LearningRate, "adam_beta1": adam.Beta1, "adam_beta2": adam.Beta2, "adam_eps": adam.Eps,
			"weight_decay": adam.WeightDecay,
		} {
			a.Settings[name] = number.JSON(x)
		}
	}
	return a, true
}

// scalars puts the plain values of a .pt under the keys that lead to them. A list of nothing else is one value.
func scalars(into map[string]any, at string, v any) {
	switch v := v.(type) {
	case *torchfile.Dict:
		for key, x := range v.All() {
			scalars(into, under(at, key), x)
		}
	case *torchfile.List:
		scalars(into, at, torchfile.Tuple(v.Items))
	case torchfile.Tuple:
		switch {
		case slices.ContainsFunc(v, compound):
			for i, x := range v {
				scalars(into, under(at, i), x)
			}
		case len(v) > longest:
			into[at] = fmt.Sprintf("%d values", len(v))
		default:
			into[at] = strings.Trim(fmt.Sprint(v), "[]")
		}
	case *torchfile.Tensor, nil:
	case float64:
		into[at] = number.JSON(v)
	case bool, int64:
		into[at] = v
	case []byte:
		into[at] = fmt.Sprintf("%d bytes", len(v))
	default:
		into[at] = fmt.Sprint(v)
	}
}

// compound reports whether a value of a .pt has others in it, or is a tensor, which is described elsewhere.
func compound(v any) bool {
	switch v.(type) {
	case *torchfile.Dict, *torchfile.List, torchfile.Tuple, *torchfile.Tensor:
		return true
	}
	return false
}
