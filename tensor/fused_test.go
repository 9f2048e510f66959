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
		net.Weights, net.Biases, net.Activations = append(net.Weights, w), append(net.Biases, b), append(net.Activations, f)
		params = append(params, tensor.Parameter{Name: fmt.Sprintf("%d.weight", i), Tensor: w}, tensor.Parameter{Name: fmt.Sprintf("%d.bias", i), Tensor: b})
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

// TestCriticEqualsDifferentiatingTwice compares outputs, penalty and the parameters' gradients of both with what autograd
// makes of the separate operations.
func TestCriticEqualsDifferentiatingTwice(t *testing.T) {
	for _, f := range []tensor.Activation{tensor.Identity, tensor.Relu, tensor.Elu, tensor.Tanh, tensor.Sigmoid, tensor.Softplus} {
		for _, sizes := range [][]int64{{5, 1}, {5, 7, 1}, {5, 8, 6, 1}, {3, 6, 5, 4, 1}} {
			t.Run(fmt.Sprint(f, sizes), func(t *testing.T) {
				var grads []tensor.Tensor
				keep := tensor.NoGrad()
				defer keep.Close()
				for _, fused := range []bool{true, false} {
					net, flat := bound(t, 3, f, sizes...)
					gen, err := tensor.NewGenerator(9, tensor.CPU)
					if err != nil {
						t.Fatal(err)
					}
					s := tensor.NewScope()
					x := s.Randn(gen, 11, sizes[0])
					gen.Close()
					var y, penalty tensor.Tensor
					if fused {
						y, penalty = s.Critic(x, net)
					} else {
						s.RequireGrad(x)
						y = s.MLP(x, net)
						penalty = s.Mean(s.Sum(s.Square(s.Grad(s.Sum(y), true, x)[0]), -1))
					}
					flat.ZeroGrad(s)
					s.Backward(s.Add(s.MulScalar(penalty, 3), s.Mean(s.Square(s.AddScalar(y, -1)))))
					if err := s.Err(); err != nil {
						t.Fatal(err)
					}
					grads = append(grads, keep.Clone(s.Detach(y)), keep.Clone(s.Detach(penalty)), keep.Clone(flat.Grads))
					s.Close()
				}
				sameTensor(t, "outputs", grads[0], grads[3])
				sameTensor(t, "penalty", grads[1], grads[4])
				sameTensor(t, "gradient", grads[2], grads[5])
			})
		}
	}
}

// TestPerceptronNode compares the gradients of a perceptron whose parameters are flat with those of free parameters.
func TestPerceptronNode(t *testing.T) {
	for _, f := range []tensor.Activation{tensor.Identity, tensor.Relu, tensor.Elu, tensor.Tanh, tensor.Sigmoid, tensor.Gelu} {
		t.Run(f.String(), func(t *testing.T) {
			net, flat := bound(t, 4, f, 5, 9, 6, 2)
			s := tensor.NewScope()
			defer s.Close()
			gen, err := tensor.NewGenerator(9, tensor.CPU)
			if err != nil {
				t.Fatal(err)
			}
			defer gen.Close()
			x := s.Randn(gen, 13, 5)
			flat.ZeroGrad(s)
			s.Backward(s.Mean(s.Square(s.MLP(x, net))))

			// The same computation from detached copies, by separate operations.
			h := x
			var leaves []tensor.Tensor
			for i := range net.Weights {
				w, b := s.RequireGrad(s.Clone(s.Detach(net.Weights[i]))), s.RequireGrad(s.Clone(s.Detach(net.Biases[i])))
				h = s.Activate(net.Activations[i], s.Linear(h, w, b))
				leaves = append(leaves, w, b)
			}
			var want []tensor.Tensor
			for _, g := range s.Grad(s.Mean(s.Square(h)), false, leaves...) {
				want = append(want, s.Reshape(g, -1))
			}
			all := s.Cat(0, want...)
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			sameTensor(t, "gradient", flat.Grads, all)
		})
	}
}

