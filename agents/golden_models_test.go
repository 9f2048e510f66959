package agents_test

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// network builds a case's network of the given name; parameters come with [replay.start].
func (c *goldenCase) network(t *testing.T, name string) *watched {
	t.Helper()
	widths := c.widths(name)
	if len(widths) == 0 {
		t.Fatalf("golden: there is no network %q", name)
	}
	last := len(widths) - 1
	if c.Recurrent != (models.RecurrentLayer{}) {
		widths[0] = c.spaces.Observation.Width()
	}
	source := ""
	if name == "value" {
		source = c.ValueReads
	}
	net, err := models.NewMLP(models.MLPConfig{Inputs: widths[0], Outputs: widths[last], Recurrent: c.Recurrent,
		Hidden: widths[1:last], Activation: c.Activation, Source: source}, 1)
	must(t, err)
	return &watched{Net: net}
}

// watched is a perceptron that keeps what it computes while gradients are followed: what an update computed,
// minibatch by minibatch.
type watched struct {
	*models.Net
	Outputs [][]float32
	t       *testing.T // nil: it does not keep them
}

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
	dist := check.Get(models.NewDistribution(c.spaces.Action, models.DefaultGaussianConfig()))(t)
	p := check.Get(models.NewPolicy(c.network(t, "policy"), dist))(t)
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
