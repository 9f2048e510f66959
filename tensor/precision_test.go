package tensor_test

import (
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// Outputs and gradients of layers in bfloat16, also of the penalty that differentiates twice, are float32. They differ
// from those in float32 by bfloat16's rounding, 2⁻⁸ of a value, and not by less than it can help.
func TestLowerPrecision(t *testing.T) {
	if err := tensor.BFloat16.Supported(tensor.CPU); err != nil {
		t.Skip(err)
	}
	must.Refuse(t, tensor.Float16.Supported(tensor.CPU), "bfloat16")
	net, flat := bound(t, 3, tensor.Tanh, 20, 32, 1)
	s := scope(t)
	x := s.Randn(generator(t, 4), 30, 20)
	run := func(p tensor.Precision, penalty bool) (out, gradients []float64) {
		flat.ZeroGrad(s)
		y := s.Layers(p).MLP(x, net)
		z := s.Linear(y, s.Full(tensor.Float32, 3, 1, 1), tensor.Tensor{})
		must.Same(t, []tensor.DType{tensor.TypeOf(y), tensor.TypeOf(z)}, []tensor.DType{tensor.Float32, tensor.Float32},
			"%v: types", p)
		loss := s.Mean(s.Square(z))
		if penalty {
			_, loss = s.Critic(x, net)
		}
		s.Backward(loss)
		return tensortest.Float64s(t, s, s.Detach(y)), tensortest.Float64s(t, s, flat.Grads)
	}
	for _, penalty := range []bool{false, true} {
		full, fullGrad := run(tensor.Full, penalty)
		out, grad := run(tensor.BFloat16, penalty)
		for what, pair := range map[string][2][]float64{"outputs": {out, full}, "gradients": {grad, fullGrad}} {
			e := distance(pair[0], pair[1])
			must.Not(t, !(e > 1e-5 && e < 5e-2), "%s differ by %g of their size (penalty %v)", what, e, penalty)
		}
	}
}

// distance is ‖a − b‖ / ‖b‖.
func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) / norm(b) }
