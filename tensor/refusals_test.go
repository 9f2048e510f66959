package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// An error names the operation and the shapes of its operands. TestDifferential refuses wrong operands of every
// operation and compares the engine's errors with libtorch's; here are the operations' own checks.
func TestRefusals(t *testing.T) {
	tensortest.CheckLive(t)
	g := generator(t, 1)
	vectors := func(s *tensor.Scope, n int64) tensor.Tensor { return s.Full(tensor.Float64, 1, n) }
	update := func(s *tensor.Scope, x, statistics tensor.Tensor) {
		s.ScalerUpdate(x, statistics, statistics, vectors(s, 1), false, 0)
	}
	recurrent := func(length int, x, state, ends []int64) func(s *tensor.Scope) {
		return func(s *tensor.Scope) {
			weights := []tensor.Tensor{s.Zeros(6, 3), s.Zeros(6, 2), s.Zeros(6), s.Zeros(6)}
			s.Recurrent(s.Zeros(x...), s.Zeros(state...), s.Zeros(ends...), length,
				&tensor.RecurrentLayers{Kind: tensor.GRU, Weights: weights})
		}
	}
	for _, test := range []struct {
		want string
		run  func(s *tensor.Scope)
	}{
		{"Cat [2 2], [2 3]: ", func(s *tensor.Scope) { s.Cat(0, s.Ones(2, 2), s.Ones(2, 3)) }},
		{"IndexCopy [2 2], [1], [1 2]: ", func(s *tensor.Scope) {
			s.IndexCopy(s.Ones(2, 2), s.Full(tensor.Int64, 2, 1), s.Ones(1, 2))
		}},
		{"From: ", func(s *tensor.Scope) { tensor.From(s, []float32{1, 2, 3, 4}, -2, -2) }},
		{"Full: ", func(s *tensor.Scope) { s.Zeros(1<<40, 1<<20) }},
		{"Full: ", func(s *tensor.Scope) { s.On(tensor.CUDA(99)).Zeros(1) }},
		{"To [1]: ", func(s *tensor.Scope) { s.As(s.Ones(1), tensor.DType(-3)) }},
		{"Randn: ", func(s *tensor.Scope) { s.Randn(g, -1) }},
		{"RandInt: ", func(s *tensor.Scope) { s.RandInt(g, 3, 3, 2) }},
		{"Multinomial", func(s *tensor.Scope) { s.Multinomial(g, tensor.From(s, []float32{-1, 2}), 1) }},

		{"Backward [3]: ", func(s *tensor.Scope) { s.Backward(s.Square(s.RequireGrad(s.Ones(3)))) }},
		{"Backward []: ", func(s *tensor.Scope) { s.Backward(s.Sum(s.Ones(3))) }},
		{"Backward []: ", func(s *tensor.Scope) {
			loss := s.Sum(s.Exp(s.RequireGrad(s.Ones(3))))
			s.Backward(loss)
			s.Backward(loss)
		}},
		{"RequireGrad [3]: ", func(s *tensor.Scope) { s.RequireGrad(s.Arange(3)) }},

		{"MLP: 1 weights, 0 biases", func(s *tensor.Scope) {
			s.MLP(s.Ones(2, 4), &tensor.Layers{Weights: []tensor.Tensor{s.Ones(3, 4)},
				Activations: []tensor.Activation{tensor.Tanh}})
		}},
		{"Surrogate", func(s *tensor.Scope) { s.Surrogate(s.Zeros(3, 1), s.Zeros(3, 1), s.Zeros(2, 1), 0.2) }},
		{"Categorical", func(s *tensor.Scope) {
			s.Categorical(s.Ones(2, 2), s.Ones(2, 3), math.MaxInt64, math.MaxInt64, 4)
		}},
		{"SumSquares", func(s *tensor.Scope) { s.SumSquares([]float64{1}, s.Zeros(1), s.Zeros(1)) }},
		{"PositiveShare", func(s *tensor.Scope) { s.PositiveShare(s.Arange(3)) }}, // the share must not leak
		{"GAE [0 3 1], ", func(s *tensor.Scope) { x := s.Zeros(0, 3, 1); s.GAE(x, x, x, x, x, 1, 1) }},
		{"ScalerUpdate [0 3], ", func(s *tensor.Scope) { update(s, s.Zeros(0, 3), vectors(s, 3)) }},
		{"ScalerUpdate [3 2], [3], ", func(s *tensor.Scope) { update(s, s.Zeros(3, 2), vectors(s, 3)) }},
		{"ScalerForward [2 0], [0], [0]: ", func(s *tensor.Scope) {
			s.ScalerForward(s.Zeros(2, 0), vectors(s, 0), vectors(s, 0), 1, 1)
		}},

		{"are not sequences of 5 steps", recurrent(5, []int64{6, 3}, []int64{2, 2}, []int64{6, 1})},
		{"the state has the shape", recurrent(3, []int64{6, 3}, []int64{2, 4}, []int64{6, 1})},
		{"the input weight of layer 0 has the shape", recurrent(3, []int64{6, 4}, []int64{2, 2}, []int64{6, 1})},
		{"3 weights; want four a layer", func(s *tensor.Scope) {
			weights := []tensor.Tensor{s.Zeros(6, 3), s.Zeros(6, 2), s.Zeros(6)}
			s.Recurrent(s.Zeros(6, 3), tensor.Tensor{}, tensor.Tensor{}, 3,
				&tensor.RecurrentLayers{Kind: tensor.GRU, Weights: weights})
		}},
	} {
		s := tensor.NewScope()
		test.run(s)
		wantError(t, s.Err(), "tensor: ", test.want)
		s.Close()
	}
}
