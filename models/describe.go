package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/models/description"
)

// Described is implemented by networks that can describe in plain data what they compute, with the names of their
// parameters: every [Net] and the halves of a [Shared]. A custom network that implements Described can act in package
// infer and be exported to ONNX. Agents compute a few random observations both ways. They store the description only if
// the results agree.
type Described interface {
	Describe() (description.Network, error)
}

// DescribedDistribution is implemented by distributions that can describe in plain data how a network's result becomes
// actions. The distributions of this package implement it.
type DescribedDistribution interface {
	Describe() (description.Distribution, error)
}

// DescribedPolicy is implemented by policies that can describe in plain data what they compute. The spaces and the
// normalizer belong to the agent, so Describe leaves them empty. [Stochastic] implements it; Describe fails unless the
// network and the distribution are described.
type DescribedPolicy interface {
	Describe() (description.Policy, error)
}

// errStates is why a network that reads states has no description: package infer and ONNX get observations only.
var errStates = errors.New("models: the network reads states, which are not there where a policy acts alone")

// describe returns a network's description, or an error that tells the author of a custom network what to implement.
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

// Describe implements [DescribedDistribution]. The array is named as in Parameters; a log standard deviation that
// depends on the state has no array.
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

// finite limits x to ±math.MaxFloat64: JSON, the form of descriptions, has no infinities.
func finite(x float64) float64 { return min(max(x, -math.MaxFloat64), math.MaxFloat64) }

// Describe implements [DescribedDistribution].
func (c *Categorical) Describe() (description.Distribution, error) {
	return description.Distribution{Kind: description.Categorical}, nil
}

// Describe implements [Described]. Arrays have the prefixes that Parameters gives them.
func (h head) Describe() (description.Network, error) {
	trunk, err := describe(h.shared.trunk)
	if err != nil {
		return trunk, err
	}
	own, err := describe(h.net)
	return trunk.Named("trunk.").Then(own.Named("head.")), err
}
