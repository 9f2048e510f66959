package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// bound returns a perceptron whose parameters are views of flat memory, from a seed.
func bound(t *testing.T, seed int64, activation tensor.Activation, sizes ...int64) (*tensor.Layers, *tensor.Flat) {
	t.Helper()
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
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
	flat, err := tensor.NewFlat(params, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(flat.Close)
	return net, flat
}

// sameTensor compares two tensors' values, relative to their size.
func sameTensor(t *testing.T, what string, got, want tensor.Tensor) {
	t.Helper()
	a, err := tensor.Float64s(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tensor.Float64s(want)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d values, want %d", what, len(a), len(b))
	}
	var d, n float64
	for i := range a {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	if !(math.Sqrt(d) <= 2e-5*math.Sqrt(n)+1e-12) {
		t.Errorf("%s: differs by %.3g relative to a norm of %.3g", what, math.Sqrt(d/n), math.Sqrt(n))
	}
}
