package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// checkOrthogonal compares W·Wᵀ, or WᵀW where that is smaller, with gain²·1.
func checkOrthogonal(t *testing.T, name string, w tensor.Tensor, gain float64) {
	t.Helper()
	data, err := tensor.Float32s(w)
	must(t, err)
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

func TestOrthogonal(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(7), Action: spaces.NewBox(-1, 1, 3)}
	for _, c := range []struct {
		name                  string
		from                  Initialization
		hidden, policy, value float64
	}{
		{"defaults", Initialization{Kind: "orthogonal"}, math.Sqrt2, 0.01, 1},
		{"gains", Initialization{Kind: "orthogonal", HiddenGain: 2, PolicyOutputGain: 0.5, ValueOutputGain: 3}, 2, 0.5, 3},
	} {
		p, v, err := ActorCritic(sp, []int{16, 5}, "tanh", DefaultGaussianConfig(), 1, c.from)
		must(t, err)
		checkStarts(t, c.name+" policy", p.Parameters(), c.hidden, c.policy)
		checkStarts(t, c.name+" value", v.Parameters(), c.hidden, c.value)
		p.Close()
		v.Close()
	}

	// The same in the network language, where each model has its own gains.
	dict := func(class, output string, more map[string]any) Spec {
		d := map[string]any{"class": class, "output": output, "initialization": "orthogonal",
			"network": []any{map[string]any{"name": "net", "input": "OBSERVATIONS", "layers": []int{16, 5},
				"activations": "tanh"}}}
		for k, v := range more {
			d[k] = v
		}
		spec, err := ParseSpec(d)
		must(t, err)
		return spec
	}
	policy, value := dict("GaussianMixin", "ACTIONS", nil), dict("DeterministicMixin", "ONE",
		map[string]any{"hidden_gain": 1, "output_gain": 3})
	p, err := policy.BuildPolicy(sp, 1)
	must(t, err)
	checkStarts(t, "language policy", p.Parameters(), math.Sqrt2, 0.01)
	p.Close()
	v, err := value.BuildNetwork(sp, 1)
	must(t, err)
	checkStarts(t, "language value", v.Parameters(), 1, 3)
	v.Close()
	shared, sharedValue, err := BuildShared(policy, value, sp, 1)
	must(t, err)
	checkStarts(t, "shared policy", shared.Parameters(), math.Sqrt2, 0.01)
	checkStarts(t, "shared value", sharedValue.Parameters(), math.Sqrt2, 3)
	shared.Close()
	sharedValue.Close()
}

// Two seeds give two matrices, one seed the same, and over seeds the sign of an entry is as often positive as negative.
func TestOrthogonalSeeds(t *testing.T) {
	tensortest.CheckLive(t)
	draw := func(seed int64) []float32 {
		m, err := NewMLP(MLPConfig{Inputs: 8, Outputs: 8, Initialization: Initialization{Kind: "orthogonal"}}, seed)
		must(t, err)
		defer m.Close()
		data, err := tensor.Float32s(m.Parameters()[0].Tensor)
		must(t, err)
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

func TestInitializationRefuses(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewDiscrete(2)}
	for _, bad := range []Initialization{{Kind: "orthogonl"}, {HiddenGain: -1}, {ValueOutputGain: math.Inf(1)}} {
		if _, _, err := ActorCritic(sp, []int{4}, "tanh", DefaultGaussianConfig(), 1, bad); err == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
	if _, _, err := ActorCritic(sp, []int{4}, "tanh", DefaultGaussianConfig(), 1,
		Initialization{Kind: "orthogonl"}); err == nil || !strings.Contains(err.Error(), `did you mean "orthogonal"`) {
		t.Error(err)
	}
}

// Biases start at 0 where that is asked for, and weights as without it: those of linear layers and of convolutions,
// in Go and in the network language.
func TestZeroBiases(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(7), Action: spaces.NewBox(-1, 1, 3)}
	picture := spaces.Set{Observation: spaces.NewPicture(6, 5, 2), Action: sp.Action}
	language := func(sp spaces.Set, from Initialization, layers []any, input string) []tensor.Parameter {
		spec, err := ParseSpec(map[string]any{"class": "GaussianMixin", "output": "ACTIONS", "initial_bias": from.Bias,
			"network": []any{map[string]any{"name": "net", "input": input, "layers": layers, "activations": "tanh"}}})
		must(t, err)
		p, err := spec.BuildPolicy(sp, 1)
		must(t, err)
		t.Cleanup(p.Close)
		return p.Parameters()
	}
	both := func(p Policy, v Network, err error) []tensor.Parameter {
		must(t, err)
		t.Cleanup(p.Close)
		t.Cleanup(v.Close)
		return append(p.Parameters(), v.Parameters()...)
	}
	for name, parameters := range map[string]func(Initialization) []tensor.Parameter{
		"perceptrons": func(from Initialization) []tensor.Parameter {
			return both(ActorCritic(sp, []int{16, 5}, "tanh", DefaultGaussianConfig(), 1, from))
		},
		"language of pictures": func(from Initialization) []tensor.Parameter {
			return language(picture, from, []any{map[string]any{"conv2d": map[string]any{"out_channels": 3, "kernel_size": 2}},
				"flatten", 4},
				"permute(OBSERVATIONS, (0, 3, 1, 2))")
		},
	} {
		usual, zero := parameters(Initialization{}), parameters(Initialization{Bias: "zero"})
		biases := 0
		for i, p := range zero {
			got, err := tensor.Float32s(p.Tensor)
			must(t, err)
			want, err := tensor.Float32s(usual[i].Tensor)
			must(t, err)
			if strings.HasSuffix(p.Name, ".bias") {
				biases++
				if !slices.ContainsFunc(want, func(x float32) bool { return x != 0 }) {
					t.Errorf("%s: %s starts at 0 in any case", name, p.Name)
				}
				clear(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, want %v", name, p.Name, got, want)
			}
		}
		if biases < 2 {
			t.Errorf("%s: %d biases", name, biases)
		}
	}
	if _, _, err := ActorCritic(sp, []int{4}, "tanh", DefaultGaussianConfig(), 1,
		Initialization{Bias: "none"}); err == nil || !strings.Contains(err.Error(), "initial_bias") {
		t.Error(err)
	}
}
