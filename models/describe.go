package models

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
		return description.Network{}, fmt.Errorf("models: the network %T does not say what it computes; give it the method Describe of models.Described", net)
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
		return description.Policy{}, fmt.Errorf("models: the distribution %T does not say how actions come of a network's outputs; give it the method Describe of models.DescribedDistribution", p.Dist)
	}
	dist, err := d.Describe()
	return description.Policy{Network: net, Distribution: dist}, err
}

// Describe implements [DescribedDistribution].
func (g *Gaussian) Describe() (description.Distribution, error) {
	d := description.Distribution{
		Kind: description.Gaussian, LogStd: "log_std_parameter", ClipMean: g.cfg.ClipMeanActions, ClipActions: g.cfg.ClipActions,
		ClipLogStd: g.cfg.ClipLogStd, MinLogStd: finite(g.cfg.MinLogStd), MaxLogStd: finite(g.cfg.MaxLogStd),
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

// Describe says what an [Evolvable] network of the architecture computes. The architecture must be valid.
func (a Architecture) Describe(outputs int, outputActivation string) description.Network {
	n := description.Network{Inputs: a.columns()}
	modules := a.Modules()
	var features []int
	column := 0
	for i, p := range a.Parts {
		at := 0 // the whole row
		if len(a.Parts) > 1 {
			at = n.Add(description.Step{Op: description.Columns, Inputs: []int{0}, From: column, To: column + p.Width})
		}
		column += p.Width
		if len(p.Choices) > 0 {
			at = n.Add(description.Step{Op: description.OneHot, Inputs: []int{at}, Choices: slices.Clone(p.Choices)})
		}
		if len(p.Picture) > 0 && !p.ChannelsFirst {
			at = n.Add(description.Step{Op: description.Permute, Inputs: []int{at}, Shape: slices.Clone(p.Picture),
				Dims: []int{2, 0, 1}})
		}
		if p.Bytes {
			most := n.Add(description.Step{Op: description.Number, Number: 255})
			at = n.Add(description.Step{Op: description.Div, Inputs: []int{at, most}})
		}
		if a.Latent > 0 {
			at = modules[i].describe(&n, at, modules[i].Outputs, a.Activation)
		}
		features = append(features, at)
	}
	if len(features) > 1 {
		features = []int{n.Add(description.Step{Op: description.Concatenate, Inputs: features})}
	}
	if r := a.Recurrent; !r.none() {
		step := r.step(memoryModule)
		step.Inputs = features
		features = []int{n.Add(step)}
	}
	modules[len(modules)-1].describe(&n, features[0], outputs, outputActivation)
	return n
}

// describe adds the module's layers and returns the last one's step.
func (m Module) describe(n *description.Network, at, outputs int, last string) int {
	for i, c := range m.Convolutions {
		step := c.step(m.Pictures[i])
		name := fmt.Sprintf("%s.conv.%d", m.Name, i)
		step.Inputs, step.Weight, step.Bias, step.Activation = []int{at}, name+".weight", name+".bias", written(c.Activation)
		at = n.Add(step)
	}
	for i, l := range m.Layers() {
		out, f := outputs, last
		if i < len(m.Hidden) {
			out, f = l.Outputs, m.Activations[i]
		}
		at = n.Add(description.Step{Op: description.Linear, Inputs: []int{at}, Weight: l.Name + ".weight",
			Bias: l.Name + ".bias", Outputs: out, Activation: written(f)})
	}
	return at
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
