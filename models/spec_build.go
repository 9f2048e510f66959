package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// BuildPolicy builds the spec as a policy for the action space of sp, its parameters drawn from a generator with the
// given seed as [NewMLP] draws them.
func (s Spec) BuildPolicy(sp spaces.Set, seed int64) (Policy, error) {
	dist, err := s.distribution(sp.Action)
	if err != nil {
		return nil, err
	}
	if s.own != nil {
		net, err := s.own.network(s.Class, Role{Spaces: sp, Outputs: dist.Outputs(), Seed: seed})
		if err != nil {
			dist.Close()
			return nil, err
		}
		return NewPolicy(net, dist)
	}
	net, width, err := s.assemble(sp, s.Output, dist.Outputs(), seed)
	if err == nil && width != int64(dist.Outputs()) {
		net.Close()
		err = fmt.Errorf("models: output: %q has %d values, the policy needs %d; ACTIONS has as many", s.Output, width,
			dist.Outputs())
	}
	if err != nil {
		dist.Close()
		return nil, err
	}
	return NewPolicy(net, dist)
}

// BuildNetwork builds the spec, which must be Deterministic, as a value network, or as a discriminator: then
// sp.Observation is the AMP observation space. Parameters are drawn as in [Spec.BuildPolicy]. The result implements
// [Linears].
func (s Spec) BuildNetwork(sp spaces.Set, seed int64) (Network, error) {
	class, err := classOf(s.Class)
	if err != nil {
		return nil, err
	}
	if s.own != nil {
		return s.own.network(s.Class, Role{Spaces: sp, Outputs: 1, Seed: seed})
	}
	if class != classDeterministic {
		return nil, fmt.Errorf("models: class: %q is a policy's; a value or a discriminator is %s", s.Class,
			classDeterministic)
	}
	if s.ClipActions {
		if err := clippable(sp.Action); err != nil {
			return nil, err
		}
	}
	net, width, err := s.assemble(sp, s.Output, sp.Action.Outputs(), seed)
	if err != nil || !s.ClipActions {
		return net, err
	}
	if width != int64(sp.Action.Width()) {
		net.Close()
		return nil, fmt.Errorf("models: clip_actions is true, but the output %q has %d values and an action %d",
			s.Output, width, sp.Action.Width())
	}
	return newClipped(net, sp.Action)
}

// BuildShared builds a policy and a value on one trunk (skrl: models.separate: false). The trunk is the policy's
// network; the value's is ignored. Each has an output layer of its own, named policy_layer and value_layer, and its own
// output expression, which may use ACTIONS or ONE and the last container's name.
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
	owned := []interface{ Close() }{dist}
	defer func() {
		if err != nil {
			for _, o := range owned {
				o.Close()
			}
		}
	}()
	trunk, width, err := policy.assemble(sp, policy.last(), dist.Outputs(), seed)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, trunk)
	last := policy.last()
	policyHead, n, err := policy.head("policy", last, width, sp, dist.Outputs(), seed+1)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, policyHead)
	if n != int64(dist.Outputs()) {
		return nil, nil, fmt.Errorf("models: policy: output: %q has %d values, the policy needs %d; ACTIONS has as "+
			"many", policy.Output, n, dist.Outputs())
	}
	valueHead, n, err := value.head("value", last, width, sp, dist.Outputs(), seed+2)
	if err != nil {
		return nil, nil, err
	}
	owned = append(owned, valueHead)
	if n != 1 {
		return nil, nil, fmt.Errorf("models: value: output: %q has %d values, a value has one; use ONE", value.Output,
			n)
	}
	shared, err := NewShared(trunk, policyHead, valueHead, dist)
	if err != nil {
		return nil, nil, err
	}
	return shared.Policy(), shared.Value(), nil
}

// distribution makes what the policy's outputs feed.
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
	return NewDeterministic(action, s.ClipActions)
}

// newAssembler starts a network that reads observations of the given width.
func (s Spec) newAssembler(inputs int, sp spaces.Set) *assembler {
	from := s.initialization()
	return &assembler{plan: plan{Network: description.Network{Inputs: inputs, States: sp.State.Width()},
		hidden: from.hidden(), output: from.start(from.PolicyOutputGain), last: -1}}
}

// assemble builds the containers and the given output expression, and returns the width of the output.
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

// last is the name of the last container, "" if there is none.
func (s Spec) last() string {
	if len(s.Network) == 0 {
		return ""
	}
	return s.Network[len(s.Network)-1].Name
}

// head builds a role's output on features of the given width, which its expressions call by the trunk's last name.
func (s Spec) head(role, last string, width int64, sp spaces.Set, outputs int, seed int64) (net *Net, n int64,
	err error) {
	a := s.newAssembler(int(width), spaces.Set{})
	known := inputNames(s, sp, outputs)
	for name, t := range known.terms {
		if !t.number {
			delete(known.terms, name)
		}
	}
	a.begin(0, term{width: width}) // the features are the head's observations
	known = known.with(last, a.result())
	if n, err = a.finish(s.Output, known, last, role+"_layer"); err == nil {
		net, err = a.build(seed)
	}
	if err != nil {
		err = fmt.Errorf("%s of a shared model: %w", role, err)
	}
	return net, n, err
}
