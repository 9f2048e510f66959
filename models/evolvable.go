package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// EvolvableConfig describes an [Evolvable] network.
type EvolvableConfig struct {
	// Architecture is its shape; edits of it make other networks, see [Architecture.Apply].
	Architecture Architecture
	// Outputs is the width of a result row.
	Outputs int
	// OutputActivation follows the last layer; none by default.
	OutputActivation string
	// OutputGain multiplies the last layer's initial weights; 0 means 1.
	OutputGain float64
	// Source says which input the network reads: "observations" (default) or "states".
	Source string
}

// Evolvable is a network made from an [Architecture]. Its parameters are named after the architecture's modules, so
// that a layer keeps its name when others come or go: encoder.<part>.0.weight, ..., encoder.<part>.out.weight,
// head.0.weight, ..., head.out.bias. Layers start as PyTorch's Linear does.
type Evolvable struct {
	cfg    EvolvableConfig
	chains []*tensor.Layers // of the modules, encoders first
	whole  *tensor.Layers   // all of them in one chain, where there is one part of numbers
	params []tensor.Parameter
	scope  *tensor.Scope
}

// NewEvolvable returns a network whose initial parameters are drawn from a generator with the given seed.
func NewEvolvable(cfg EvolvableConfig, seed int64) (*Evolvable, error) {
	if err := cfg.Architecture.Validate(); err != nil {
		return nil, err
	}
	if cfg.Outputs < 1 {
		return nil, fmt.Errorf("models: an evolvable network with %d outputs; want at least 1", cfg.Outputs)
	}
	if cfg.Source != "" && cfg.Source != "observations" && cfg.Source != "states" {
		return nil, fmt.Errorf("models: evolvable network: source %q: want observations or states", cfg.Source)
	}
	last, err := tensor.ParseActivation(cfg.OutputActivation)
	if err != nil {
		return nil, fmt.Errorf("models: evolvable network: %w", err)
	}
	usual, err := tensor.ParseActivation(cfg.Architecture.Activation)
	if err != nil {
		return nil, err
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	cfg.Architecture = cfg.Architecture.Clone()
	e := &Evolvable{cfg: cfg, scope: tensor.NoGrad()}
	modules := cfg.Architecture.Modules()
	for i, m := range modules {
		out, activation, gain := m.Outputs, usual, 0.0
		if i == len(modules)-1 {
			out, activation, gain = cfg.Outputs, last, cfg.OutputGain
		}
		if err := e.chain(gen, m, out, activation, gain); err != nil {
			e.Close()
			return nil, err
		}
	}
	if parts := cfg.Architecture.Parts; len(parts) == 1 && len(parts[0].Choices) == 0 {
		e.whole = &tensor.Layers{}
		for _, c := range e.chains {
			e.whole.Weights = append(e.whole.Weights, c.Weights...)
			e.whole.Biases = append(e.whole.Biases, c.Biases...)
			e.whole.Activations = append(e.whole.Activations, c.Activations...)
		}
	}
	if err := e.scope.Err(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// chain makes the layers of one module.
func (e *Evolvable) chain(gen *tensor.Generator, m Module, outputs int, last tensor.Activation, gain float64) error {
	c := &tensor.Layers{}
	for i, l := range m.Layers() {
		out, f, g := outputs, last, gain
		if i < len(m.Hidden) {
			var err error
			if f, err = tensor.ParseActivation(m.Activations[i]); err != nil {
				return err
			}
			out, g = l.Outputs, 0
		}
		w, b := newLinear(e.scope, gen, l.Inputs, out, start{gain: g})
		e.params = append(e.params, addLinear(c, l.Name, w, b, f)...)
	}
	e.chains = append(e.chains, c)
	return nil
}

// Architecture is the network's shape.
func (e *Evolvable) Architecture() Architecture { return e.cfg.Architecture.Clone() }

// Config is what the network was made from.
func (e *Evolvable) Config() EvolvableConfig {
	cfg := e.cfg
	cfg.Architecture = cfg.Architecture.Clone()
	return cfg
}

// Forward implements [Network].
func (e *Evolvable) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	x := e.rows(in)
	if e.whole != nil {
		return s.MLP(x, e.whole)
	}
	var features []tensor.Tensor
	column := int64(0)
	for i, p := range e.cfg.Architecture.Parts {
		part := s.Narrow(x, 1, column, int64(p.Width))
		column += int64(p.Width)
		if len(p.Choices) > 0 {
			part = oneHot(s, part, p.Choices)
		}
		if e.cfg.Architecture.Latent > 0 {
			part = s.MLP(part, e.chains[i])
		}
		features = append(features, part)
	}
	joined := features[0]
	if len(features) > 1 {
		joined = s.Cat(1, features...)
	}
	return s.MLP(joined, e.chains[len(e.chains)-1])
}

// oneHot turns columns of indices (n, k) into (n, Σ choices) zeros and ones. An index out of range gives zeros only.
func oneHot(s *tensor.Scope, indices tensor.Tensor, choices []int) tensor.Tensor {
	var columns []tensor.Tensor
	for i, n := range choices {
		column := s.As(s.Narrow(indices, 1, int64(i), 1), tensor.Int64)
		columns = append(columns, s.As(s.Eq(column, s.Unsqueeze(s.Arange(int64(n)), 0)), tensor.Float32))
	}
	if len(columns) == 1 {
		return columns[0]
	}
	return s.Cat(1, columns...)
}

func (e *Evolvable) rows(in Inputs) tensor.Tensor { return in.rows(e.cfg.Source == "states") }

// Parameters implements [Network].
func (e *Evolvable) Parameters() []tensor.Parameter { return e.params }

// LinearWeights implements [Linears].
func (e *Evolvable) LinearWeights() []tensor.Tensor {
	var weights []tensor.Tensor
	for _, c := range e.chains {
		weights = append(weights, c.Weights...)
	}
	return weights
}

// ForwardPenalty implements [Critic]. Several parts, or choices, which have no gradient, are differentiated twice.
func (e *Evolvable) ForwardPenalty(s *tensor.Scope, in Inputs) (out, penalty tensor.Tensor) {
	if e.whole != nil {
		return s.Critic(e.rows(in), e.whole)
	}
	if !slices.ContainsFunc(e.cfg.Architecture.Parts, func(p Part) bool { return len(p.Choices) == 0 }) {
		return e.Forward(s, in), s.Scalar(0)
	}
	x := s.RequireGrad(s.Detach(e.rows(in)))
	out = e.Forward(s, Inputs{Observations: x, States: x})
	return out, s.Mean(s.Sum(s.Square(s.Grad(s.Sum(out), true, x)[0]), -1))
}

// Close implements [Network]. It may be called on nil.
func (e *Evolvable) Close() {
	if e != nil {
		e.scope.Close()
	}
}
