package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// EvolvableConfig describes an [Evolvable] network.
type EvolvableConfig struct {
	// Architecture is its shape; edits of it make other networks, see [Architecture.Apply].
	Architecture Architecture
	// Outputs is the width of a result row.
	Outputs int
	// OutputActivation follows the last layer; none by default.
	OutputActivation string
	// OutputGain multiplies the last layer's initial weights; 0 means 1.
	OutputGain float64
	// Source says which input the network reads: "observations" (default) or "states".
	Source string
}

// Evolvable is a network made from an [Architecture]. Its parameters are named after the architecture's modules, so
// that a layer keeps its name when others come or go: encoder.<part>.conv.0.weight, ..., encoder.<part>.0.weight, ...,
// encoder.<part>.out.weight, memory.weight_ih_l0, ..., head.0.weight, ..., head.out.bias. Layers start as PyTorch's do.
// With recurrent layers it is a [Recurrent] network.
type Evolvable struct {
	*network
	cfg EvolvableConfig
}

// NewEvolvable returns a network whose initial parameters are drawn from a generator with the given seed.
func NewEvolvable(cfg EvolvableConfig, seed int64) (*Evolvable, error) {
	if err := cfg.Architecture.Validate(); err != nil {
		return nil, err
	}
	if cfg.Outputs < 1 {
		return nil, fmt.Errorf("models: an evolvable network with %d outputs; want at least 1", cfg.Outputs)
	}
	if cfg.Source != "" && cfg.Source != "observations" && cfg.Source != "states" {
		return nil, fmt.Errorf("models: evolvable network: source %q: want observations or states", cfg.Source)
	}
	if _, err := tensor.ParseActivation(cfg.OutputActivation); err != nil {
		return nil, fmt.Errorf("models: evolvable network: %w", err)
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	cfg.Architecture = cfg.Architecture.Clone()
	for _, m := range cfg.Architecture.Modules() {
		for _, l := range m.Layers() {
			if err := checkLinear(l.Inputs, l.Outputs); err != nil {
				return nil, err
			}
		}
	}
	net := cfg.Architecture.Describe(cfg.Outputs, cfg.OutputActivation)
	widths, err := net.Widths()
	if err != nil {
		return nil, fmt.Errorf("models: evolvable network: %w", err)
	}
	e := &Evolvable{&network{net: net, states: cfg.Source == "states", scope: tensor.NoGrad()}, cfg}
	for i, s := range net.Steps {
		var from start
		if i == len(net.Steps)-1 {
			from.gain = cfg.OutputGain
		}
		switch {
		case s.Recurrent():
			e.recurrentParameters(gen, s, widths[net.Sources(i)[0]], false)
		case s.Op == description.Linear || s.Op == description.Conv2d:
			e.parameters(gen, s, widths[net.Sources(i)[0]], from)
		}
	}
	e.compile()
	if err := e.scope.Err(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Architecture is the network's shape.
func (e *Evolvable) Architecture() Architecture { return e.cfg.Architecture.Clone() }

// Config is what the network was made from.
func (e *Evolvable) Config() EvolvableConfig {
	cfg := e.cfg
	cfg.Architecture = cfg.Architecture.Clone()
	return cfg
}

// ForwardPenalty implements [Critic]. Several parts, or choices, which have no gradient, are differentiated twice.
func (e *Evolvable) ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	if e.whole != nil {
		return s.Critic(in.rows(e.states), e.whole)
	}
	if !slices.ContainsFunc(e.cfg.Architecture.Parts, func(p Part) bool { return len(p.Choices) == 0 }) {
		return e.Forward(s, in), s.Scalar(0)
	}
	return e.penalty(s, in)
}

// Close implements [Network]. It may be called on nil.
func (e *Evolvable) Close() {
	if e != nil {
		e.scope.Close()
	}
}
