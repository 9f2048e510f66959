package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// MLPConfig describes a multilayer perceptron.
type MLPConfig struct {
	// Inputs is the width of a row.
	Inputs int
	// Outputs is the width of a result row.
	Outputs int
	// Recurrent is a stack of recurrent layers before the hidden layers. Default: none. Its parameters come first and
	// are named after its kind: gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0, gru.weight_ih_l1,
	// ...
	Recurrent RecurrentLayer
	// Hidden lists the widths of the hidden layers.
	Hidden []int
	// Activation is the name of the activation after every hidden layer ("elu"). Default: none.
	Activation string
	// OutputActivation follows the last layer. Default: none.
	OutputActivation string
	// OutputGain multiplies the last layer's initial weights. Default (0): 1. With a small gain (0.1, 0.01) a policy
	// begins near its mean action.
	OutputGain float64
	// Initialization says how layers start. Only its HiddenGain is used of the gains: OutputGain above is for the last
	// layer.
	Initialization Initialization
	// Source is the input that the network reads: "observations" (default) or "states".
	Source string
}

// NewMLP returns a multilayer perceptron, after recurrent layers if MLPConfig.Recurrent has any. Its initial parameters
// are drawn from a generator with the given seed. They start as in PyTorch's Linear, uniform in ±1/√fan_in, unless
// MLPConfig.Initialization says otherwise. Their names are net.0.weight, net.0.bias, net.2.weight, ..., as in a PyTorch
// Sequential of alternating layers and activations.
func NewMLP(cfg MLPConfig, seed int64) (*Net, error) {
	if cfg.Inputs <= 0 || cfg.Outputs <= 0 {
		return nil, fmt.Errorf("models: MLP with %d inputs and %d outputs: both must be positive", cfg.Inputs,
			cfg.Outputs)
	}
	states, err := readsStates("MLP", cfg.Source)
	if err != nil {
		return nil, err
	}
	if err := cfg.Initialization.Validate(); err != nil {
		return nil, err
	}
	p := plan{Network: description.Network{Inputs: cfg.Inputs}, states: states, hidden: cfg.Initialization.hidden(),
		output: cfg.Initialization.start(cfg.OutputGain)}
	if r := cfg.Recurrent; !r.None() {
		if err := r.Validate(cfg.Inputs); err != nil {
			return nil, err
		}
		// The recurrent layers are the first step, named after their kind ("gru").
		p.Add(r.Step(r.Kind))
	}
	for i, width := range cfg.Hidden {
		if width <= 0 {
			return nil, fmt.Errorf("models: MLP hidden layer %d has width %d; it must be positive", i, width)
		}
	}
	for _, name := range []string{cfg.Activation, cfg.OutputActivation} {
		if _, err := description.ParseActivation(name); err != nil {
			return nil, fmt.Errorf("models: MLP: %w", err)
		}
	}
	p.Network = p.Then(description.MLP("", cfg.Inputs, cfg.Hidden, cfg.Outputs, description.Written(cfg.Activation)))
	p.last = len(p.Steps) - 1
	p.Steps[p.last].Activation = description.Written(cfg.OutputActivation)
	return p.build(seed)
}

// readsStates reports whether a network with the given source reads states. what names the network in errors.
func readsStates(what, source string) (bool, error) {
	if source != "" && source != "observations" && source != "states" {
		return false, fmt.Errorf("models: %s source %q: want observations or states", what, source)
	}
	return source == "states", nil
}
