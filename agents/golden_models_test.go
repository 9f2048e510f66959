package agents_test

import (
	"testing"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// spaces are those that a case's agent acts in.
func (c *goldenCase) spaces() spaces.Set {
	sp := spaces.Set{Observation: spaces.Unbounded(c.ObservationSize), Action: spaces.Unbounded(c.ActionSize)}
	if c.Discrete {
		sp.Action = spaces.NewDiscrete(c.ActionSize)
	}
	if c.AMPObservationSize > 0 {
		sp.AMPObservation = spaces.Unbounded(c.AMPObservationSize)
	}
	return sp
}

// network builds a case's network of the given name; parameters come with [replay.start].
func (c *goldenCase) network(t *testing.T, name string) *watched {
	t.Helper()
	inputs, hidden, outputs, err := c.layers(name)
	must(t, err)
	if c.Recurrent != (models.RecurrentLayer{}) {
		inputs = c.ObservationSize
	}
	net, err := models.NewMLP(models.MLPConfig{Inputs: inputs, Outputs: outputs, Recurrent: c.Recurrent,
		Hidden: hidden, Activation: c.Activation}, 1)
	must(t, err)
	return &watched{Net: net}
}

// watched is a perceptron that keeps what it computes while gradients are followed: what an update computed,
// minibatch by minibatch.
type watched struct {
	*models.Net
	Outputs [][]float32
	t       *testing.T
}

// watch makes the network keep its outputs from now on.
func (n *watched) watch(t *testing.T) { n.t = t }

// Forward implements [models.Network].
func (n *watched) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	out := n.Net.Forward(s, in)
	n.note(s, out)
	return out
}

// ForwardPenalty implements [models.Critic].
func (n *watched) ForwardPenalty(s *tensor.Scope, in models.Inputs) (out, penalty tensor.Tensor) {
	out, penalty = n.Net.ForwardPenalty(s, in)
	n.note(s, out)
	return out, penalty
}

func (n *watched) note(s *tensor.Scope, out tensor.Tensor) {
	if n.t != nil && s.Err() == nil && tensor.RequiresGrad(out) {
		values, err := tensor.Float32s(s.Detach(out))
		if err != nil {
			n.t.Error(err)
		}
		n.Outputs = append(n.Outputs, values)
	}
}

// told acts as told and judges by itself.
type told struct {
	models.Policy
	next []float32
}

// policy builds a case's policy.
func (c *goldenCase) policy(t *testing.T) *told {
	t.Helper()
	dist, err := models.NewDistribution(c.spaces().Action, models.DefaultGaussianConfig())
	must(t, err)
	p, err := models.NewPolicy(c.network(t, "policy"), dist)
	must(t, err)
	return &told{Policy: p}
}

// Sample implements [models.Policy] with the actions given.
func (p *told) Sample(s *tensor.Scope, in models.Inputs, _ *tensor.Generator) models.Action {
	a := tensor.From(s, p.next, tensor.Size(in.Observations, 0), int64(p.ActionWidth()))
	return models.Action{Actions: a, Executed: a, LogProb: p.Evaluate(s, in, a).LogProb}
}

// HiddenSize implements [models.RecurrentPolicy].
func (p *told) HiddenSize() int { return models.HiddenSize(p.Policy) }

// SampleHidden implements [models.RecurrentPolicy] with the actions given.
func (p *told) SampleHidden(s *tensor.Scope, in models.Inputs, gen *tensor.Generator) (models.Action, tensor.Tensor) {
	_, next := p.ModeHidden(s, in)
	return p.Sample(s, in, gen), next
}

// ModeHidden implements [models.RecurrentPolicy].
func (p *told) ModeHidden(s *tensor.Scope, in models.Inputs) (actions, hidden tensor.Tensor) {
	return p.Policy.(models.RecurrentPolicy).ModeHidden(s, in)
}
