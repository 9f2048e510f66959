package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

func TestActivations(t *testing.T) {
	for _, name := range tensor.ActivationNames() {
		f, err := tensor.ParseActivation(name)
		if err != nil {
			t.Fatal(err)
		}
		if formulas[f] == nil {
			t.Errorf("TestDifferential has no formula of %s", name)
		}
		if again, err := tensor.ParseActivation(f.String()); err != nil || again != f {
			t.Errorf("%s is called %s, which reads as %v (%v)", name, f, again, err)
		}
	}
	if f, err := tensor.ParseActivation("ELU"); err != nil || f != tensor.Elu {
		t.Errorf("ELU reads as %v, %v", f, err)
	}
	_, err := tensor.ParseActivation("ellu")
	wantError(t, err, "tensor:", "ellu", "leaky_relu", "selu")
	if got := tensor.Activation(-7).String(); got != "activation(-7)" {
		t.Errorf("an unknown activation is called %q", got)
	}
}

func TestWhere(t *testing.T) {
	s := scope(t)
	c := tensor.From(s, []bool{true, false, false, true}, 2, 2)
	a, b := tensor.From(s, []float32{1, 2}), tensor.From(s, []float32{-1, -2, -3, -4}, 2, 2)
	wantTensor(t, "Where", s, s.Where(c, a, b), []int64{2, 2}, []float64{1, -2, -3, 2}, 0)
	// A NaN on the side that is not taken does not leak.
	nan := tensor.From(s, []float32{float32(math.NaN()), 5}, 2)
	wantTensor(t, "Where NaN", s, s.Where(tensor.From(s, []bool{false, true}), nan, a), []int64{2}, []float64{1, 5}, 0)
}

func TestGaussianLogProb(t *testing.T) {
	s := scope(t)
	action, mean, logStd := numbers(1, 6), numbers(2, 6), numbers(3, 3)
	want := make([]float64, 6)
	for i := range want {
		sigma := math.Exp(logStd[i%3])
		z := (action[i] - mean[i]) / sigma
		want[i] = math.Log(math.Exp(-z*z/2) / (sigma * math.Sqrt(2*math.Pi)))
	}
	got := s.GaussianLogProb(tensor.From(s, action, 2, 3), tensor.From(s, mean, 2, 3), tensor.From(s, logStd))
	wantTensor(t, "GaussianLogProb", s, got, []int64{2, 3}, want, 1e-12)
}

func TestMatMul(t *testing.T) {
	s := scope(t)
	const n, k, m = 3, 4, 2
	a, b := numbers(1, 5*n*k), numbers(2, k*m)
	want := make([]float64, 5*n*m)
	for i := range 5 * n {
		for j := range m {
			for l := range k {
				want[i*m+j] += a[i*k+l] * b[l*m+j]
			}
		}
	}
	wantTensor(t, "MatMul", s, s.MatMul(tensor.From(s, a[:n*k], n, k), tensor.From(s, b, k, m)), []int64{n, m},
		want[:n*m], 1e-14)
	wantTensor(t, "batched MatMul", s, s.MatMul(tensor.From(s, a, 5, n, k), tensor.From(s, b, k, m)), []int64{5, n, m},
		want, 1e-14)
}

// dense is f(x·Wᵀ + b) in plain arithmetic.
func dense(x, w, b []float64, in, out int, f func(float64) float64) []float64 {
	rows := len(x) / in
	y := make([]float64, rows*out)
	for i := range rows {
		for j := range out {
			v := 0.0
			if b != nil {
				v = b[j]
			}
			for k := range in {
				v += x[i*in+k] * w[j*in+k]
			}
			y[i*out+j] = f(v)
		}
	}
	return y
}

