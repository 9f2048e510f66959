package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

// Shared is a policy and a value network on one trunk (skrl: models.separate: false). [Shared.Policy] and
// [Shared.Value] return the halves. Agents that find both halves of the same Shared run the trunk once a minibatch.
type Shared struct {
	// trunk computes the features (n, F) from the inputs. The heads read the features as observations.
	trunk, policyHead, valueHead Network
	// dist turns the outputs of policyHead into actions.
	dist Distribution
}

// NewShared joins a trunk with two heads, which read the trunk's features as observations. policyHead must have
// dist.Outputs() outputs, and valueHead one. The heads must not be recurrent.
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

// head is one half: the trunk followed by one of the two output networks. It implements [Recurrent] for the trunk's
// state. A head itself has no memory, because both halves read and return the same state.
type head struct {
	// shared identifies the pair: two heads with the same pointer share a trunk, see trunkOf.
	shared *Shared
	// net is policyHead or valueHead.
	net Network
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

// Parameters implements [Network]. Both halves list the trunk's tensors under equal names. [tensor.NewFlat] stores a
// tensor that two networks share once.
func (h head) Parameters() []tensor.Parameter {
	return append(named("trunk.", h.shared.trunk.Parameters()), named("head.", h.net.Parameters())...)
}

// Close implements [Network]. Both halves close the trunk, which may be closed twice.
func (h head) Close() {
	h.shared.trunk.Close()
	h.net.Close()
}

// named returns a copy of the parameters with a prefix before their names. The tensors stay shared.
func named(prefix string, params []tensor.Parameter) []tensor.Parameter {
	out := make([]tensor.Parameter, len(params))
	for i, p := range params {
		p.Name = prefix + p.Name
		out[i] = p
	}
	return out
}

// Policy returns the policy half.
func (m *Shared) Policy() Policy { return &Stochastic{Net: head{m, m.policyHead}, Dist: m.dist} }

// Value returns the value half.
func (m *Shared) Value() Network { return head{m, m.valueHead} }

// trunkOf returns the Shared of which p and v are the two halves, and their head networks. It returns nil if p and v
// are not halves of one Shared.
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

// SharesTrunk reports whether a policy and a value network are the halves of one [Shared]. Agents then keep one
// recurrent state for both.
func SharesTrunk(p Policy, v Network) bool {
	m, _, _ := trunkOf(p, v)
	return m != nil
}
