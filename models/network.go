// Package models builds the networks of an agent: multilayer perceptrons, the distributions that turn their outputs
// into actions, and whatever a user writes that has the few methods of [Network].
package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Inputs is a batch that networks compute from. Absent parts are zero Tensors.
type Inputs struct {
	// Observations is (n, O), already preprocessed (for a discriminator: AMP observations).
	Observations tensor.Tensor
	// States is (n, S): privileged states for the value network.
	States tensor.Tensor
	// Hidden is for networks with memory, see [Recurrent].
	Hidden Hidden
}

// rows returns the states or the observations.
func (in Inputs) rows(states bool) tensor.Tensor {
	if states {
		return in.States
	}
	return in.Observations
}

// Network is anything that computes (n, outputs) from a batch and can say what its parameters are. It is the whole of
// what a custom model must do.
//
// Without more it has no memory: Forward depends on its inputs and parameters only, and agents call it on rows in any
// order, each step of the environment at a time while acting and shuffled across episodes while learning. A network
// with memory implements [Recurrent] too, and is given whole sequences.
type Network interface {
	// Forward computes the outputs in scope s, which owns every temporary.
	Forward(s *tensor.Scope, in Inputs) tensor.Tensor
	// Parameters lists the tensors that training changes, always the same ones in the same order.
	Parameters() []tensor.Parameter
	// Close releases the parameters. It may be called twice.
	Close()
}

// MLPConfig describes a multilayer perceptron.
type MLPConfig struct {
	// Inputs is the width of a row.
	Inputs int
	// Outputs is the width of a result row.
	Outputs int
	// Recurrent is a stack of recurrent layers before the hidden layers, none by default. Its parameters come first
	// and are named after its kind: gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0,
	// gru.weight_ih_l1, ...
	Recurrent RecurrentLayer
	// Hidden lists the widths of the hidden layers.
	Hidden []int
	// Activation follows every hidden layer, by name ("elu"); Activations, one a hidden layer, takes precedence.
	Activation  string
	Activations []string
	// OutputActivation follows the last layer; none by default.
	OutputActivation string
	// OutputGain multiplies the last layer's initial weights; 0 means 1. A small gain (0.1, 0.01) makes a policy begin
	// near its mean action.
	OutputGain float64
	// Initialization says how layers start. Of its gains only HiddenGain is used: OutputGain above is the last layer's.
	Initialization Initialization
	// Source says which input the network reads: "observations" (default) or "states".
	Source string
}

// MLP is a multilayer perceptron, with MLPConfig.Recurrent behind recurrent layers. Its parameters are named
// net.0.weight, net.0.bias, net.2.weight, ... as a PyTorch Sequential of alternating layers and activations names
// them, and start as PyTorch's Linear does, uniform in ±1/√fan_in, unless MLPConfig.Initialization says otherwise.
type MLP struct {
	*network
}

// NewMLP returns a perceptron whose initial parameters are drawn from a generator with the given seed.
func NewMLP(cfg MLPConfig, seed int64) (*MLP, error) {
	if cfg.Inputs <= 0 || cfg.Outputs <= 0 {
		return nil, fmt.Errorf("models: MLP with %d inputs and %d outputs: both must be positive", cfg.Inputs, cfg.Outputs)
	}
	if len(cfg.Activations) > 0 && len(cfg.Activations) != len(cfg.Hidden) {
		return nil, fmt.Errorf("models: MLP has %d hidden layers and %d activations; give one a layer, or Activation for all",
			len(cfg.Hidden), len(cfg.Activations))
	}
	if cfg.Source != "" && cfg.Source != "observations" && cfg.Source != "states" {
		return nil, fmt.Errorf("models: MLP source %q: want observations or states", cfg.Source)
	}
	if err := cfg.Initialization.Validate(); err != nil {
		return nil, err
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	m := &MLP{&network{net: description.Network{Inputs: cfg.Inputs}, states: cfg.Source == "states",
		scope: tensor.NoGrad()}}
	in := cfg.Inputs
	if r := cfg.Recurrent; !r.none() {
		if err := r.validate(in); err != nil {
			return nil, err
		}
		m.recurrent(gen, r.step(r.Kind), in, cfg.Initialization.orthogonal())
		in = r.HiddenSize
	}
	for i := 0; i <= len(cfg.Hidden); i++ {
		out, name, from := cfg.Outputs, cfg.OutputActivation, cfg.Initialization.start(cfg.OutputGain)
		if i < len(cfg.Hidden) {
			out, name, from = cfg.Hidden[i], cfg.Activation, cfg.Initialization.hidden()
			if len(cfg.Activations) > 0 {
				name = cfg.Activations[i]
			}
		}
		if out <= 0 {
			m.Close()
			return nil, fmt.Errorf("models: MLP hidden layer %d has width %d; it must be positive", i, out)
		}
		if _, err := tensor.ParseActivation(name); err != nil {
			m.Close()
			return nil, fmt.Errorf("models: MLP layer %d: %w", i, err)
		}
		layer := fmt.Sprintf("net.%d", 2*i)
		m.layer(gen, description.Step{
			Op: description.Linear, Outputs: out, Weight: layer + ".weight", Bias: layer + ".bias", Activation: written(name),
		}, in, from)
		in = out
	}
	m.compile()
	if err := m.scope.Err(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close implements [Network]. It may be called on nil.
func (m *MLP) Close() {
	if m != nil {
		m.scope.Close()
	}
}

// Linears is implemented by networks that can say which of their parameters are the weights of linear layers (those of
// convolutions are none), in the
// order data passes them; the last is the output layer. Discriminators need it for weight decay and logit
// regularisation.
type Linears interface {
	LinearWeights() []tensor.Tensor
}

// Critic is implemented by networks that can compute, with their outputs (n, 1), the mean squared gradient of an output
// by its observation faster than by differentiating twice.
type Critic interface {
	// ForwardPenalty returns the outputs and E[‖∂output/∂observation‖²].
	ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor)
}

// ForwardPenalty implements [Critic]. One with recurrent layers is differentiated twice.
func (m *MLP) ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	if m.whole != nil {
		return s.Critic(in.rows(m.states), m.whole)
	}
	return m.penalty(s, in)
}

// penalty differentiates the network twice.
func (n *network) penalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	x := s.RequireGrad(s.Detach(in.rows(n.states)))
	in.Observations, in.States = x, x
	out = n.Forward(s, in)
	return out, s.Mean(s.Sum(s.Square(s.Grad(s.Sum(out), true, x)[0]), -1))
}
