package tensor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// bound returns a perceptron whose parameters are views of flat memory, from a seed.
func bound(t *testing.T, seed int64, activation tensor.Activation, sizes ...int64) (*tensor.Layers, *tensor.Flat) {
	t.Helper()
	gen := generator(t, seed)
	own := tensor.NoGrad()
	t.Cleanup(own.Close)
	activations := append(slices.Repeat([]tensor.Activation{activation}, len(sizes)-2), tensor.Identity)
	var all []tensor.Tensor // weights and biases in turns
	var params []tensor.Parameter
	for i, in := range sizes[:len(sizes)-1] {
		for _, shape := range [][]int64{{sizes[i+1], in}, {sizes[i+1]}} {
			all = append(all, own.RequireGrad(own.MulScalar(own.Randn(gen, shape...), 0.5)))
			params = append(params, tensor.Parameter{Name: fmt.Sprint(len(params)), Tensor: all[len(params)]})
		}
	}
	return layersOf(all, activations), newFlat(t, params)
}
