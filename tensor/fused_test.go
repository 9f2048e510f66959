package tensor_test

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// bound returns a perceptron whose parameters are views of flat memory, from a seed.
func bound(t *testing.T, seed int64, activation tensor.Activation, sizes ...int64) (*tensor.Layers, *tensor.Flat) {
	t.Helper()
	gen := generator(t, seed)
	own := tensor.NoGrad()
	t.Cleanup(own.Close)
	net := &tensor.Layers{}
	var params []tensor.Parameter
	for i := 0; i+1 < len(sizes); i++ {
		w := own.RequireGrad(own.MulScalar(own.Randn(gen, sizes[i+1], sizes[i]), 0.5))
		b := own.RequireGrad(own.MulScalar(own.Randn(gen, sizes[i+1]), 0.5))
		f := activation
		if i+2 == len(sizes) {
			f = tensor.Identity
		}
		net.Weights, net.Biases, net.Activations = append(net.Weights, w), append(net.Biases, b),
			append(net.Activations, f)
		params = append(params, tensor.Parameter{Name: fmt.Sprintf("%d.weight", i), Tensor: w},
			tensor.Parameter{Name: fmt.Sprintf("%d.bias", i), Tensor: b})
	}
	return net, newFlat(t, params)
}
