package inspection

import (
	"testing"

	"github.com/gorl-dev/gorl/models/description"
)

// Chains are written layer by layer, those of an evolution with pictures and memory too.
func TestNetworkInWords(t *testing.T) {
	gru := description.Step{Op: description.GRU, Weights: make([]string, 8), Outputs: 6, Inputs: []int{0}}
	out := description.Step{Op: description.Linear, Outputs: 2}
	picture := description.Network{Inputs: 48, Steps: []description.Step{
		{Op: description.Permute, Inputs: []int{0}}, {Op: description.Number, Number: 255}, {Op: description.Div,
			Inputs: []int{1, 2}},
		{Op: description.Conv2d, Outputs: 8, Kernel: []int{3, 3}, Activation: "relu", Inputs: []int{3}}, out,
	}}
	residual := description.Network{Inputs: 3,
		Steps: []description.Step{{Op: description.Linear, Outputs: 3}, {Op: description.Add, Inputs: []int{0, 1}}}}
	for want, n := range map[string]description.Network{
		"4 → gru 6 × 2 → 2":            {Inputs: 4, Steps: []description.Step{gru, out}},
		"48 / 255 → 8 of 3×3 relu → 2": picture,
		"3 inputs, 2 operations":       residual,
	} {
		if got := network(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
