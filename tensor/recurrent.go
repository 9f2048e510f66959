package tensor

// #cgo noescape gorl_recurrent
// #cgo nocallback gorl_recurrent
// #include "gorl.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// RecurrentKind is a kind of recurrent layer.
type RecurrentKind int32

// The kinds of recurrent layers, as PyTorch computes them. σ is the sigmoid, ⊙ multiplies values; in the stacked
// weights and biases the gates stand in the order given here.
const (
	// RNN computes h' = tanh(W_i x + b_i + W_h h + b_h).
	RNN RecurrentKind = C.GORL_RNN
	// GRU has the gates r, z, n (Cho et al. 2014): r and z are σ(W_i x + b_i + W_h h + b_h), n = tanh(W_i x + b_i +
	// r ⊙ (W_h h + b_h)), and h' = (1 − z) ⊙ n + z ⊙ h.
	GRU RecurrentKind = C.GORL_GRU
	// LSTM has the gates i, f, g, o (Hochreiter & Schmidhuber 1997): i, f and o are σ(W_i x + b_i + W_h h + b_h), g
	// the same with tanh, c' = f ⊙ c + i ⊙ g, and h' = o ⊙ tanh(c').
	LSTM RecurrentKind = C.GORL_LSTM
)

// Gates is the number of gates: a layer of H values has weights of Gates·H rows.
func (k RecurrentKind) Gates() int { return [...]int{RNN: 1, GRU: 3, LSTM: 4}[k] }

// States is the number of state vectors a layer: h, and for an [LSTM] c.
func (k RecurrentKind) States() int { return [...]int{RNN: 1, GRU: 1, LSTM: 2}[k] }

// RecurrentLayers is a stack of recurrent layers of one width H, each reading the results of the one before. It is
// used by one goroutine at a time.
type RecurrentLayers struct {
	Kind RecurrentKind
	// Weights has four tensors a layer, as PyTorch stacks them: weight_ih (G·H, inputs), weight_hh (G·H, H), bias_ih
	// (G·H) and bias_hh (G·H), with G [RecurrentKind.Gates].
	Weights []Tensor

	w []C.gorl_t
}

// Recurrent applies a stack of recurrent layers to sequences of length steps, and returns the last layer's results, a
// row for each of x, and the state after the last step, in one native call. x (L·B, in) is time-major: row t·B + b is
// step t of sequence b.
//
// state (B, S) is that before the first step: for every sequence the h of all layers side by side, then for an [LSTM]
// the c of all layers. ended (L·B, 1) is not 0 where an episode ended with a row: the next row then begins from a
// state of zeros, and so does last. A zero Tensor means zeros for either. Gradients flow from step to step, not
// across an end, and not into state; last has none.
//
// Where the parameters belong to a [Flat] on the CPU the stack is one node of the autograd graph, as [Scope.MLP] is;
// it can be differentiated twice by an x outside every Flat, not by the parameters. Its C++ is gorl_recurrent in
// csrc/recurrent.cc.
func (s *Scope) Recurrent(x, state, ended Tensor, length int, net *RecurrentLayers) (out, last Tensor) {
	const op = "Recurrent"
	if s.err != nil {
		return Tensor{}, Tensor{}
	}
	n := len(net.Weights)
	if n == 0 || n%4 != 0 {
		s.err = fmt.Errorf("tensor: %s: %d weights; want four a layer", op, n)
		return Tensor{}, Tensor{}
	}
	if len(net.w) != n {
		net.w = make([]C.gorl_t, n)
	}
	for i, w := range net.Weights {
		net.w[i] = handle(op, w)
	}
	out, last, _ = s.results(op, func(a, b, _ *C.gorl_t) C.gorl_err {
		return C.gorl_recurrent(C.int32_t(net.Kind), handle(op, x), optional(op, state), optional(op, ended),
			unsafe.SliceData(net.w), C.int32_t(n/4), C.int64_t(length), s.grad, a, b)
	}, x)
	runtime.KeepAlive(net)
	runtime.KeepAlive(state.T)
	runtime.KeepAlive(ended.T)
	return out, last
}
