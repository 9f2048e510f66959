package models

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Policies and networks of this package are its own in every composition; a network made elsewhere is not, wherever it
// is inside.
func TestOwn(t *testing.T) {
	action := spaces.NewBox(-1, 1, 2)
	mlp := func(inputs, outputs int) *Net {
		m, err := NewMLP(MLPConfig{Inputs: inputs, Outputs: outputs, Hidden: []int{4}, Activation: "tanh"}, 1)
		must(t, err)
		t.Cleanup(m.Close)
		return m
	}
	gaussian := func() *Gaussian {
		g := check.Get(NewGaussian(action, GaussianConfig{}))(t)
		t.Cleanup(g.Close)
		return g
	}
	shared := func(trunk Network) *Shared {
		m := check.Get(NewShared(trunk, mlp(4, 2), mlp(4, 1), gaussian()))(t)
		return m
	}
	for name, c := range map[string]struct {
		x    any
		want bool
	}{
		"network":                  {mlp(3, 2), true},
		"policy":                   {&Stochastic{mlp(3, 2), gaussian()}, true},
		"shared":                   {shared(mlp(3, 4)).Policy(), true},
		"shared value":             {shared(mlp(3, 4)).Value(), true},
		"foreign network":          {wrapped{mlp(3, 2)}, false},
		"policy on a foreign one":  {&Stochastic{wrapped{mlp(3, 2)}, gaussian()}, false},
		"shared on a foreign one":  {shared(wrapped{mlp(3, 4)}).Value(), false},
		"foreign policy on an own": {struct{ Policy }{&Stochastic{mlp(3, 2), gaussian()}}, false},
		"nothing":                  {nil, false},
	} {
		if got := Own(c.x); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// wrapped is a network that does more than the one inside.
type wrapped struct{ *Net }

func (w wrapped) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return s.MulScalar(w.Net.Forward(s, in), 2)
}
