package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// randomOperand returns numbers to differentiate by.
func randomOperand(seed uint64, shape ...int64) array {
	return array{shape, numbers(seed, int(elements(shape)))}
}

type function func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor

// weighted is Σ w·y^power with fixed weights w, so that every element of y matters in its own way.
func weighted(s *tensor.Scope, y tensor.Tensor, power float64) tensor.Tensor {
	w := numbers(99, int(tensor.Numel(y)))
	if power == 2 {
		y = s.Square(y)
	}
	return s.Sum(s.Mul(y, tensor.From(s, w, tensor.Shape(y)...)))
}

// differentiate returns Σ w·f(x)^power and its gradients. With second it returns instead Σ v·gradients, for fixed
// v, and the gradients of that: the Hessian times v.
func differentiate(t *testing.T, f function, ops []array, power float64, second bool) (value float64,
	grads [][]float64) {
	t.Helper()
	s := tensor.NewScope()
	defer s.Close()
	xs := make([]tensor.Tensor, len(ops))
	for i, o := range ops {
		xs[i] = s.RequireGrad(tensor.From(s, o.x, o.shape...))
	}
	y := weighted(s, f(s, xs), power)
	gs := s.Grad(y, second, xs...)
	if second {
		y = s.Full(tensor.Float64, 0)
		for i, g := range gs {
			v := tensor.From(s, numbers(uint64(50+i), len(ops[i].x)), ops[i].shape...)
			y = s.Add(y, s.Sum(s.Mul(g, v)))
		}
		gs = s.Grad(y, false, xs...)
	}
	for i, g := range gs {
		grads = append(grads, tensortest.Float64s(t, s, g))
		must.Same(t, tensor.Shape(g), ops[i].shape, "the gradient of input %d", i)
	}
	return must.Get(tensor.Item(y))(t), grads
}

// checkGradients compares first and second derivatives with central differences.
func checkGradients(t *testing.T, f function, ops ...array) {
	t.Helper()
	const h = 1e-5
	for _, second := range []bool{false, true} {
		// For second derivatives the square of f: it has some where f is linear too.
		power := 1.0
		if second {
			power = 2
		}
		_, grads := differentiate(t, f, ops, power, second)
		for i, o := range ops {
			for k, old := range o.x {
				o.x[k] = old + h
				up, _ := differentiate(t, f, ops, power, second)
				o.x[k] = old - h
				down, _ := differentiate(t, f, ops, power, second)
				o.x[k] = old
				want := (up - down) / (2 * h)
				must.Near(t, grads[i][k], want, 1e-7*(1+math.Abs(want)),
					"second %v: derivative by element %d of input %d", second, k, i)
			}
		}
	}
}

// First and second derivatives of what gorl's own code differentiates. TestDifferential has first derivatives of all
// operations; those that are libtorch's have libtorch's second derivatives.
func TestGradients(t *testing.T) {
	tensortest.CheckLive(t)
	a, b, row := randomOperand(1, 2, 3), randomOperand(2, 2, 3), randomOperand(3, 3)
	type test struct {
		f   function
		ops []array
	}
	tests := map[string]test{
		"GaussianLogProb": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.GaussianLogProb(x[0], x[1], x[2])
		}, []array{a, b, row}},
		"Conv2d": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.Conv2d(x[0], x[1], x[2], tensor.Convolution{Stride: [2]int64{1, 2}, Padding: [4]int64{1, 0, 1, 0},
				Dilation: [2]int64{2, 1}, Groups: 1})
		}, []array{randomOperand(6, 2, 2, 3, 5), randomOperand(7, 3, 2, 2, 2), row}},
		// two groups, and padding of one side alone
		"Conv2dUneven": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.Conv2d(s.Permute(x[0], 0, 3, 1, 2), x[1], tensor.Tensor{},
				tensor.Convolution{Stride: [2]int64{1, 1}, Padding: [4]int64{0, 1, 1, 0}, Dilation: [2]int64{1, 1},
					Groups: 2})
		}, []array{randomOperand(8, 1, 3, 2, 2), randomOperand(9, 4, 1, 2, 2)}},
		"Where": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.Where(s.GtScalar(x[0], 0), x[0], s.Exp(x[1]))
		}, []array{a, row}},
		"Linear": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor { return s.Linear(x[0], x[1], x[2]) },
			[]array{a, randomOperand(7, 4, 3), randomOperand(8, 4)}},
		"MLP": {func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.MLP(x[0], &tensor.Layers{
				Weights: []tensor.Tensor{x[1], x[3]}, Biases: []tensor.Tensor{x[2], {}},
				Activations: []tensor.Activation{tensor.Elu, tensor.Tanh},
			})
		}, []array{a, randomOperand(7, 4, 3), randomOperand(8, 4), randomOperand(9, 2, 4)}},
	}
	for act := range formulas {
		tests["Activate "+act.String()] = test{func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
			return s.Activate(act, x[0])
		}, []array{a}}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkGradients(t, test.f, test.ops...) })
	}
}
