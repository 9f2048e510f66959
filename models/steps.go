package models

import (
	"slices"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Results are rows (n, width), with exceptions: permutations, convolutions and operations value by value on their
// results give pictures (n, channels, height, width). Pictures stay as they lie in memory until a step needs rows. A
// permuted picture is therefore never copied between the camera and the last convolution.

// rows returns a result as rows (n, width). It copies nothing unless a picture was permuted.
func (n *Net) rows(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if !n.pictures || s.Err() != nil || x.T == nil || len(tensor.Shape(x)) <= 2 {
		return x
	}
	return s.Reshape(x, tensor.Size(x, 0), -1)
}

// shaped returns a result with elements of the given shape, (n, shape...), as the step that reads it needs them. A
// picture that already has the shape is not touched.
func shaped(s *tensor.Scope, x tensor.Tensor, shape []int) tensor.Tensor {
	if s.Err() != nil {
		return x
	}
	sizes := []int64{tensor.Size(x, 0)}
	for _, d := range shape {
		sizes = append(sizes, int64(d))
	}
	if slices.Equal(sizes, tensor.Shape(x)) {
		return x
	}
	return s.Reshape(x, sizes...)
}

// Forward implements [Network].
func (n *Net) Forward(s *tensor.Scope, in Inputs) tensor.Tensor { return n.forward(s, in, nil) }

// forward computes the network. If states is not nil, it receives the states (B, width) of the recurrent steps, in
// order.
func (n *Net) forward(s *tensor.Scope, in Inputs, states *[]tensor.Tensor) tensor.Tensor {
	if n.whole != nil {
		return s.MLP(in.rows(n.states), n.whole)
	}
	steps := n.net.Steps
	// results[0] is the row, results[i+1] the result of step i, as Step.Inputs counts them.
	results := make([]tensor.Tensor, len(steps)+1)
	results[0] = in.rows(n.states)
	for i := 0; i < len(steps); i++ {
		var x []tensor.Tensor
		for _, j := range n.net.Sources(i) {
			if j == description.StateRow {
				x = append(x, in.States)
			} else {
				x = append(x, results[j])
			}
		}
		if c := n.chains[i]; c != nil {
			// A chain computes several steps at once. Nobody reads the results within, so they stay zero Tensors.
			results[c.last] = s.MLP(n.rows(s, x[0]), &c.layers)
			i = c.last - 1
		} else if m := n.stacks[i]; m != nil {
			var state tensor.Tensor
			if results[i+1], state = m.remember(s, n.rows(s, x[0]), in.Hidden); states != nil && state.T != nil {
				*states = append(*states, state)
			}
		} else {
			results[i+1] = n.step(s, i, x)
		}
		if s.Err() != nil {
			return tensor.Tensor{}
		}
	}
	return n.rows(s, results[len(steps)])
}

// step computes step i on its inputs. Linear and recurrent steps are computed by forward. A Number has no tensor:
// arithmetic, its only reader, takes the constant from the step.
func (n *Net) step(s *tensor.Scope, i int, x []tensor.Tensor) tensor.Tensor {
	switch st := n.net.Steps[i]; st.Op {
	case description.Number:
		return tensor.Tensor{}
	case description.Activate:
		return s.Activate(activationOf(st), x[0])
	case description.Conv2d:
		k := n.kernels[i]
		return s.Activate(k.activation, s.Conv2d(shaped(s, x[0], st.Shape), k.weight, k.bias, k.Convolution))
	case description.LayerNorm:
		// (x − mean) / √(variance + ε) · weight + bias, with the biased variance of each row.
		rows := n.rows(s, x[0])
		d := s.Sub(rows, s.MeanKeep(rows, -1))
		d = s.Div(d, s.Sqrt(s.AddScalar(s.MeanKeep(s.Square(d), -1), description.LayerNormEpsilon)))
		return s.Add(s.Mul(d, n.norms[i][0]), n.norms[i][1])
	case description.Permute:
		// Dims does not count the batch, which stays dimension 0.
		dims := []int64{0}
		for _, d := range st.Dims {
			dims = append(dims, int64(d)+1)
		}
		return s.Permute(shaped(s, x[0], st.Shape), dims...)
	case description.Columns:
		return s.Narrow(n.rows(s, x[0]), -1, int64(st.From), int64(st.To-st.From))
	case description.OneHot:
		return oneHot(s, n.rows(s, x[0]), st.Choices)
	case description.Concatenate:
		for k := range x {
			x[k] = n.rows(s, x[k])
		}
		return s.Cat(-1, x...)
	case description.Add, description.Sub, description.Mul, description.Div:
		return n.arithmetic(s, i, x[0], x[1])
	case description.Softmax:
		return s.Softmax(n.rows(s, x[0]), -1)
	default:
		return elementwise[st.Op](s, x[0])
	}
}

// elementwise are the operations that change every value by a function.
var elementwise = map[string]func(s *tensor.Scope, x tensor.Tensor) tensor.Tensor{
	description.Neg: (*tensor.Scope).Neg, description.Exp: (*tensor.Scope).Exp, description.Abs: (*tensor.Scope).Abs,
	description.Sin: (*tensor.Scope).Sin, description.Cos: (*tensor.Scope).Cos,
}

// oneHot turns columns of indices (n, len(choices)) into columns of zeros and ones (n, Σ choices). An index out of
// range equals no choice and gives zeros.
func oneHot(s *tensor.Scope, rows tensor.Tensor, choices []int) tensor.Tensor {
	parts := make([]tensor.Tensor, len(choices))
	for i, k := range choices {
		indices := s.As(s.Arange(int64(k)), tensor.Float32)
		parts[i] = s.As(s.Eq(s.Narrow(rows, -1, int64(i), 1), indices), tensor.Float32)
	}
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	return s.Cat(-1, parts...)
}

// arithmetic combines results a and b by +, −, · or /. Either of them may be a Number, whose tensor is then a zero
// Tensor.
func (n *Net) arithmetic(s *tensor.Scope, i int, a, b tensor.Tensor) tensor.Tensor {
	// number returns the constant of an input, if the input is a Number. Input 0 is the row and -1 the row of states.
	number := func(input int) (x float64, is bool) {
		j := n.net.Steps[i].Inputs[input]
		if j < 1 || n.net.Steps[j-1].Op != description.Number {
			return 0, false
		}
		return n.net.Steps[j-1].Number, true
	}
	left, first := number(0)
	right, second := number(1)
	op := n.net.Steps[i].Op
	// Sums and products commute: the number becomes their right side.
	if first && (op == description.Add || op == description.Mul) {
		a, right, second = b, left, true
	}
	switch {
	case second && op == description.Add:
		return s.AddScalar(a, right)
	case second && op == description.Sub:
		return s.AddScalar(a, -right)
	case second && op == description.Mul:
		return s.MulScalar(a, right)
	case second:
		return s.Div(a, s.Scalar(right))
	case first && op == description.Sub:
		return s.ScalarSub(left, b)
	case first:
		return s.Div(s.Scalar(left), b)
	}
	// Two results combine as rows: a result of width 1 broadcasts over the other's columns.
	return combined[op](s, n.rows(s, a), n.rows(s, b))
}

// combined are the operations of two results.
var combined = map[string]func(s *tensor.Scope, a, b tensor.Tensor) tensor.Tensor{
	description.Add: (*tensor.Scope).Add, description.Sub: (*tensor.Scope).Sub, description.Mul: (*tensor.Scope).Mul,
	description.Div: (*tensor.Scope).Div,
}
