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

func TestSumSquaresAndTally(t *testing.T) {
	net, flat := bound(t, 6, tensor.Relu, 4, 5, 1)
	s := tensor.NewScope()
	defer s.Close()
	flat.ZeroGrad(s)
	sum := s.SumSquares([]float64{0.5, 2}, net.Weights...)
	want := s.Add(s.MulScalar(s.Sum(s.Square(net.Weights[0])), 0.5), s.MulScalar(s.Sum(s.Square(net.Weights[1])), 2))
	sameTensor(t, "sum", sum, want)
	s.Backward(s.MulScalar(sum, 3))
	sameTensor(t, "gradient", s.GradOf(net.Weights[0]), s.MulScalar(net.Weights[0], 3))
	sameTensor(t, "gradient", s.GradOf(net.Weights[1]), s.MulScalar(net.Weights[1], 12))

	sums := s.Full(tensor.Float64, 1, 2)
	s.Tally(sums, s.Scalar(2), s.Scalar(-4))
	s.Tally(sums, s.Scalar(2), s.Scalar(-4))
	sameTensor(t, "tally", sums, tensor.From(s, []float64{5, -7}))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	s.Tally(sums, s.Scalar(1))
	if s.Err() == nil {
		t.Error("one scalar for two sums is not an error")
	}
}

func TestFusedShapesDiffer(t *testing.T) {
	for name, f := range map[string]func(s *tensor.Scope){
		"surrogate": func(s *tensor.Scope) { s.Surrogate(s.Zeros(3, 1), s.Zeros(3, 1), s.Zeros(2, 1), 0.2) },
		"value loss": func(s *tensor.Scope) {
			s.ValueLoss(s.Zeros(3, 1), s.Zeros(3), s.Zeros(3, 1), 0.2,
				tensor.NoValueClip)
		},
		"choices":   func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 4), s.Zeros(3, 1), 5) },
		"no choice": func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 2), s.Full(tensor.Float32, 2, 3, 1), 2) },
		"negative":  func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 2), s.Full(tensor.Float32, -1, 3, 1), 2) },
		"scales":    func(s *tensor.Scope) { s.SumSquares([]float64{1}, s.Zeros(1), s.Zeros(1)) },
	} {
		s := tensor.NewScope()
		f(s)
		if s.Err() == nil {
			t.Errorf("%s: operands of different shapes are not an error", name)
		}
		s.Close()
	}
}
