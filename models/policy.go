package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Action is what a policy drew for a batch.
type Action struct {
	// Actions is (n, A), the actions that were drawn. LogProb (n, 1) is their log-probability.
	Actions, LogProb tensor.Tensor
	// Executed is (n, A), the actions for the environment. It differs from Actions if actions are clipped.
	Executed tensor.Tensor
	// Mean (n, A) and StdDev, (A) or (n, A), are the parameters of the normal distributions that the actions were drawn
	// from. They are zero Tensors for other distributions.
	Mean, StdDev tensor.Tensor
}

// Evaluation is what the current policy computes for actions that were taken earlier. PPO's losses read it.
type Evaluation struct {
	// LogProb is (n, 1), the log-probability of the actions, with gradient.
	LogProb tensor.Tensor
	// Entropy is (n, k) or (1, k), in nats. Its sum over the last dimension is the entropy of the whole action.
	// Independent normal distributions give one value for each dimension.
	Entropy tensor.Tensor
	// Mean is (n, A), the means of the normal distributions, with gradient. It is a zero Tensor for other
	// distributions.
	Mean tensor.Tensor
	// StdDev is the standard deviation, (A) or (n, A), without gradient. It is a zero Tensor for discrete actions.
	StdDev tensor.Tensor
}

// Distribution turns network outputs (n, [Distribution.Outputs]) into actions. [NewDistribution] chooses the usual one
// for an action space.
type Distribution interface {
	// Outputs is the number of values that a network must compute for each row.
	Outputs() int
	// ActionWidth is the width of an action row.
	ActionWidth() int
	// Sample draws one action a row.
	Sample(s *tensor.Scope, out tensor.Tensor, gen *tensor.Generator) Action
	// Mode returns the deterministic action (n, A): the mean, or the most probable choice.
	Mode(s *tensor.Scope, out tensor.Tensor) tensor.Tensor
	// Evaluate returns log-probability and entropy of given actions (n, A).
	Evaluate(s *tensor.Scope, out, actions tensor.Tensor) Evaluation
	// Parameters lists the distribution's own parameters (a free log standard deviation), or nil.
	Parameters() []tensor.Parameter
	// Close releases the parameters. It may be called twice.
	Close()
}

// Policy draws actions and evaluates earlier ones. [NewPolicy] makes one from a network and a distribution. A custom
// policy for an environment with action masks must apply Inputs.ActionMask; agents refuse actions that it forbids.
type Policy interface {
	// Sample draws one action a row.
	Sample(s *tensor.Scope, in Inputs, gen *tensor.Generator) Action
	// Mode returns the deterministic action (n, A).
	Mode(s *tensor.Scope, in Inputs) tensor.Tensor
	// Evaluate returns log-probability and entropy of given actions (n, A).
	Evaluate(s *tensor.Scope, in Inputs, actions tensor.Tensor) Evaluation
	// ActionWidth is A.
	ActionWidth() int
	// Parameters lists the tensors that training changes.
	Parameters() []tensor.Parameter
	// Close releases the parameters. It may be called twice.
	Close()
}

// RecurrentPolicy is implemented by policies that may have memory, as [Recurrent] is by networks. [Stochastic]
// implements it. A user's policy without memory does not have to.
type RecurrentPolicy interface {
	Policy
	// HiddenSize is the width of a row of the policy's state. 0 means that the policy has no memory.
	HiddenSize() int
	// SampleHidden is Sample, and ModeHidden is Mode. Both also return the states (B, HiddenSize) after the last step,
	// without gradient. Evaluate reads the states before the first step from its Inputs.
	SampleHidden(s *tensor.Scope, in Inputs, gen *tensor.Generator) (a Action, hidden tensor.Tensor)
	ModeHidden(s *tensor.Scope, in Inputs) (actions, hidden tensor.Tensor)
}

// Stochastic is a [Policy] made of a network and a distribution.
type Stochastic struct {
	// Net computes the distribution's parameters (n, Dist.Outputs()).
	Net Network
	// Dist turns them into actions.
	Dist Distribution
}

