package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// recurrentCase is a stack and what it is applied to.
type recurrentCase struct {
	kind                                      tensor.RecurrentKind
	layers, inputs, hidden, length, sequences int64
	state, ended                              bool
	x, initial, ends                          operand
	weights                                   []operand
}

func newRecurrentCase(kind tensor.RecurrentKind, layers, length int64, state, ended bool) recurrentCase {
	c := recurrentCase{kind: kind, layers: layers, inputs: 3, hidden: 5, length: length, sequences: 4, state: state,
		ended: ended}
	rows, g := length*c.sequences, int64(kind.Gates())*c.hidden
	c.x = randomOperand(1, rows, c.inputs)
	c.initial = randomOperand(2, c.sequences, int64(kind.States())*layers*c.hidden)
	c.ends = randomOperand(3, rows, 1)
	for i, x := range c.ends.x { // about a third of the rows end an episode
		c.ends.x[i] = 0
		if x > 0.4 {
			c.ends.x[i] = 1
		}
	}
	in := c.inputs
	for k := range layers {
		for i, shape := range [][]int64{{g, in}, {g, c.hidden}, {g}, {g}} {
			w := randomOperand(uint64(10+4*int(k)+i), shape...)
			w.x = apply(func(x float64) float64 { return x / 2 }, w.x) // larger ones amplify rounding
			c.weights = append(c.weights, w)
		}
		in = c.hidden
	}
	return c
}

// String says what is particular of the case.
func (c recurrentCase) String() string {
	return fmt.Sprintf("%v_%d_layers_%d_steps_state_%v_ended_%v",
		[]string{"rnn", "gru", "lstm"}[c.kind], c.layers, c.length, c.state, c.ended)
}

func recurrentCases() []recurrentCase {
	var all []recurrentCase
	for _, kind := range []tensor.RecurrentKind{tensor.RNN, tensor.GRU, tensor.LSTM} {
		for _, layers := range []int64{1, 2} {
			for _, length := range []int64{1, 6} {
				for _, both := range []bool{false, true} {
					all = append(all, newRecurrentCase(kind, layers, length, both, both))
				}
			}
		}
	}
	return all
}

// optional makes a tensor of an operand that is given, otherwise the zero Tensor.
func optional(s *tensor.Scope, o operand, given bool) tensor.Tensor {
	if !given {
		return tensor.Tensor{}
	}
	return tensor.From(s, float32s(o.x), o.shape...)
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
		g := int64(kind.Gates()) * 2
		ops := []operand{randomOperand(1, 6, 2)}
		for i := range 2 {
			for j, shape := range [][]int64{{g, 2}, {g, 2}, {g}, {g}} {
				ops = append(ops, randomOperand(uint64(5+4*i+j), shape...))
			}
		}
		t.Run(c.String(), func(t *testing.T) {
			checkGradients(t, func(s *tensor.Scope, x []tensor.Tensor) tensor.Tensor {
				state := tensor.From(s, numbers(3, 2*2*2*kind.States()), 2, int64(4*kind.States()))
				ended := tensor.From(s, []float64{0, 1, 1, 0, 0, 0}, 6, 1)
				out, _ := s.Recurrent(x[0], state, ended, 3, &tensor.RecurrentLayers{Kind: kind, Weights: x[1:]})
				return out
			}, ops...)
		})
	}
}

// TestRecurrentPenalty compares the gradient of a penalty on the input's gradient, which the node makes by
// differentiating twice, with that of separate operations.
func TestRecurrentPenalty(t *testing.T) {
	for _, c := range recurrentCases() {
		t.Run(c.String(), func(t *testing.T) {
			tensortest.CheckLive(t)
			keep := tensor.NoGrad()
			defer keep.Close()
			var want tensor.Tensor
			for _, node := range []bool{false, true} {
				own := tensor.NoGrad()
				var ws []tensor.Tensor
				var params []tensor.Parameter
				for i, w := range c.weights {
					ws = append(ws, own.RequireGrad(tensor.From(own, float32s(w.x), w.shape...)))
					params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: ws[i]})
				}
				s := tensor.NewScope()
				net := &tensor.RecurrentLayers{Kind: c.kind, Weights: ws}
				x := s.RequireGrad(tensor.From(s, float32s(c.x.x), c.x.shape...))
				loss := func() tensor.Tensor {
					out, _ := s.Recurrent(x, optional(s, c.initial, c.state), optional(s, c.ends, c.ended),
						int(c.length), net)
					penalty := s.Mean(s.Square(s.Grad(s.Sum(s.Square(out)), true, x)[0]))
					return s.Add(penalty, s.Mean(out))
				}
				var got tensor.Tensor
				if node {
					flat, err := tensor.NewFlat(params, tensor.CPU)
					if err != nil {
						t.Fatal(err)
					}
					s.Backward(loss())
					got = keep.Clone(flat.Grads)
					flat.Close()
				} else {
					var parts []tensor.Tensor
					for _, g := range s.Grad(loss(), false, ws...) {
						parts = append(parts, s.Reshape(g, -1))
					}
					got = keep.Clone(s.Cat(0, parts...))
					want = got
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
				sameTensor(t, "gradient", got, want)
				s.Close()
				own.Close()
			}
		})
	}
}