func TestLinearAndMLP(t *testing.T) {
	s := scope(t)
	x, w0, b0, w1 := numbers(1, 4*3), numbers(2, 5*3), numbers(3, 5), numbers(4, 2*5)
	identity := func(x float64) float64 { return x }
	tx, tw0, tb0, tw1 := tensor.From(s, x, 4, 3), tensor.From(s, w0, 5, 3), tensor.From(s, b0), tensor.From(s, w1, 2, 5)
	wantTensor(t, "Linear", s, s.Linear(tx, tw0, tb0), []int64{4, 5}, dense(x, w0, b0, 3, 5, identity), 1e-14)
	wantTensor(t, "Linear without bias", s, s.Linear(tx, tw0, tensor.Tensor{}), []int64{4, 5},
		dense(x, w0, nil, 3, 5, identity), 1e-14)

	net := &tensor.Layers{Weights: []tensor.Tensor{tw0, tw1}, Biases: []tensor.Tensor{tb0, {}},
		Activations: []tensor.Activation{tensor.Elu, tensor.Identity}}
	want := dense(dense(x, w0, b0, 3, 5, formulas[tensor.Elu]), w1, nil, 5, 2, identity)
	for range 2 { // the second time with what the first prepared
		wantTensor(t, "MLP", s, s.MLP(tx, net), []int64{4, 2}, want, 1e-14)
	}
	net.Activations[1] = tensor.Tanh
	wantTensor(t, "MLP with another activation", s, s.MLP(tx, net), []int64{4, 2}, apply(math.Tanh, want), 1e-14)

	// A layer that reads and writes no hidden state: the result is what the layers give one by one.
	one := s.Tanh(s.Linear(s.Activate(tensor.Elu, s.Linear(tx, tw0, tb0)), tw1, tensor.Tensor{}))
	wantNear(t, "layer by layer", tensortest.Float64s(t, s, s.MLP(tx, net)), tensortest.Float64s(t, s, one), 0)

	bad := tensor.NoGrad()
	defer bad.Close()
	bad.MLP(tx, &tensor.Layers{Weights: []tensor.Tensor{tw1, tw0}, Biases: make([]tensor.Tensor, 2),
		Activations: net.Activations})
	wantError(t, bad.Err(), "tensor: MLP [4 3], [2 5], [5 3]: ")
	bad.Reset()
	bad.MLP(tx, &tensor.Layers{Weights: []tensor.Tensor{tw0}, Activations: []tensor.Activation{tensor.Relu}})
	wantError(t, bad.Err(), "MLP", "0 biases")
}

// Arguments that leave the tensor, or overflow where the engine multiplies or adds them up, are errors.
func TestExtremeArguments(t *testing.T) {
	tensortest.CheckLive(t)
	gen := generator(t, 1)
	for name, run := range map[string]func(s *tensor.Scope){
		"Narrow":        func(s *tensor.Scope) { s.Narrow(s.Ones(4, 2), 0, math.MaxInt64, 1) },
		"Full":          func(s *tensor.Scope) { s.Full(tensor.DType(99), 0, 1) },
		"As":            func(s *tensor.Scope) { s.As(s.Ones(1), tensor.DType(-3)) },
		"RandInt":       func(s *tensor.Scope) { s.RandInt(gen, 0, 9, -2, -3) },
		"RandInt size":  func(s *tensor.Scope) { s.RandInt(gen, 0, 9, 1<<62, 4) },
		"RandInt range": func(s *tensor.Scope) { s.RandInt(gen, 0, math.MaxInt64, 1) },
		"Categorical": func(s *tensor.Scope) {
			s.Categorical(s.Ones(2, 2), s.Ones(2, 3), math.MaxInt64, math.MaxInt64,
				4)
		},
		// the mean of integers; the share must not leak
		"PositiveShare": func(s *tensor.Scope) { s.PositiveShare(s.Arange(3)) },
		"MLP":           func(s *tensor.Scope) { mlpWithBias(s, s.Ones(3, 1)) },
		"ScalerForward": func(s *tensor.Scope) {
			s.ScalerForward(s.Ones(2, 3), s.Full(tensor.Float64, 0, 3, 1), s.Full(tensor.Float64, 1, 3), 1, 1)
		},
	} {
		s := tensor.NoGrad()
		run(s)
		if s.Err() == nil {
			t.Errorf("%s: no error", name)
		}
		s.Close()
	}
}

func mlpWithBias(s *tensor.Scope, b tensor.Tensor) tensor.Tensor {
	return s.MLP(s.Ones(2, 4), &tensor.Layers{Weights: []tensor.Tensor{s.Ones(3, 4)}, Biases: []tensor.Tensor{b},
		Activations: []tensor.Activation{tensor.Tanh}})
}