// TestFusedLosses compares values and gradients of the fused losses with the formulas written out.
func TestFusedLosses(t *testing.T) {
	s := tensor.NewScope()
	defer s.Close()
	gen, err := tensor.NewGenerator(5, tensor.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close()
	const n = 64
	column := func(scale float64) tensor.Tensor { return s.MulScalar(s.Randn(gen, n, 1), scale) }
	leaf := func(x tensor.Tensor) tensor.Tensor { return s.RequireGrad(s.Clone(s.Detach(x))) }
	check := func(what string, fused, plain tensor.Tensor, a, b []tensor.Tensor) {
		t.Helper()
		if err := s.Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		sameTensor(t, what, fused, plain)
		ga, gb := s.Grad(s.MulScalar(fused, 1.7), false, a...), s.Grad(s.MulScalar(plain, 1.7), false, b...)
		if err := s.Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i := range ga {
			sameTensor(t, fmt.Sprintf("%s: gradient %d", what, i), ga[i], gb[i])
		}
	}

	now, old, advantage := column(0.4), column(0.4), column(1)
	a, b := leaf(now), leaf(now)
	loss, kl, clipped := s.Surrogate(a, old, advantage, 0.2)
	d := s.Sub(b, old)
	r := s.Exp(d)
	check("surrogate", loss, s.Neg(s.Mean(s.Min(s.Mul(advantage, r), s.Mul(advantage, s.Clamp(r, 0.8, 1.2))))), []tensor.Tensor{a}, []tensor.Tensor{b})
	sameTensor(t, "divergence", kl, s.Mean(s.Sub(s.AddScalar(r, -1), d)))
	sameTensor(t, "clip fraction", clipped, s.Mean(s.As(s.GtScalar(s.Abs(s.AddScalar(r, -1)), 0.2), tensor.Float32)))

	value, before, returns := column(1), column(1), column(1)
	for kind, name := range map[tensor.ValueClip]string{tensor.NoValueClip: "free", tensor.ClippedOnly: "clipped", tensor.Pessimistic: "pessimistic"} {
		a, b := leaf(value), leaf(value)
		free := s.Square(s.Sub(returns, b))
		held := s.Square(s.Sub(returns, s.Add(before, s.Clamp(s.Sub(b, before), -0.5, 0.5))))
		want := map[tensor.ValueClip]tensor.Tensor{tensor.NoValueClip: free, tensor.ClippedOnly: held, tensor.Pessimistic: s.Max(free, held)}[kind]
		check("value loss, "+name, s.ValueLoss(a, before, returns, 0.5, kind), s.Mean(want), []tensor.Tensor{a}, []tensor.Tensor{b})
	}

	fake, real := column(3), s.Narrow(column(3), 0, 0, 40)
	fa, ra, fb, rb := leaf(fake), leaf(real), leaf(fake), leaf(real)
	check("cross-entropy", s.CrossEntropy(fa, ra), s.MulScalar(s.Add(s.Mean(s.Softplus(fb)), s.Mean(s.Softplus(s.Neg(rb)))), 0.5),
		[]tensor.Tensor{fa, ra}, []tensor.Tensor{fb, rb})
	share, mean := s.PositiveShare(fake)
	sameTensor(t, "positive share", share, s.Mean(s.As(s.GtScalar(fake, 0), tensor.Float32)))
	sameTensor(t, "mean", mean, s.Mean(fake))

	logits := s.MulScalar(s.Randn(gen, n, 5), 2)
	first, second := s.As(s.GtScalar(column(1), 0.5), tensor.Float32), s.As(s.GtScalar(column(1), -0.2), tensor.Float32)
	choices := s.Cat(-1, s.MulScalar(first, 2), second) // 0 or 2 of three, 0 or 1 of two
	for _, counts := range [][]int64{{3, 2}, {5}} {
		chosen := s.Narrow(choices, -1, 0, int64(len(counts)))
		joint := map[string]func(p, h tensor.Tensor) tensor.Tensor{
			"log-probability": func(p, _ tensor.Tensor) tensor.Tensor { return p },
			"entropy":         func(_, h tensor.Tensor) tensor.Tensor { return h },
			"both":            func(p, h tensor.Tensor) tensor.Tensor { return s.Sub(p, s.MulScalar(h, 0.3)) },
		}
		for name, f := range joint {
			a, b := leaf(logits), leaf(logits)
			of, spread := s.Zeros(n, 1), s.Zeros(n, 1)
			at := int64(0)
			for k, count := range counts {
				p := s.LogSoftmax(s.Narrow(b, -1, at, count), -1)
				of = s.Add(of, s.Gather(p, -1, s.As(s.Narrow(chosen, -1, int64(k), 1), tensor.Int64)))
				spread = s.Sub(spread, s.SumKeep(s.Mul(s.Exp(p), p), -1))
				at += count
			}
			check(fmt.Sprint("choices ", counts, ", ", name), s.Mean(s.Mul(advantage, f(s.Categorical(a, chosen, counts...)))),
				s.Mean(s.Mul(advantage, f(of, spread))), []tensor.Tensor{a}, []tensor.Tensor{b})
		}
	}

	action, mu, logStd := s.Randn(gen, n, 3), s.Randn(gen, n, 3), s.MulScalar(s.Randn(gen, 3), 0.5)
	ma, la, mb, lb := leaf(mu), leaf(logStd), leaf(mu), leaf(logStd)
	check("log-density", s.Mean(s.Mul(advantage, s.GaussianLogProbSum(action, ma, la))), s.Mean(s.Mul(advantage, s.SumKeep(s.GaussianLogProb(action, mb, lb), -1))),
		[]tensor.Tensor{ma, la}, []tensor.Tensor{mb, lb})
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
		"surrogate":  func(s *tensor.Scope) { s.Surrogate(s.Zeros(3, 1), s.Zeros(3, 1), s.Zeros(2, 1), 0.2) },
		"value loss": func(s *tensor.Scope) { s.ValueLoss(s.Zeros(3, 1), s.Zeros(3), s.Zeros(3, 1), 0.2, tensor.NoValueClip) },
		"choices":    func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 4), s.Zeros(3, 1), 5) },
		"no choice":  func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 2), s.Full(tensor.Float32, 2, 3, 1), 2) },
		"negative":   func(s *tensor.Scope) { s.Categorical(s.Zeros(3, 2), s.Full(tensor.Float32, -1, 3, 1), 2) },
		"scales":     func(s *tensor.Scope) { s.SumSquares([]float64{1}, s.Zeros(1), s.Zeros(1)) },
	} {
		s := tensor.NewScope()
		f(s)
		if s.Err() == nil {
			t.Errorf("%s: operands of different shapes are not an error", name)
		}
		s.Close()
	}
}
