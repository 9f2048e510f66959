package tensor_test

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// recurrentCase is a stack and what it is applied to.
type recurrentCase struct {
	kind                                      tensor.RecurrentKind
	layers, inputs, hidden, length, sequences int64
}

// shapes returns the shapes of the parameters, four a layer.
func (c recurrentCase) shapes() (all [][]int64) {
	g, in := int64(c.kind.Gates())*c.hidden, c.inputs
	for range c.layers {
		all, in = append(all, []int64{g, in}, []int64{g, c.hidden}, []int64{g}, []int64{g}), c.hidden
	}
	return all
}

// byHand computes what Recurrent does from its formulas, one operation at a time.
func (c recurrentCase) byHand(s *tensor.Scope, x, state, ended tensor.Tensor, w []tensor.Tensor) (out,
	last tensor.Tensor) {
	n, h := c.sequences, c.hidden
	column := func(i int64) tensor.Tensor {
		if state.T == nil {
			return s.Full(tensor.TypeOf(x), 0, n, h)
		}
		return s.Narrow(state, 1, i*h, h)
	}
	var hs, cs []tensor.Tensor
	for k := range c.layers {
		hidden, cell := column(k), tensor.Tensor{}
		if c.kind == tensor.LSTM {
			cell = column(c.layers + k)
		}
		p := w[4*k:]
		var outs []tensor.Tensor
		for t := range c.length {
			a := s.Linear(s.Narrow(x, 0, t*n, n), p[0], p[2])
			b := s.Linear(hidden, p[1], p[3])
			gate := func(y tensor.Tensor, i int64) tensor.Tensor { return s.Narrow(y, 1, i*h, h) }
			both := func(i int64) tensor.Tensor { return s.Add(gate(a, i), gate(b, i)) }
			switch c.kind {
			case tensor.RNN:
				hidden = s.Tanh(both(0))
			case tensor.GRU:
				r, z := s.Sigmoid(both(0)), s.Sigmoid(both(1))
				candidate := s.Tanh(s.Add(gate(a, 2), s.Mul(r, gate(b, 2))))
				hidden = s.Add(candidate, s.Mul(z, s.Sub(hidden, candidate)))
			case tensor.LSTM:
				cell = s.Add(s.Mul(s.Sigmoid(both(1)), cell), s.Mul(s.Sigmoid(both(0)), s.Tanh(both(2))))
				hidden = s.Mul(s.Sigmoid(both(3)), s.Tanh(cell))
			}
			outs = append(outs, hidden)
			if ended.T != nil {
				alive := s.ScalarSub(1, s.Narrow(ended, 0, t*n, n))
				hidden = s.Mul(hidden, alive)
				if cell.T != nil {
					cell = s.Mul(cell, alive)
				}
			}
		}
		hs = append(hs, hidden)
		if cell.T != nil {
			cs = append(cs, cell)
		}
		x = s.Cat(0, outs...)
	}
	return x, s.Cat(1, append(hs, cs...)...)
}

// TestRecurrentGradients compares first and second derivatives by the input and the parameters, through resets within
// sequences, with difference quotients, and the gradient of a penalty on the input's gradient that the node makes, by
// differentiating twice, with libtorch's.
func TestRecurrentGradients(t *testing.T) {
	for _, kind := range []tensor.RecurrentKind{tensor.RNN, tensor.GRU, tensor.LSTM} {
		t.Run(fmt.Sprint(kind.Gates(), " gates"), func(t *testing.T) {
			s, c := scope(t), recurrentCase{kind: kind, layers: 2, inputs: 2, hidden: 2, length: 3, sequences: 2}
			ops := []array{randomOperand(1, 6, 2)}
			for i, shape := range c.shapes() {
				ops = append(ops, randomOperand(uint64(5+i), shape...))
			}
			apply := func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
				state := tensor.From(s, numbers(3, 2*2*2*kind.States()), 2, int64(4*kind.States()))
				ended := tensor.From(s, []float64{0, 1, 1, 0, 0, 0}, 6, 1)
				d := tensor.TypeOf(x[0])
				out, _ := s.Recurrent(x[0], s.As(state, d), s.As(ended, d), 3,
					&tensor.RecurrentLayers{Kind: kind, Weights: x[1:]})
				return out
			}
			checkGradients(t, apply, ops...)

			var x []tensor.Tensor
			var params []tensor.Parameter
			for i, o := range ops {
				x = append(x, s.RequireGrad(tensor.From(s, float32s(o.x), o.shape...)))
				params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: x[i]})
			}
			loss := func() tensor.Tensor {
				out := apply(s, x)
				return s.Add(s.Mean(s.Square(s.Grad(s.Sum(s.Square(out)), true, x[0])[0])), s.Mean(out))
			}
			var want []float64
			for _, g := range s.Grad(loss(), false, x[1:]...) {
				want = append(want, tensortest.Float64s(t, s, g)...)
			}
			flat := newFlat(t, params[1:])
			s.Backward(loss())
			e := distance(tensortest.Float64s(t, s, flat.Grads), want)
			must.Not(t, !(e <= 2e-5), "the gradients differ by %.3g of their size", e)
		})
	}
}
