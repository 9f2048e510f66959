package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// EvolvableConfig describes a network that evolution can edit.
type EvolvableConfig struct {
	// Architecture is the shape of the network.
	Architecture description.Architecture
	// Outputs is the width of a result row.
	Outputs int
	// OutputActivation follows the last layer. Default: none.
	OutputActivation string
	// OutputGain multiplies the last layer's initial weights. Default (0): 1.
	OutputGain float64
	// Source is the input that the network reads: "observations" (default) or "states".
	Source string
}

// NewEvolvable returns a network of an architecture. Its initial parameters are drawn from a generator with the given
// seed, as PyTorch draws them. Parameters are named after the architecture's modules, so that a layer keeps its name
// when others come or go: encoder.<part>.conv.0.weight, ..., encoder.<part>.0.weight, ..., encoder.<part>.out.weight,
// memory.weight_ih_l0, ..., head.0.weight, ..., head.out.bias.
func NewEvolvable(cfg EvolvableConfig, seed int64) (*Net, error) {
	if err := cfg.Architecture.Validate(); err != nil {
		return nil, err
	}
	if cfg.Outputs < 1 {
		return nil, fmt.Errorf("models: an evolvable network with %d outputs; want at least 1", cfg.Outputs)
	}
	states, err := readsStates("evolvable network", cfg.Source)
	if err != nil {
		return nil, err
	}
	if _, err := description.ParseActivation(cfg.OutputActivation); err != nil {
		return nil, fmt.Errorf("models: evolvable network: %w", err)
	}
	// The clone protects the network from later edits of the caller's architecture.
	a := cfg.Architecture.Clone()
	net := a.Network(cfg.Outputs, cfg.OutputActivation)
	n, err := plan{Network: net, states: states, output: start{gain: cfg.OutputGain},
		last: len(net.Steps) - 1}.build(seed)
	if err != nil {
		return nil, err
	}
	n.architecture = &a
	return n, nil
}
