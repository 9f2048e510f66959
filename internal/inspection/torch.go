package inspection

import (
	"fmt"
	"os"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/number"
)

// size is what is known of a file without a manifest.
func size(path string) Stored {
	s := Stored{File: path, State: Unverified}
	if info, err := os.Stat(path); err == nil {
		s.Bytes = info.Size()
	}
	return s
}

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
		c := ofSnapshot(size(path), snap, o)
		return c, nil
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

// ofSkrl describes an agent of skrl's, if the file is one.
func ofSkrl(path string) (Agent, bool) {
	k, err := skrl.Read(path)
	if err != nil || k.Module(layout.Policy) == nil {
		return Agent{}, false
	}
	a := Agent{Class: "PPO", Settings: map[string]any{}, Undescribed: "skrl's checkpoints do not say what the policy computes"}
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
			"learning_rate": adam.LearningRate, "adam_beta1": adam.Beta1, "adam_beta2": adam.Beta2, "adam_eps": adam.Eps, "weight_decay": adam.WeightDecay,
		} {
			a.Settings[name] = number.JSON(x)
		}
	}
	return a, true
}

// scalars puts the plain values of a .pt under the keys that lead to them.
func scalars(into map[string]any, at string, v any) {
	under := func(key any) string {
		if at == "" {
			return fmt.Sprint(key)
		}
		return fmt.Sprintf("%s/%v", at, key)
	}
	switch v := v.(type) {
	case *torchfile.Dict:
		for key, x := range v.All() {
			scalars(into, under(key), x)
		}
	case *torchfile.List:
		listed(into, at, v.Items, under)
	case torchfile.Tuple:
		listed(into, at, v, under)
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

func listed(into map[string]any, at string, items []any, under func(any) string) {
	plain := true
	for _, x := range items {
		switch x.(type) {
		case *torchfile.Dict, *torchfile.List, torchfile.Tuple, *torchfile.Tensor:
			plain = false
		}
	}
	if plain {
		if len(items) > 16 {
			into[at] = fmt.Sprintf("%d values", len(items))
		} else {
			into[at] = strings.Trim(fmt.Sprint(items), "[]")
		}
		return
	}
	for i, x := range items {
		scalars(into, under(i), x)
	}
}
