package models

import (
	"math"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Hidden is what networks with memory read besides a batch. The rows are then L steps of B sequences, time-major: row
// t·B + b is step t of sequence b. The zero value is one step (L = 1) from states of zeros, so networks without memory
// need not know of it.
type Hidden struct {
	// State is (B, HiddenSize): the states before the first step; a zero Tensor is zeros.
	State tensor.Tensor
	// Length is L; 0 means 1.
	Length int
	// Ended is (L·B, 1): 1 where an episode ended with a row, so that the next one begins from a state of zeros; a zero
	// Tensor where none did.
	Ended tensor.Tensor
}

// length is L.
func (h Hidden) length() int { return max(1, h.Length) }

// Recurrent is implemented by networks that may have memory: what they compute from a row depends on the rows before.
// A user's network that implements Recurrent can be a policy's or a value network of any agent. Gradients flow from
// step to step of a sequence, not into the state before it.
type Recurrent interface {
	Network
	// HiddenSize is the width of a row of the network's state; 0 says that it has no memory.
	HiddenSize() int
	// ForwardHidden is Forward that also returns the states after the last step,
	// (B, HiddenSize), without gradient; a zero Tensor where the network has no memory.
	ForwardHidden(s *tensor.Scope, in Inputs) (out, hidden tensor.Tensor)
}

// HiddenSize is the width of the state that a network or a policy keeps from step to step: of a [Recurrent] and a
// [RecurrentPolicy] what they say, and 0 of others.
func HiddenSize(network any) int {
	if r, ok := network.(interface{ HiddenSize() int }); ok {
		return r.HiddenSize()
	}
	return 0
}

// ForwardHidden applies a network that may have memory, see [Recurrent].
func ForwardHidden(s *tensor.Scope, net Network, in Inputs) (out, hidden tensor.Tensor) {
	if r, ok := net.(Recurrent); ok {
		return r.ForwardHidden(s, in)
	}
	return net.Forward(s, in), tensor.Tensor{}
}

// RecurrentLayer is a stack of recurrent layers, made by [GRU], [LSTM] or [RNN].
type RecurrentLayer = description.RecurrentLayer

// GRU returns gated recurrent units (Cho et al. 2014) of so many values, in one layer or as many as given. A GRU
// remembers about as well as an [LSTM] with a quarter fewer parameters.
func GRU(hidden int, layers ...int) RecurrentLayer { return stack(description.GRU, hidden, layers) }

// LSTM returns long short-term memory (Hochreiter & Schmidhuber 1997), otherwise like [GRU].
func LSTM(hidden int, layers ...int) RecurrentLayer { return stack(description.LSTM, hidden, layers) }

// RNN returns plain recurrent layers with tanh, otherwise like [GRU]. They forget within some ten steps.
func RNN(hidden int, layers ...int) RecurrentLayer { return stack(description.RNN, hidden, layers) }

func stack(kind string, hidden int, layers []int) RecurrentLayer {
	l := RecurrentLayer{Kind: kind, HiddenSize: hidden, Layers: 1}
	if n := len(layers); n > 0 {
		l.Layers = layers[n-1]
	}
	return l
}

// recurrentKinds are the kinds by their names.
var recurrentKinds = map[string]tensor.RecurrentKind{
	description.RNN: tensor.RNN, description.GRU: tensor.GRU, description.LSTM: tensor.LSTM,
}

// newRecurrent returns the arrays of a stack. They start as PyTorch's do, uniform in ±1/√hidden. Orthogonal weights
// have a gain of 1 for each gate and biases of 0, as Stable-Baselines3 and CleanRL start an LSTM.
func newRecurrent(scope *tensor.Scope, gen *tensor.Generator, s description.Step, arrays []description.Array,
	from start) (made []tensor.Tensor) {
	for _, a := range arrays {
		var p tensor.Tensor
		switch {
		case !from.orthogonal:
			bound := 1 / math.Sqrt(float64(a.Fan))
			p = scope.Rand(gen, a.Shape...)
			scope.Scale(p, 2*bound)
			p = scope.AddScalar(p, -bound)
		case len(a.Shape) == 1:
			p = scope.Zeros(a.Shape...)
		default:
			blocks := make([]tensor.Tensor, s.Gates())
			for i := range blocks {
				blocks[i] = orthogonal(scope, gen, int(a.Shape[1]), s.Outputs, 1)
			}
			p = scope.Cat(0, blocks...)
		}
		if scope.Err() != nil {
			return nil
		}
		made = append(made, scope.RequireGrad(p))
	}
	return made
}

// memory is what a recurrent step is computed with.
type memory struct {
	layers tensor.RecurrentLayers
	from   int64 // its first column in a row of the network's state
	width  int64 // how many there are
	frames int64
}

// remember computes a recurrent step. It returns its result, and its state after the last step; with frames none.
func (m *memory) remember(s *tensor.Scope, x tensor.Tensor, h Hidden) (out, state tensor.Tensor) {
	if s.Err() != nil {
		return tensor.Tensor{}, tensor.Tensor{}
	}
	if m.frames > 0 { // (n, K·w) → (K·n, w), one frame of all rows after the other
		n := tensor.Size(x, 0)
		x = s.Reshape(s.Transpose(s.Reshape(x, n, m.frames, -1), 0, 1), m.frames*n, -1)
		out, _ = s.Recurrent(x, tensor.Tensor{}, tensor.Tensor{}, int(m.frames), &m.layers)
		return s.Narrow(out, 0, (m.frames-1)*n, n), tensor.Tensor{}
	}
	before := h.State
	if before.T != nil && tensor.Size(before, -1) != m.width { // other steps have states beside it
		before = s.Narrow(before, -1, m.from, m.width)
	}
	return s.Recurrent(x, before, h.Ended, h.length(), &m.layers)
}

// ForwardHidden implements [Recurrent].
func (n *Net) ForwardHidden(s *tensor.Scope, in Inputs) (out, hidden tensor.Tensor) {
	var states []tensor.Tensor
	out = n.forward(s, in, &states)
	switch {
	case s.Err() != nil:
		return tensor.Tensor{}, tensor.Tensor{}
	case len(states) == 0:
		return out, tensor.Tensor{}
	case len(states) == 1:
		return out, states[0]
	}
	return out, s.Cat(-1, states...)
}
