package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

// Shared is a policy and a value network on one trunk (skrl: models.separate: false). Ask it for its [Shared.Policy]
// and [Shared.Value]; agents that find both computing from the same Shared run the trunk once a minibatch.
type Shared struct {
	trunk, policyHead, valueHead Network
	dist                         Distribution
}

// NewShared joins a trunk with two heads that read its features as observations: policyHead with dist.Outputs()
// outputs, valueHead with one.
func NewShared(trunk, policyHead, valueHead Network, dist Distribution) (*Shared, error) {
	if trunk == nil || policyHead == nil || valueHead == nil || dist == nil {
		return nil, fmt.Errorf("models: a shared model needs a trunk, two heads and a distribution")
	}
	if HiddenSize(policyHead) > 0 || HiddenSize(valueHead) > 0 {
		return nil, fmt.Errorf("models: a head of a shared model has recurrent layers; " +
			"put them into the trunk, whose state both halves share")
	}
	if err := begin(dist, policyHead); err != nil {
		return nil, err
	}
	return &Shared{trunk, policyHead, valueHead, dist}, nil
}

// head feeds the trunk's features to a head. Only the trunk may have memory: both halves read the same state of it.
type head struct {
	shared *Shared
	net    Network
}

// Forward implements [Network].
func (h head) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return h.net.Forward(s, Inputs{Observations: h.shared.trunk.Forward(s, in)})
}

// HiddenSize implements [Recurrent].
func (h head) HiddenSize() int { return HiddenSize(h.shared.trunk) }

// ForwardHidden implements [Recurrent].
func (h head) ForwardHidden(s *tensor.Scope, in Inputs) (out, hidden tensor.Tensor) {
	features, hidden := ForwardHidden(s, h.shared.trunk, in)
	return h.net.Forward(s, Inputs{Observations: features}), hidden
}

// Parameters implements [Network].
func (h head) Parameters() []tensor.Parameter {
	return append(named("trunk.", h.shared.trunk.Parameters()), named("head.", h.net.Parameters())...)
}

// Close implements [Network].
func (h head) Close() {
	h.shared.trunk.Close()
	h.net.Close()
}

// named puts a prefix before the parameters' names.
func named(prefix string, params []tensor.Parameter) []tensor.Parameter {
	out := make([]tensor.Parameter, len(params))
	for i, p := range params {
		p.Name = prefix + p.Name
		out[i] = p
	}
	return out
}

// Policy is the policy half.
func (m *Shared) Policy() Policy { return &Stochastic{Net: head{m, m.policyHead}, Dist: m.dist} }

// Value is the value half.
func (m *Shared) Value() Network { return head{m, m.valueHead} }

// trunkOf returns the Shared that a policy and a value network are the halves of, nil where they are not.
func trunkOf(p Policy, v Network) (m *Shared, policy, value Network) {
	if sp, ok := p.(*Stochastic); ok {
		own, isHead := sp.Net.(head)
		other, too := v.(head)
		if isHead && too && own.shared == other.shared {
			return own.shared, own.net, other.net
		}
	}
	return nil, nil, nil
}

// SharesTrunk reports whether a policy and a value network are the halves of one [Shared], so that they have one
// memory.
func SharesTrunk(p Policy, v Network) bool {
	m, _, _ := trunkOf(p, v)
	return m != nil
}

// EvaluateBoth judges actions and computes values in one go; a trunk that both share runs once. The value network reads
// ofValue, the same rows with the states of its own memory; with a shared trunk there is only the policy's.
func EvaluateBoth(s *tensor.Scope, p Policy, v Network, in, ofValue Inputs, actions tensor.Tensor) (Evaluation,
	tensor.Tensor) {
	if m, policy, value := trunkOf(p, v); m != nil {
		features := Inputs{Observations: m.trunk.Forward(s, in)}
		return m.dist.Evaluate(s, policy.Forward(s, features), actions), value.Forward(s, features)
	}
	return p.Evaluate(s, in, actions), v.Forward(s, ofValue)
}
