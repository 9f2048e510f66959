package models

import (
	"math"
	"slices"
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
	data := check.Get(tensor.Float32s(w))(t)
	out, in := int(tensor.Size(w, 0)), int(tensor.Size(w, 1))
	at := func(i, k int) float64 { return float64(data[i*in+k]) }
	if out > in {
		at = func(i, k int) float64 { return float64(data[k*in+i]) }
	}
	for i := range min(out, in) {
		for j := range min(out, in) {
			dot, want := 0.0, 0.0
			for k := range max(out, in) {
				dot += at(i, k) * at(j, k)
			}
			if i == j {
				want = gain * gain
			}
			if math.Abs(dot-want) > 1e-5*gain*gain {
				t.Fatalf("%s (%d, %d): rows %d and %d have the product %g, want %g", name, out, in, i, j, dot, want)
			}
		}
	}
}

// checkStarts checks weights and biases of a network, whose last layer has a gain of its own.
func checkStarts(t *testing.T, name string, params []tensor.Parameter, hidden, output float64) {
	t.Helper()
	for i, p := range params {
		switch {
		case strings.HasSuffix(p.Name, ".bias"):
			data, err := tensor.Float32s(p.Tensor)
			if err != nil || slices.ContainsFunc(data, func(x float32) bool { return x != 0 }) {
				t.Errorf("%s %s is %v, %v", name, p.Name, data, err)
			}
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
		data := check.Get(tensor.Float32s(m.Parameters()[0].Tensor))(t)
		return data
	}
	a, b, c := draw(1), draw(1), draw(2)
	same, positive := 0, 0
	for i := range a {
		if a[i] != b[i] {
			t.Fatal("one seed gives two matrices")
		}
		if a[i] == c[i] {
			same++
		}
	}
	for seed := range int64(100) {
		if draw(seed)[0] > 0 {
			positive++
		}
	}
	if same > 0 || positive < 25 || positive > 75 {
		t.Errorf("%d of 64 are the same with another seed, the first is positive with %d of 100 seeds", same, positive)
	}
}

// perceptron reads the spec of a perceptron in the network language.
func perceptron(t *testing.T, class, output, settings string) Spec {
	t.Helper()
	return specOf(t, "{class: "+class+", output: "+output+", "+settings+
		", network: [{name: net, input: OBSERVATIONS, layers: [16, 5], activations: tanh}]}")
}

// Weights are orthogonal with the gains that are given, those of the last layer with a gain of its own, and biases 0:
// in Go, in the network language, and where policy and value share a trunk.
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
	starts(math.Sqrt2, 0.01, 1)(ActorCritic(sp, []int{16, 5}, "tanh", DefaultGaussianConfig(), 1,
		Initialization{Kind: "orthogonal"}))
	starts(2, 0.5, 3)(ActorCritic(sp, []int{16, 5}, "tanh", DefaultGaussianConfig(), 1,
		Initialization{Kind: "orthogonal", HiddenGain: 2, PolicyOutputGain: 0.5, ValueOutputGain: 3}))
	policy := perceptron(t, "Gaussian", "ACTIONS", "initialization: orthogonal")
	value := perceptron(t, "Deterministic", "ONE", "initialization: orthogonal, output_gain: 3")
	starts(math.Sqrt2, 0.01, 3)(BuildShared(policy, value, sp, 1))
	p := check.Get(policy.BuildPolicy(sp, 1))(t)
	v, err := value.BuildNetwork(sp, 1)
	starts(math.Sqrt2, 0.01, 3)(p, v, err)
}

// Biases of linear layers and of convolutions start at 0 where that is asked for, and weights as without it.
func TestZeroBiases(t *testing.T) {
	sp := spaces.Set{Observation: spaces.NewPicture(6, 5, 2), Action: spaces.NewBox(-1, 1, 3)}
	made := func(bias string) []tensor.Parameter {
		return tensortest.Opened[Policy](t)(specOf(t, "{class: Gaussian, output: ACTIONS, initial_bias: '"+bias+
			"', network: [{name: net, input: 'permute(OBSERVATIONS, (0, 3, 1, 2))', layers: [{conv2d: [3, 2]}, "+
			"flatten, 4], activations: tanh}]}").BuildPolicy(sp, 1)).Parameters()
	}
	usual := made("")
	for i, p := range made("zero") {
		got, want := check.Get(tensor.Float32s(p.Tensor))(t), check.Get(tensor.Float32s(usual[i].Tensor))(t)
		if strings.HasSuffix(p.Name, ".bias") {
			if !slices.ContainsFunc(want, func(x float32) bool { return x != 0 }) {
				t.Errorf("%s starts at 0 in any case", p.Name)
			}
			clear(want)
		}
		check.Same(t, got, want, "%s", p.Name)
	}
	if len(usual) != 7 {
		t.Errorf("%d parameters", len(usual))
	}
}
