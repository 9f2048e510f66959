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
	return &Shared{trunk, policyHead, valueHead, dist}, nil
}

// head feeds the trunk's features to a head.
type head struct {
	shared *Shared
	net    Network
}

func (h head) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return h.net.Forward(s, Inputs{Observations: h.shared.trunk.Forward(s, in)})
}

func (h head) Parameters() []tensor.Parameter {
	return append(named("trunk.", h.shared.trunk.Parameters()), named("head.", h.net.Parameters())...)
}

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

// EvaluateBoth judges actions and computes values in one go; a trunk that both share runs once.
func EvaluateBoth(s *tensor.Scope, p Policy, v Network, in Inputs, actions tensor.Tensor) (Evaluation, tensor.Tensor) {
	if sp, ok := p.(*Stochastic); ok {
		own, isHead := sp.Net.(head)
		other, too := v.(head)
		if isHead && too && own.shared == other.shared {
			features := Inputs{Observations: own.shared.trunk.Forward(s, in)}
			return sp.Dist.Evaluate(s, own.net.Forward(s, features), actions), other.net.Forward(s, features)
		}
	}
	return p.Evaluate(s, in, actions), v.Forward(s, in)
}
