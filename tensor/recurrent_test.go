package tensor_test

import (
	"fmt"
	"testing"

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
// sequences, with difference quotients.
func TestRecurrentGradients(t *testing.T) {
	tensortest.CheckLive(t)
	for _, kind := range []tensor.RecurrentKind{tensor.RNN, tensor.GRU, tensor.LSTM} {
		c := recurrentCase{kind: kind, layers: 2, inputs: 2, hidden: 2, length: 3, sequences: 2}
		ops := []array{randomOperand(1, 6, 2)}
		for i, shape := range c.shapes() {
			ops = append(ops, randomOperand(uint64(5+i), shape...))
		}
		t.Run(fmt.Sprint(kind.Gates(), " gates"), func(t *testing.T) {
			checkGradients(t, func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
				state := tensor.From(s, numbers(3, 2*2*2*kind.States()), 2, int64(4*kind.States()))
				ended := tensor.From(s, []float64{0, 1, 1, 0, 0, 0}, 6, 1)
				out, _ := s.Recurrent(x[0], state, ended, 3, &tensor.RecurrentLayers{Kind: kind, Weights: x[1:]})
				return out
			}, ops...)
		})
	}
}

// The gradient of a penalty on the input's gradient, which the node makes by differentiating twice, is that of separate
// operations.
func TestRecurrentPenalty(t *testing.T) {
	for _, kind := range []tensor.RecurrentKind{tensor.RNN, tensor.GRU, tensor.LSTM} {
		t.Run(fmt.Sprint(kind.Gates(), " gates"), func(t *testing.T) {
			c := recurrentCase{kind: kind, layers: 2, inputs: 3, hidden: 5, length: 6, sequences: 4}
			s := scope(t)
			var ws []tensor.Tensor
			var params []tensor.Parameter
			for i, shape := range c.shapes() {
				o := randomOperand(uint64(10+i), shape...)
				w := s.RequireGrad(s.MulScalar(tensor.From(s, float32s(o.x), shape...), 0.5))
				ws, params = append(ws, w), append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: w})
			}
			x := s.RequireGrad(tensor.From(s, float32s(numbers(1, 24*3)), 24, 3))
			state := tensor.From(s, float32s(numbers(2, 4*10*kind.States())), 4, int64(10*kind.States()))
			ended := s.As(s.GtScalar(tensor.From(s, float32s(numbers(3, 24)), 24, 1), 0.4), tensor.Float32)
			loss := func() tensor.Tensor {
				out, _ := s.Recurrent(x, state, ended, int(c.length), &tensor.RecurrentLayers{Kind: kind, Weights: ws})
				return s.Add(s.Mean(s.Square(s.Grad(s.Sum(s.Square(out)), true, x)[0])), s.Mean(out))
			}
			var want []tensor.Tensor
			for _, g := range s.Grad(loss(), false, ws...) {
				want = append(want, s.Reshape(g, -1))
			}
			flat := newFlat(t, params)
			s.Backward(loss())
			got, all := tensortest.Float64s(t, s, flat.Grads), tensortest.Float64s(t, s, s.Cat(0, want...))
			if e := distance(got, all); !(e <= 2e-5) {
				t.Errorf("the gradients differ by %.3g of their size", e)
			}
		})
	}
}