// Sequences without rows have no steps to go through, however long they are said to be.
func TestRecurrentWithoutRows(t *testing.T) {
	for _, grad := range []bool{false, true} {
		s := scope(t)
		net := &tensor.RecurrentLayers{Kind: tensor.GRU, Weights: []tensor.Tensor{s.Zeros(6, 3), s.Zeros(6, 2),
			s.Zeros(6), s.Zeros(6)}}
		x := s.Zeros(0, 3)
		if grad { // by separate operations
			s.RequireGrad(net.Weights[0])
		}
		out, last := s.Recurrent(x, tensor.Tensor{}, tensor.Tensor{}, math.MaxInt, net)
		wantTensor(t, "the results", s, out, []int64{0, 2}, nil, 0)
		wantTensor(t, "the state", s, last, []int64{0, 2}, nil, 0)
	}
}

func TestRecurrentErrors(t *testing.T) {
	tensortest.CheckLive(t)
	c := newRecurrentCase(tensor.GRU, 1, 6, true, true)
	for what, spoil := range map[string]func(s *tensor.Scope, x, state, ended *tensor.Tensor, length *int,
		net *tensor.RecurrentLayers){
		"are not sequences of 5 steps": func(_ *tensor.Scope, _, _, _ *tensor.Tensor, length *int,
			_ *tensor.RecurrentLayers) {
			*length = 5
		},
		"are not sequences of 0 steps": func(_ *tensor.Scope, _, _, _ *tensor.Tensor, length *int,
			_ *tensor.RecurrentLayers) {
			*length = 0
		},
		"the state has the shape": func(s *tensor.Scope, _, state, _ *tensor.Tensor, _ *int,
			_ *tensor.RecurrentLayers) {
			*state = s.Zeros(4, 10)
		},
		"the ends have the shape": func(s *tensor.Scope, _, _, ended *tensor.Tensor, _ *int,
			_ *tensor.RecurrentLayers) {
			*ended = s.Zeros(24)
		},
		"the input weight of layer 0 has the shape": func(s *tensor.Scope, x, _, _ *tensor.Tensor, _ *int,
			_ *tensor.RecurrentLayers) {
			*x = s.Zeros(24, 4)
		},
		"3 weights; want four a layer": func(_ *tensor.Scope, _, _, _ *tensor.Tensor, _ *int,
			net *tensor.RecurrentLayers) {
			net.Weights = net.Weights[:3]
		},
	} {
		s := tensor.NoGrad()
		net := &tensor.RecurrentLayers{Kind: c.kind}
		for _, w := range c.weights {
			net.Weights = append(net.Weights, tensor.From(s, float32s(w.x), w.shape...))
		}
		x, state, ended, length := optional(s, c.x, true), optional(s, c.initial, true), optional(s, c.ends, true), 6
		spoil(s, &x, &state, &ended, &length, net)
		s.Recurrent(x, state, ended, length, net)
		wantError(t, s.Err(), what)
		s.Close()
	}
}

// BenchmarkRecurrent is a step of acting, and a sequence with its gradient.
func BenchmarkRecurrent(b *testing.B) {
	for _, length := range []int64{1, 16} {
		b.Run(fmt.Sprintf("%d_steps", length), func(b *testing.B) {
			const n, h = 64, 64
			own := tensor.NoGrad()
			defer own.Close()
			var ws []tensor.Tensor
			var params []tensor.Parameter
			for i, shape := range [][]int64{{3 * h, 24}, {3 * h, h}, {3 * h}, {3 * h}} {
				o := randomOperand(uint64(i), shape...)
				ws = append(ws, own.RequireGrad(own.MulScalar(tensor.From(own, float32s(o.x), shape...), 0.1)))
				params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: ws[i]})
			}
			flat, err := tensor.NewFlat(params, tensor.CPU)
			if err != nil {
				b.Fatal(err)
			}
			defer flat.Close()
			net := &tensor.RecurrentLayers{Kind: tensor.GRU, Weights: ws}
			x, state := tensor.From(own, float32s(numbers(1, int(length)*n*24)), length*n, 24), own.Zeros(n, h)
			s := tensor.NoGrad()
			if length > 1 {
				s = tensor.NewScope()
			}
			defer s.Close()
			for b.Loop() {
				s.Reset()
				out, _ := s.Recurrent(x, state, tensor.Tensor{}, int(length), net)
				if length > 1 {
					s.Backward(s.Mean(out))
				}
			}
			if err := s.Err(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
