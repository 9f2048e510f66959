package tensor_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// TestLowerPrecision computes a perceptron with its gradients in float32 and in bfloat16: outputs and gradients are
// float32 in both, and differ by bfloat16's rounding, 2⁻⁸ of a value, and not by less than it can help.
func TestLowerPrecision(t *testing.T) {
	if err := tensor.BFloat16.Supported(tensor.CPU); err != nil {
		t.Skip(err)
	}
	net, flat := bound(t, 3, tensor.Elu, 40, 64, 5)
	gen, err := tensor.NewGenerator(4, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	s := tensor.NewScope()
	defer s.Close()
	x := s.Randn(gen, 30, 40)
	run := func(p tensor.Precision) (out, gradients []float64) {
		s.Layers(p)
		flat.ZeroGrad(s)
		y := s.MLP(x, net)
		z := s.Linear(y, tensor.From(s, []float32{1, 2, 3, 4, 5}, 1, 5), tensor.Tensor{})
		s.Backward(s.Mean(s.Square(z)))
		if err := s.Err(); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		if tensor.TypeOf(y) != tensor.Float32 || tensor.TypeOf(z) != tensor.Float32 {
			t.Errorf("%v: results are %v and %v, want float32", p, tensor.TypeOf(y), tensor.TypeOf(z))
		}
		out, err := tensor.Float64s(s.Detach(y))
		if err != nil {
			t.Fatal(err)
		}
		if gradients, err = tensor.Float64s(flat.Grads); err != nil {
			t.Fatal(err)
		}
		return out, gradients
	}
	fullOut, fullGrad := run(tensor.Full)
	out, grad := run(tensor.BFloat16)
	for what, pair := range map[string][2][]float64{"outputs": {out, fullOut}, "gradients": {grad, fullGrad}} {
		if e := distance(pair[0], pair[1]); !(e > 1e-5 && e < 2e-2) {
			t.Errorf("%s differ by %g of their size, want between 1e-5 and 2e-2", what, e)
		}
	}
	if s.Layers(tensor.Full); s.Err() != nil {
		t.Error(s.Err())
	}
}

// TestLowerPenalty compares the gradient penalty in bfloat16, which is differentiated twice, with that in float32.
func TestLowerPenalty(t *testing.T) {
	if err := tensor.BFloat16.Supported(tensor.CPU); err != nil {
		t.Skip(err)
	}
	net, flat := bound(t, 5, tensor.Tanh, 20, 32, 1)
	gen, err := tensor.NewGenerator(6, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	s := tensor.NewScope()
	defer s.Close()
	x := s.Randn(gen, 16, 20)
	gradients := func(p tensor.Precision) []float64 {
		flat.ZeroGrad(s)
		_, penalty := s.Layers(p).Critic(x, net)
		s.Backward(penalty)
		g, err := tensor.Float64s(flat.Grads)
		if err != nil {
			t.Fatal(s.Err(), err)
		}
		return g
	}
	if e := distance(gradients(tensor.BFloat16), gradients(tensor.Full)); !(e > 1e-5 && e < 5e-2) {
		t.Errorf("gradients of the penalty differ by %g of their size, want between 1e-5 and 5e-2", e)
	}
}

// distance is ‖a − b‖ / ‖b‖.
func distance(a, b []float64) float64 {
	var d, n float64
	for i := range a {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d / n)
}

func TestPrecisionSupported(t *testing.T) {
	if err := tensor.Full.Supported(tensor.CPU); err != nil {
		t.Error(err)
	}
	if err := tensor.Float16.Supported(tensor.CPU); err == nil || !strings.Contains(err.Error(), "bfloat16") {
		t.Errorf("float16 on the CPU: %v; want an error that names bfloat16", err)
	}
	if err := tensor.Precision(9).Supported(tensor.CPU); err == nil {
		t.Error("an unknown precision is supported")
	}
	if err := tensor.BFloat16.Supported(tensor.CUDA(99)); err == nil {
		t.Error("a GPU that is not there is supported")
	}
}
