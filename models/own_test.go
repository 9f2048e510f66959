package models

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// Policies and networks of this package are its own in every composition; a network made elsewhere is not, wherever it
// is inside.
func TestOwn(t *testing.T) {
	p, v, err := ActorCritic(boxes, []int{4}, "tanh", DefaultGaussianConfig(), 1)
	must(t, err)
	defer v.Close()
	defer p.Close()
	policy := p.(*Stochastic)
	foreign := wrapped{policy.Net.(*Net)}
	shared := func(trunk Network) *Shared { return check.Get(NewShared(trunk, policy.Net, v, policy.Dist))(t) }
	for name, c := range map[string]struct {
		x    any
		want bool
	}{
		"policy":                   {p, true},
		"shared":                   {shared(v).Policy(), true},
		"policy on a foreign one":  {&Stochastic{foreign, policy.Dist}, false},
		"shared on a foreign one":  {shared(foreign).Value(), false},
		"foreign policy on an own": {struct{ Policy }{p}, false},
	} {
		check.Is(t, Own(c.x), c.want, "%s", name)
	}
}

// wrapped is a network that does more than the one inside.
type wrapped struct{ *Net }

func (w wrapped) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return s.MulScalar(w.Net.Forward(s, in), 2)
}
