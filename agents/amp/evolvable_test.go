package amp

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

func architecture(t testing.TB, s spaces.Space, encoder []int, latent int, head []int) description.Architecture {
	t.Helper()
	a, err := description.NewArchitecture(s, encoder, latent, head, "elu")
	must(t, err)
	return a
}

// parted reads the plain AMP observation in two parts, which the fast gradient penalty cannot.
func parted() description.Architecture {
	return description.Architecture{Parts: []description.Part{{Name: "left", Width: 1}, {Name: "right", Width: 2}}, Latent: 3, Head: description.Stack{Hidden: []int{6}}, Activation: "tanh"}
}

func TestEvolvableArchitectures(t *testing.T) {
	agenttest.CheckLive(t)
	one := architecture(t, plain.Observation, nil, 0, []int{8})
	m := Evolvable(plain, one, one, parted(), DefaultGaussian())
	a, err := New(Options{Spaces: plain, Models: m, Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: small(map[string]any{"separate_critics": true}), Seed: 1})
	must(t, err)
	agenttest.Close(t, a)
	all := a.Architectures()
	for name, want := range map[string]description.Architecture{"policy": one, "value": one, "style_value": one, "discriminator": parted()} {
		if !all[name].Equal(want) || len(all) != 4 {
			t.Errorf("%s is %v, want %v", name, all[name], want)
		}
	}
	if _, err := Evolvable(plain, one, one, one, DefaultGaussian()).Make(1); err == nil || !strings.Contains(err.Error(), "amp: discriminator: description: the architecture 4→[8] elu reads 4 columns, Box(3) has 3") {
		t.Error(err)
	}
	if _, err := Evolvable(plain, one, parted(), parted(), DefaultGaussian()).Make(1); err == nil || !strings.Contains(err.Error(), "value network") {
		t.Error(err)
	}
}
