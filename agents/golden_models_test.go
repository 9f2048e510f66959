package agents_test

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// network builds a case's network of the given name; parameters come with [replay.start].
func (c *goldenCase) network(t *testing.T, name string) *models.Net {
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
	return net
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
