package models

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// A layer normalisation standardises each row by its own mean and biased variance, behind linear and recurrent layers.
// Its parameters start as PyTorch's and are named by their place; activations pass it over.
func TestLayerNorm(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	for name, test := range map[string]struct {
		layers []any
		named  string
	}{
		"linear": {[]any{5, "layer_norm", 4, "Layer_Norm"}, "net.0.weight net.0.bias net.2.weight net.2.bias net.3.weight " +
			"net.3.bias net.5.weight net.5.bias"},
		"memory": {[]any{map[string]any{"gru": map[string]any{"hidden_size": 4}}, "layer_norm"},
			"net.0.weight_ih_l0 net.0.weight_hh_l0 net.0.bias_ih_l0 net.0.bias_hh_l0 net.1.weight net.1.bias"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := ParseSpec(map[string]any{"class": "DeterministicMixin", "output": "net",
				"network": []any{map[string]any{"name": "net", "input": "OBSERVATIONS", "layers": test.layers,
					"activations": "tanh"}}})
			must(t, err)
			net, err := spec.BuildNetwork(sp, 1)
			must(t, err)
			defer net.Close()
			var names []string
			for _, p := range net.Parameters() {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); got != test.named {
				t.Errorf("the parameters are %s, want %s", got, test.named)
			}
			s := tensor.NewScope()
			defer s.Close()
			gen, err := tensor.NewGenerator(2, tensor.CPU)
			must(t, err)
			defer gen.Close()
			const n, width = 6, 4
			x := s.RequireGrad(s.Randn(gen, n, 3))
			// As it starts, a row has a mean of 0 and a deviation of 1.
			y := net.Forward(s, Inputs{Observations: x})
			plain := tensortest.Float64s(t, s, y)
			for i := range n {
				sum, square := 0.0, 0.0
				for _, v := range plain[i*width : (i+1)*width] {
					sum, square = sum+v/width, square+v*v/width
				}
				if math.Abs(sum) > 1e-5 || math.Abs(square-1) > 1e-2 {
					t.Errorf("row %d has the mean %g and the mean square %g", i, sum, square)
				}
			}
			// Weight and bias scale and shift it.
			last := net.Parameters()[len(names)-2:]
			w, b := []float32{0.5, -2, 3, 1}, []float32{1, 0, -1, 4}
			must(t, tensor.Write(last[0].Tensor, w))
			must(t, tensor.Write(last[1].Tensor, b))
			for i, v := range tensortest.Float64s(t, s, net.Forward(s, Inputs{Observations: x})) {
				if want := plain[i]*float64(w[i%width]) + float64(b[i%width]); math.Abs(v-want) > 1e-5 {
					t.Errorf("value %d is %g, want %g", i, v, want)
				}
			}
			// The gradient by the first observation is that of a small step.
			weigh := func(o tensor.Tensor) tensor.Tensor {
				y := net.Forward(s, Inputs{Observations: o})
				return s.Sum(s.Mul(y, s.As(s.Arange(width), tensor.Float32)))
			}
			got := tensortest.Float64s(t, s, s.Grad(weigh(x), false, x)[0])[0]
			const h = 1e-2
			step := make([]float32, n*3)
			step[0] = h
			d := tensor.From(s, step, n, 3)
			up, down := tensortest.Float64s(t, s, weigh(s.Add(x, d)))[0], tensortest.Float64s(t, s, weigh(s.Sub(x, d)))[0]
			if want := (up - down) / (2 * h); math.Abs(got-want) > 0.02*(1+math.Abs(want)) {
				t.Errorf("the gradient is %g, want %g", got, want)
			}
		})
	}
	for text, layers := range map[string][]any{
		"picture":       {map[string]any{"conv2d": map[string]any{"out_channels": 2, "kernel_size": 2}}, "layer_norm"},
		"unknown layer": {4, map[string]any{"layer_norm": 4}},
	} {
		_, err := build(spaces.Set{Observation: spaces.Unbounded(3, 4, 4), Action: sp.Action}, layers)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want an error with %q", layers, err, text)
		}
	}
}

// build makes a network of one container upon pictures.
func build(sp spaces.Set, layers []any) (Network, error) {
	spec, err := ParseSpec(map[string]any{"class": "DeterministicMixin", "output": "net",
		"network": []any{map[string]any{"name": "net", "input": "permute(OBSERVATIONS, (0, 1, 2, 3))", "layers": layers}}})
	if err != nil {
		return nil, err
	}
	return spec.BuildNetwork(sp, 1)
}
