// Package models builds the networks of an agent, and the distributions that turn their outputs into actions.
//
// Every constructor makes a description (package description) and a [Net] that computes it: [NewMLP], [NewCNN],
// [NewEvolvable], and [Spec], which reads the network language of YAML files. [ActorCritic] and similar functions make
// a policy and a value network together. A custom network implements the few methods of [Network]. [Register] gives it
// a name that files can use.
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
	// ActionMask is (n, K): which choices a policy may draw (1) and which not (0), see spaces.NewActionMask. It is
	// a zero Tensor if the spaces have no masks. Networks do not read it; [Stochastic] applies it to their outputs.
	ActionMask tensor.Tensor
}

// rows returns the input that a network reads: States (n, S) if states is true, otherwise Observations (n, O).
func (in Inputs) rows(states bool) tensor.Tensor {
	if states {
		return in.States
	}
	return in.Observations
}

// Network computes outputs (n, outputs) from a batch and lists its parameters. A custom model needs only these methods.
//
// A Network has no memory: Forward depends on its inputs and parameters only. Agents call it on rows in any order: one
// step of all environments at a time while acting, shuffled across episodes while learning. A network with memory
// implements [Recurrent] too and receives whole sequences.
type Network interface {
	// Forward computes the outputs in scope s, which owns every temporary.
	Forward(s *tensor.Scope, in Inputs) tensor.Tensor
	// Parameters lists the tensors that training changes. Every call returns the same tensors in the same order,
	// because optimisers and checkpoints refer to them by position and name.
	Parameters() []tensor.Parameter
	// Close releases the parameters. It may be called twice.
	Close()
}

// Linears is implemented by networks that list the weights of their linear layers, without those of convolutions. The
// weights come in the order in which data passes them, so the last is the output layer. Discriminators need Linears for
// weight decay and logit regularisation.
type Linears interface {
	LinearWeights() []tensor.Tensor
}

// Critic is implemented by networks that can compute the gradient penalty of AMP's discriminator: the mean squared
// gradient of the output (n, 1) by the observation. They do so faster than autograd, which has to differentiate twice.
type Critic interface {
	// ForwardPenalty returns the outputs and E[‖∂output/∂observation‖²].
	ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor)
}
