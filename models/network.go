// Package models builds the networks of an agent, and the distributions that turn their outputs into actions.
//
// Every constructor makes a description (package description) and a [Net] that computes it: [NewMLP], [NewCNN],
// [NewEvolvable], and [Spec], which reads the network language of YAML files. [ActorCritic] and its like make a policy
// and a value network at once. A network of a user's own has the few methods of [Network]; [Register] gives it a name
// for files.
//
// Reading order: network.go and policy.go (the interfaces), net.go (from a description to parameters), steps.go (the
// forward pass), mlp.go, then spec.go and the files after it.
package models

import "github.com/gorl-dev/gorl/tensor"

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
