package models

import (
	"math"
	"strings"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// checkOrthogonal compares W·Wᵀ, or WᵀW where that is smaller, with gain²·1.
func checkOrthogonal(t *testing.T, name string, w tensor.Tensor, gain float64) {
	t.Helper()
	s := tensortest.NoGrad(t, tensor.CPU)
	w = s.Reshape(w, tensor.Size(w, 0), -1)
	turned := s.Contiguous(s.Transpose(w, 0, 1))
	if tensor.Size(w, 0) > tensor.Size(w, 1) {
		w, turned = turned, w
	}
	n := int(tensor.Size(w, 0))
	want := make([]float64, n*n)
	for i := range n {
		want[i*n+i] = gain * gain
	}
	wantNear(t, name, tensortest.Float64s(t, s, s.MatMul(w, turned)), want, 2e-5)
}

// checkStarts checks weights and biases of a network, whose last layer has a gain of its own.
func checkStarts(t *testing.T, name string, params []tensor.Parameter, hidden, output float64) {
	t.Helper()
	for i, p := range params {
		switch {
		case strings.HasSuffix(p.Name, ".bias"):
			data := check.Get(tensor.Float32s(p.Tensor))(t)
			check.Same(t, data, make([]float32, len(data)), "%s %s", name, p.Name)
		case strings.HasSuffix(p.Name, ".weight") && i >= len(params)-2:
			checkOrthogonal(t, name+" "+p.Name, p.Tensor, output)
		case strings.HasSuffix(p.Name, ".weight"):
			checkOrthogonal(t, name+" "+p.Name, p.Tensor, hidden)
		}
	}
}

// Two seeds give two matrices, one seed the same, and over seeds the sign of an entry is as often positive as negative.
func TestOrthogonalSeeds(t *testing.T) {
	draw := func(seed int64) []float32 {
		m := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 8, Outputs: 8,
			Initialization: Initialization{Kind: "orthogonal"}}, seed))
		return check.Get(tensor.Float32s(m.Parameters()[0].Tensor))(t)
	}
	a, b, c := draw(1), draw(1), draw(2)
	check.Same(t, b, a, "the matrix of the same seed")
	same, positive := 0, 0
	for i := range a {
		if a[i] == c[i] {
			same++
		}
	}
	for seed := range int64(100) {
		if draw(seed)[0] > 0 {
			positive++
		}
	}
	check.Not(t, same > 0 || positive < 25 || positive > 75,
		"%d of 64 are the same with another seed, the first is positive with %d of 100 seeds", same, positive)
}

// Weights are orthogonal with the gains that are given, those of the last layer with a gain of its own, and biases 0:
// in Go, and in the network language where policy and value share a trunk.
func TestOrthogonal(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(7), Action: spaces.NewBox(-1, 1, 3)}
	starts := func(hidden, policy, value float64) func(Policy, Network, error) {
		return func(p Policy, v Network, err error) {
			t.Helper()
			must(t, err)
			checkStarts(t, "policy", p.Parameters(), hidden, policy)
			checkStarts(t, "value", v.Parameters(), hidden, value)
			p.Close()
			v.Close()
		}
	}
	starts(2, 0.5, 3)(ActorCritic(sp, []int{16, 5}, "tanh", DefaultGaussianConfig(), 1,
		Initialization{Kind: "orthogonal", HiddenGain: 2, PolicyOutputGain: 0.5, ValueOutputGain: 3}))
	const network = ", network: [{name: net, input: OBSERVATIONS, layers: [16, 5], activations: tanh}]}"
	policy := specOf(t, "{class: Gaussian, output: ACTIONS, initialization: orthogonal"+network)
	value := specOf(t, "{class: Deterministic, output: ONE, initialization: orthogonal, output_gain: 3"+network)
	starts(math.Sqrt2, 0.01, 3)(BuildShared(policy, value, sp, 1))
}

// Biases of linear layers and of convolutions start at 0 where that is asked for.
func TestZeroBiases(t *testing.T) {
	sp := spaces.Set{Observation: spaces.NewPicture(6, 5, 2), Action: spaces.NewBox(-1, 1, 3)}
	p := tensortest.Opened[Policy](t)(specOf(t, "{class: Gaussian, output: ACTIONS, initial_bias: zero, network: "+
		"[{name: net, input: 'permute(OBSERVATIONS, (0, 3, 1, 2))', layers: [{conv2d: [3, 2]}, flatten, 4]}]}").
		BuildPolicy(sp, 1))
	for _, p := range p.Parameters()[1:] { // behind log_std_parameter
		s := tensortest.NoGrad(t, tensor.CPU)
		largest := tensortest.Float64s(t, s, s.MaxOf(s.Abs(p.Tensor)))[0]
		check.Is(t, largest == 0, strings.HasSuffix(p.Name, ".bias"), "%s starts at 0", p.Name)
	}
}

// The layers of a picture's network and recurrent layers start as PyTorch's do, uniform in ±1/√fan_in, or orthogonal:
// kernels as rows, each gate of a recurrent layer by itself, and no biases.
func TestStarts(t *testing.T) {
	for _, kind := range []string{"uniform", "orthogonal"} {
		from := Initialization{Kind: kind}
		cfg := DefaultCNN()
		cfg.Space, cfg.Outputs, cfg.Features, cfg.Initialization = spaces.NewPicture(84, 84, 3), 6, 16, from
		pictures := tensortest.Opened[*Net](t)(NewCNN(cfg, 1))
		lstm := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 6, Outputs: 2, Recurrent: LSTM(16),
			Initialization: from}, 1))
		s := tensortest.NoGrad(t, tensor.CPU)
		for _, net := range []*Net{pictures, lstm} {
			for i, a := range check.Get(net.net.Arrays())(t) {
				p := net.params[i]
				largest := tensortest.Float64s(t, s, s.MaxOf(s.Abs(p.Tensor)))[0]
				bound := 1 / math.Sqrt(float64(a.Fan))
				switch {
				case kind == "uniform":
					check.Not(t, largest > bound || tensor.Numel(p.Tensor) > 20 && largest < 0.8*bound,
						"%s is at most %g, want ±%g", p.Name, largest, bound)
				case strings.Contains(p.Name, "bias"):
					check.Is(t, largest, 0., "%s", p.Name)
				case strings.HasPrefix(p.Name, "lstm"):
					for gate := range int64(4) {
						checkOrthogonal(t, p.Name, s.Narrow(p.Tensor, 0, 16*gate, 16), 1)
					}
				case i < len(net.params)-2:
					checkOrthogonal(t, p.Name, p.Tensor, math.Sqrt2)
				}
			}
		}
	}
}
