package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// BuildPolicy builds the spec as a policy for the action space of sp. The parameters are drawn from a generator with
// the given seed, as [NewMLP] draws them.
func (s Spec) BuildPolicy(sp spaces.Set, seed int64) (Policy, error) {
	dist, err := s.distribution(sp.Action)
	if err != nil {
		return nil, err
	}
	return policyOn(dist, func(outputs int) (Network, error) {
		if s.own != nil {
			return s.own.network(s.Class, Role{Spaces: sp, Outputs: outputs, Seed: seed})
		}
		net, width, err := s.assemble(sp, s.Output, outputs, seed)
		if err == nil && width != int64(outputs) {
			net.Close()
			err = fmt.Errorf("models: output: %q has %d values, the policy needs %d; ACTIONS has as many", s.Output,
				width, outputs)
		}
		return net, err
	})
}

// BuildNetwork builds the spec as a value network or a discriminator. The class must be Deterministic. For a
// discriminator sp.Observation is the AMP observation space. Parameters are drawn as in [Spec.BuildPolicy]. The result
// implements [Linears].
func (s Spec) BuildNetwork(sp spaces.Set, seed int64) (Network, error) {
	if s.own != nil {
		return s.own.network(s.Class, Role{Spaces: sp, Outputs: 1, Seed: seed})
	}
	if class, err := classOf(s.Class); err != nil {
		return nil, err
	} else if class != classDeterministic {
		return nil, fmt.Errorf("models: class: %q is a policy's; a value or a discriminator is %s", s.Class,
			classDeterministic)
	}
	net, _, err := s.assemble(sp, s.Output, sp.Action.Outputs(), seed)
	return net, err
}

// BuildShared builds a policy and a value network on one trunk (skrl: models.separate: false). The trunk is the
// policy's network, and the network of the value's spec is ignored. Each half has its own output layer, named
// policy_layer and value_layer. Each has its own output expression, which may use ACTIONS or ONE and the last
// container's name.
func BuildShared(policy, value Spec, sp spaces.Set, seed int64) (p Policy, v Network, err error) {
	for _, s := range []Spec{policy, value} {
		if s.own != nil {
			return nil, nil, fmt.Errorf("models: class: %q is a registered network, which has no trunk to share; "+
				"leave out separate: false", s.Class)
		}
	}
	if class, err := classOf(value.Class); err != nil || class != classDeterministic {
		return nil, nil, fmt.Errorf("models: class: the value's is %q; it must be %s", value.Class, classDeterministic)
	}
	dist, err := policy.distribution(sp.Action)
	if err != nil {
		return nil, nil, err
	}
	// owned collects what has to be closed if a later step fails.
	owned := []interface{ Close() }{dist}
	defer func() {
		if err != nil {
			for _, o := range owned {
				o.Close()
			}
		}
	}()
	// The trunk's output is the result of its last container. Trunk, policy head and value head use three consecutive
	// seeds.
	trunk, width, err := policy.assemble(sp, policy.last(), dist.Outputs(), seed)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, trunk)
	last := policy.last()
	policyHead, err := policy.head("policy", "ACTIONS", last, width, sp, dist.Outputs(), dist.Outputs(), seed+1)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, policyHead)
	valueHead, err := value.head("value", "ONE", last, width, sp, dist.Outputs(), 1, seed+2)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, valueHead)
	shared, err := NewShared(trunk, policyHead, valueHead, dist)
	if err != nil {
		return nil, nil, err
	}
	return shared.Policy(), shared.Value(), nil
}

// distribution returns the distribution that the policy's outputs feed. A registered network gets the usual one of the
// action space.
func (s Spec) distribution(action spaces.Space) (Distribution, error) {
	class, err := classOf(s.Class)
	if err != nil {
		return nil, err
	}
	if s.own != nil {
		return NewDistribution(action, DefaultGaussianConfig())
	}
	switch class {
	case classGaussian:
		return NewGaussian(action, s.Gaussian)
	case classMultivariateGaussian:
		return NewMultivariateGaussian(action, s.Gaussian)
	case classCategorical:
		return NewCategorical(action)
	case classMultiCategorical:
		return NewMultiCategorical(action, s.Reduction)
	}
	return nil, fmt.Errorf("models: class: a policy of the class %s has no probabilities to learn from; use a "+
		"Gaussian or MultivariateGaussian one", class)
}

// newAssembler starts a network that reads observations of the given width and, if sp has them, states.
func (s Spec) newAssembler(inputs int, sp spaces.Set) *assembler {
	from := s.initialization()
	return &assembler{plan: plan{Network: description.Network{Inputs: inputs, States: sp.State.Width()},
		hidden: from.hidden(), output: from.start(from.PolicyOutputGain), last: -1}}
}

// assemble builds the containers and the output expression, and returns the network and the width of its output.
// outputs is the number of values that ACTIONS stands for.
func (s Spec) assemble(sp spaces.Set, output string, outputs int, seed int64) (net *Net, width int64, err error) {
	if err := s.Validate(); err != nil {
		return nil, 0, err
	}
	a := s.newAssembler(sp.Observation.Width(), sp)
	known := inputNames(s, sp, outputs)
	for i, c := range s.Network {
		if known, err = a.container(fmt.Sprintf("network[%d]", i), c, known); err != nil {
			return nil, 0, err
		}
	}
	if width, err = a.finish(output, known, s.last(), ""); err != nil {
		return nil, 0, err
	}
	net, err = a.build(seed)
	return net, width, err
}

// last returns the name of the last container, or "" if there is none.
func (s Spec) last() string {
	if len(s.Network) == 0 {
		return ""
	}
	return s.Network[len(s.Network)-1].Name
}

// head builds the output of a half of a shared model, which must have want values, on features of the given width. The
// features are the head's observations. The output expression refers to them by last, the name of the trunk's last
// container. outputs is the number of values that ACTIONS stands for. role is "policy" or "value", and token the usual
// output expression.
func (s Spec) head(role, token, last string, width int64, sp spaces.Set, outputs, want int, seed int64) (net *Net,
	err error) {
	a := s.newAssembler(int(width), spaces.Set{})
	known := inputNames(s, sp, outputs)
	// A head reads features only: the names of rows and spaces go, the sizes stay.
	for name, t := range known.terms {
		if !t.number {
			delete(known.terms, name)
		}
	}
	// Result 0, the row, holds the features.
	a.begin(0, term{width: width})
	known = known.with(last, a.now)
	n, err := a.finish(s.Output, known, last, role+"_layer")
	if err == nil && n != int64(want) {
		return nil, fmt.Errorf("models: %s: output: %q has %d values, want %d; %s has as many", role, s.Output, n, want,
			token)
	}
	if err == nil {
		net, err = a.build(seed)
	}
	if err != nil {
		err = fmt.Errorf("%s of a shared model: %w", role, err)
	}
	return net, err
}