// NewPolicy returns the policy that feeds net's outputs to dist. net may be any Network whose outputs have the width
// dist.Outputs(). NewPolicy checks the width of a [Net]. The first batch reveals the width of other networks.
func NewPolicy(net Network, dist Distribution) (*Stochastic, error) {
	if net == nil || dist == nil {
		return nil, fmt.Errorf("models: a policy needs a network and a distribution")
	}
	if n, ok := net.(*Net); ok && n.outputs != dist.Outputs() {
		return nil, fmt.Errorf("models: the policy's network has %d outputs, its distribution needs %d", n.outputs,
			dist.Outputs())
	}
	// The start of a log standard deviation that depends on the state is written into net's output layer.
	if err := begin(dist, net); err != nil {
		return nil, err
	}
	return &Stochastic{Net: net, Dist: dist}, nil
}

// Sample implements [Policy].
func (p *Stochastic) Sample(s *tensor.Scope, in Inputs, gen *tensor.Generator) Action {
	return p.Dist.Sample(s, maskLogits(s, p.Net.Forward(s, in), in.ActionMask), gen)
}

// Mode implements [Policy].
func (p *Stochastic) Mode(s *tensor.Scope, in Inputs) tensor.Tensor {
	return p.Dist.Mode(s, maskLogits(s, p.Net.Forward(s, in), in.ActionMask))
}

// HiddenSize implements [RecurrentPolicy].
func (p *Stochastic) HiddenSize() int { return HiddenSize(p.Net) }

// SampleHidden implements [RecurrentPolicy].
func (p *Stochastic) SampleHidden(s *tensor.Scope, in Inputs, gen *tensor.Generator) (Action, tensor.Tensor) {
	out, hidden := ForwardHidden(s, p.Net, in)
	return p.Dist.Sample(s, maskLogits(s, out, in.ActionMask), gen), hidden
}

// ModeHidden implements [RecurrentPolicy].
func (p *Stochastic) ModeHidden(s *tensor.Scope, in Inputs) (actions, hidden tensor.Tensor) {
	out, hidden := ForwardHidden(s, p.Net, in)
	return p.Dist.Mode(s, maskLogits(s, out, in.ActionMask)), hidden
}

// Evaluate implements [Policy].
func (p *Stochastic) Evaluate(s *tensor.Scope, in Inputs, actions tensor.Tensor) Evaluation {
	return p.Dist.Evaluate(s, maskLogits(s, p.Net.Forward(s, in), in.ActionMask), actions)
}

// ActionWidth implements [Policy].
func (p *Stochastic) ActionWidth() int { return p.Dist.ActionWidth() }

// Parameters implements [Policy]. The distribution's parameters come first, then the network's, as in skrl.
func (p *Stochastic) Parameters() []tensor.Parameter {
	return append(append([]tensor.Parameter(nil), p.Dist.Parameters()...), p.Net.Parameters()...)
}

// Close implements [Policy].
func (p *Stochastic) Close() {
	p.Net.Close()
	p.Dist.Close()
}

// EvaluateBoth evaluates actions (n, A) and computes values (n, 1) for the same rows. A shared trunk runs once, on in.
// Otherwise the value network reads ofValue: the same rows with the states of its own memory.
func EvaluateBoth(s *tensor.Scope, p Policy, v Network, in, ofValue Inputs, actions tensor.Tensor) (Evaluation,
	tensor.Tensor) {
	if m, policy, value := trunkOf(p, v); m != nil {
		features := Inputs{Observations: m.trunk.Forward(s, in)}
		out := maskLogits(s, policy.Forward(s, features), in.ActionMask)
		return m.dist.Evaluate(s, out, actions), value.Forward(s, features)
	}
	values := v.Forward(s, ofValue) // first, so that no step lies between the networks' passes (tensor/csrc/record.h)
	return p.Evaluate(s, in, actions), values
}

// maskLogits returns logits (n, K) with description.MaskedLogit for every choice that mask (n, K) forbids. No gradient
// flows to these. NaN stays NaN. A mask that is a zero Tensor allows everything. The operations are those that a
// minibatch can replay, which tensor.Where is not.
func maskLogits(s *tensor.Scope, logits, mask tensor.Tensor) tensor.Tensor {
	if mask.T == nil || s.Err() != nil {
		return logits
	}
	allowed := s.As(mask, tensor.Float32)
	forbidden := s.MulScalar(s.ScalarSub(1, allowed), description.MaskedLogit)
	return s.Add(s.Mul(logits, allowed), forbidden)
}
