package models

import (
	"math"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Hidden is what networks with memory read in addition to a batch. The rows are then L steps of B sequences,
// time-major: row t·B + b is step t of sequence b. The zero value is one step (L = 1) from states of zeros, so callers
// of networks without memory can leave it out.
type Hidden struct {
	// State is (B, HiddenSize): the states before the first step. A zero Tensor stands for zeros.
	State tensor.Tensor
	// Length is L; 0 means 1.
	Length int
	// Ended is (L·B, 1). It is 1 if an episode ended with the row, so that the next step of the sequence begins from a
	// state of zeros. A zero Tensor means that no episode ended.
	Ended tensor.Tensor
}

// length returns L, which is 1 in the zero value.
func (h Hidden) length() int { return max(1, h.Length) }

// Recurrent is implemented by networks that may have memory: what they compute from a row depends on the rows before. A
// user's network that implements Recurrent can be the policy's or the value network of any agent. Gradients flow from
// step to step of a sequence, not into the state before it (truncated backpropagation through time).
type Recurrent interface {
	Network
	// HiddenSize is the width of a row of the network's state. 0 means that the network has no memory.
	HiddenSize() int
	// ForwardHidden is Forward that also returns the states (B, HiddenSize) after the last step, without gradient. They
	// are a zero Tensor if the network has no memory.
	ForwardHidden(s *tensor.Scope, in Inputs) (out, hidden tensor.Tensor)
}

// HiddenSize returns the width of the state that a network or a policy keeps from step to step. It is 0 unless network
// implements [Recurrent] or [RecurrentPolicy].
func HiddenSize(network any) int {
	if r, ok := network.(interface{ HiddenSize() int }); ok {
		return r.HiddenSize()
	}
	return 0
}

// ForwardHidden applies a network that may have memory. hidden is a zero Tensor if net does not implement [Recurrent].
func ForwardHidden(s *tensor.Scope, net Network, in Inputs) (out, hidden tensor.Tensor) {
	if r, ok := net.(Recurrent); ok {
		return r.ForwardHidden(s, in)
	}
	return net.Forward(s, in), tensor.Tensor{}
}

// RecurrentLayer is a stack of recurrent layers, made by [GRU], [LSTM] or [RNN].
type RecurrentLayer = description.RecurrentLayer

// GRU returns gated recurrent units (Cho et al. 2014) with the given number of values. layers is the number of layers,
// default 1. A GRU remembers about as well as an [LSTM] with a quarter fewer parameters.
func GRU(hidden int, layers ...int) RecurrentLayer { return stack(description.GRU, hidden, layers) }

// LSTM returns long short-term memory (Hochreiter & Schmidhuber 1997), otherwise like [GRU].
func LSTM(hidden int, layers ...int) RecurrentLayer { return stack(description.LSTM, hidden, layers) }

// RNN returns plain recurrent layers with tanh, otherwise like [GRU]. They forget within about ten steps.
func RNN(hidden int, layers ...int) RecurrentLayer { return stack(description.RNN, hidden, layers) }

// stack makes the layer of the three constructors. layers is their optional argument.
func stack(kind string, hidden int, layers []int) RecurrentLayer {
	l := RecurrentLayer{Kind: kind, HiddenSize: hidden, Layers: 1}
	if n := len(layers); n > 0 {
		l.Layers = layers[n-1]
	}
	return l
}

// recurrentKinds maps the operations of descriptions to the kinds of the native layers.
var recurrentKinds = map[string]tensor.RecurrentKind{
	description.RNN: tensor.RNN, description.GRU: tensor.GRU, description.LSTM: tensor.LSTM,
}

// newRecurrent returns the initial arrays of a recurrent step, in the order of its Weights. By default they start as in
// PyTorch, uniform in ±1/√hidden. Orthogonal weights have a gain of 1 for each gate and biases of 0, as
// Stable-Baselines3 and CleanRL initialise an LSTM.
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
			// Each gate gets an orthogonal block of its own. One orthogonal matrix over all gates would not make the
			// map of a single gate orthogonal.
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

// memory holds what a recurrent step is computed with. compile makes one for each recurrent step.
type memory struct {
	// layers are the native layers with the step's weights.
	layers tensor.RecurrentLayers
	// from is the step's first column in a row of the network's state.
	from int64
	// width is the number of these columns. It is 0 with frames.
	width int64
	// frames is the number of frames in a row, see [RecurrentLayer]. 0 means that a row is one step of a sequence.
	frames int64
}

// remember computes a recurrent step on rows x. It returns the result and the step's state after the last row. With
// frames the state is a zero Tensor, because nothing is kept between rows.
func (m *memory) remember(s *tensor.Scope, x tensor.Tensor, h Hidden) (out, state tensor.Tensor) {
	if s.Err() != nil {
		return tensor.Tensor{}, tensor.Tensor{}
	}
	// The native layers are time-major, so (n, K·w) becomes (K·n, w): the first frame of all rows, then the second, and
	// so on.
	if m.frames > 0 {
		n := tensor.Size(x, 0)
		x = s.Reshape(s.Transpose(s.Reshape(x, n, m.frames, -1), 0, 1), m.frames*n, -1)
		out, _ = s.Recurrent(x, tensor.Tensor{}, tensor.Tensor{}, int(m.frames), &m.layers)
		return s.Narrow(out, 0, (m.frames-1)*n, n), tensor.Tensor{}
	}
	before := h.State
	// The row of the network's state also holds the states of other steps.
	if before.T != nil && tensor.Size(before, -1) != m.width {
		before = s.Narrow(before, -1, m.from, m.width)
	}
	return s.Recurrent(x, before, h.Ended, h.length(), &m.layers)
}

// ForwardHidden implements [Recurrent]. The states of the recurrent steps lie side by side in the order of the steps,
// as memory.from counts them.
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
