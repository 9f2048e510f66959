package models

import (
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// A layer normalisation standardises each row by its own mean and biased variance, behind linear and recurrent layers.
// Activations pass it over.
func TestLayerNorm(t *testing.T) {
	for _, layers := range []string{"5, layer_norm, 4, Layer_Norm", "{gru: {hidden_size: 4}}, layer_norm"} {
		net := tensortest.Opened[Network](t)(specOf(t, "{class: Deterministic, output: net, network: [{name: net, "+
			"input: OBSERVATIONS, layers: ["+layers+"], activations: tanh}]}").BuildNetwork(boxes, 1))
		params := net.Parameters()
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
