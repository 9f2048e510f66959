package inspection

import (
	"fmt"
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
	if _, ours := snap.Values[layout.Agent]; ours { // converted from a checkpoint of gorl
		return ofSnapshot(unverified(path), "PyTorch file", snap, o), nil
	}
	c := &Checkpoint{Stored: unverified(path), Kind: "PyTorch file", Values: map[string]any{}}
	c.addTensors(snap.Arrays, o)
	flatten(c.Values, "", v)
	if len(layout.Below(snap, layout.Policy)) > 0 { // otherwise it is not skrl's
		if a, ok := ofSkrl(path); ok {
			c.Kind, c.Agents = "checkpoint of an agent of skrl", []Agent{a}
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
			"learning_rate": adam.LearningRate, "adam_beta1": adam.Beta1, "adam_beta2": adam.Beta2,
			"adam_eps":     adam.Eps,
			"weight_decay": adam.WeightDecay,
		} {
			a.Settings[name] = number.JSON(x)
		}
	}
	return a, true
}
