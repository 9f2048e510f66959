package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/models/description"
)

// Described is implemented by networks that can say in plain data what they compute, with the names of their
// parameters: [MLP], [Evolvable], and what a [Spec] builds. A custom network that implements it too can act in package
// infer and be exported to ONNX; agents compare what it says with what it computes, and believe it only where the two
// agree.
type Described interface {
	Describe() (description.Network, error)
}

// DescribedDistribution is implemented by distributions that can say in plain data how actions come of a network's
// result: those of this package.
type DescribedDistribution interface {
	Describe() (description.Distribution, error)
}

// DescribedPolicy is implemented by policies that can say in plain data what they compute. Spaces and the normalizer,
// which are their agent's, are left empty. [Stochastic] implements it where its parts do.
type DescribedPolicy interface {
	Describe() (description.Policy, error)
}

var errStates = errors.New("models: the network reads states, which are not there where a policy acts alone")

// describe asks a network.
func describe(net Network) (description.Network, error) {
	d, ok := net.(Described)
	if !ok {
		return description.Network{}, fmt.Errorf("models: the network %T does not say what it computes; give it the "+
			"method Describe of models.Described", net)
	}
	return d.Describe()
}

// Describe implements [DescribedPolicy].
func (p *Stochastic) Describe() (description.Policy, error) {
	net, err := describe(p.Net)
	if err != nil {
		return description.Policy{}, err
	}
	d, ok := p.Dist.(DescribedDistribution)
	if !ok {
		return description.Policy{}, fmt.Errorf("models: the distribution %T does not say how actions come of a "+
			"network's outputs; give it the method Describe of models.DescribedDistribution", p.Dist)
	}
	dist, err := d.Describe()
	return description.Policy{Network: net, Distribution: dist}, err
}

// Describe implements [DescribedDistribution].
func (g *Gaussian) Describe() (description.Distribution, error) {
	d := description.Distribution{
		Kind: description.Gaussian, LogStd: "log_std_parameter", ClipMean: g.cfg.ClipMeanActions,
		ClipActions: g.cfg.ClipActions,
		ClipLogStd:  g.cfg.ClipLogStd, MinLogStd: finite(g.cfg.MinLogStd), MaxLogStd: finite(g.cfg.MaxLogStd),
	}
	if d.StateDependentLogStd = g.cfg.StateDependentLogStd; d.StateDependentLogStd {
		d.LogStd = ""
	}
	return d, nil
}

// finite puts the largest number in the place of an infinity, which descriptions have not.
func finite(x float64) float64 { return min(max(x, -math.MaxFloat64), math.MaxFloat64) }

// Describe implements [DescribedDistribution].
func (c *Categorical) Describe() (description.Distribution, error) {
	return description.Distribution{Kind: description.Categorical}, nil
}

// Describe implements [DescribedDistribution].
func (d *Deterministic) Describe() (description.Distribution, error) {
	return description.Distribution{Kind: description.Deterministic, ClipActions: d.clip}, nil
}

// Describe implements [Described].
func (h head) Describe() (description.Network, error) {
	trunk, err := describe(h.shared.trunk)
	if err != nil {
		return trunk, err
	}
	own, err := describe(h.net)
	return trunk.Named("trunk.").Then(own.Named("head.")), err
}
