package models

import (
	"slices"
	"strings"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// A layer normalisation standardises each row by its own mean and biased variance, behind linear and recurrent layers.
// Its parameters start as PyTorch's and are named by their place; activations pass it over.
func TestLayerNorm(t *testing.T) {
	for layers, names := range map[string]string{
		"5, layer_norm, 4, Layer_Norm": "net.0.weight net.0.bias net.2.weight net.2.bias net.3.weight net.3.bias " +
			"net.5.weight net.5.bias",
		"{gru: {hidden_size: 4}}, layer_norm": "net.0.weight_ih_l0 net.0.weight_hh_l0 net.0.bias_ih_l0 " +
			"net.0.bias_hh_l0 " +
			"net.1.weight net.1.bias",
	} {
		net := tensortest.Opened[Network](t)(specOf(t, "{class: Deterministic, output: net, network: [{name: net, "+
			"input: OBSERVATIONS, layers: ["+layers+"], activations: tanh}]}").BuildNetwork(boxes, 1))
		params := net.Parameters()
		var got []string
		for _, p := range params {
			got = append(got, p.Name)
		}
		check.Is(t, strings.Join(got, " "), names, "the parameters")
		s := tensortest.NoGrad(t, tensor.CPU)
		const n, width = 6, 4
		in := Inputs{Observations: sampled(s, boxes.Observation, n)}
		plain := tensortest.Float64s(t, s, net.Forward(s, in)) // as it starts, with mean 0 and deviation 1
		for row := range slices.Chunk(plain, width) {
			sum, square := 0.0, 0.0
			for _, v := range row {
				sum, square = sum+v/width, square+v*v/width
			}
			check.Near(t, sum, 0, 1e-5, "%s: the mean of a row", layers)
			check.Near(t, square, 1, 1e-2, "%s: the mean square of a row", layers)
		}
		w, b := []float32{0.5, -2, 3, 1}, []float32{1, 0, -1, 4}
		must(t, tensor.Write(params[len(params)-2].Tensor, w))
		must(t, tensor.Write(params[len(params)-1].Tensor, b))
		for i := range plain {
			plain[i] = plain[i]*float64(w[i%width]) + float64(b[i%width])
		}
		wantNear(t, layers, tensortest.Float64s(t, s, net.Forward(s, in)), plain, 1e-5)
	}
}
