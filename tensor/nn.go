package tensor

// #cgo noescape gorl_mlp
// #cgo nocallback gorl_mlp
// #cgo noescape gorl_linear
// #cgo nocallback gorl_linear
// #cgo noescape gorl_conv2d
// #cgo nocallback gorl_conv2d
// #include "gorl.h"
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Activation is an elementwise function between linear layers.
type Activation int32

// The activations, by their names in PyTorch.
const (
	Identity  Activation = C.GORL_IDENTITY
	Relu      Activation = C.GORL_RELU
	Elu       Activation = C.GORL_ELU
	Tanh      Activation = C.GORL_TANH
	Sigmoid   Activation = C.GORL_SIGMOID
	LeakyRelu Activation = C.GORL_LEAKY_RELU
	Softplus  Activation = C.GORL_SOFTPLUS
	Softsign  Activation = C.GORL_SOFTSIGN
	Gelu      Activation = C.GORL_GELU
	Silu      Activation = C.GORL_SILU
	Selu      Activation = C.GORL_SELU
)

var activationNames = map[Activation]string{
	Identity: "identity", Relu: "relu", Elu: "elu", Tanh: "tanh", Sigmoid: "sigmoid", LeakyRelu: "leaky_relu",
	Softplus: "softplus", Softsign: "softsign", Gelu: "gelu", Silu: "silu", Selu: "selu",
}

// ParseActivation returns the activation of a name that [Activation.String] gives. The empty name is [Identity].
// description.ParseActivation turns other notations into these names.
func ParseActivation(name string) (Activation, error) {
	for a, known := range activationNames {
		if known == cmp.Or(name, "identity") {
			return a, nil
		}
	}
	return Identity, fmt.Errorf("tensor: unknown activation %q: want one of %s", name,
		strings.Join(slices.Sorted(maps.Values(activationNames)), ", "))
}

// String returns the activation's name.
func (a Activation) String() string {
	return cmp.Or(activationNames[a], fmt.Sprintf("activation(%d)", int32(a)))
}

// Activate applies an activation.
func (s *Scope) Activate(f Activation, a Tensor) Tensor {
	if f == Identity {
		return a
	}
	return s.unary(f.String(), C.int32_t(f), a)
}

// Linear returns x·Wᵀ + b for x (n, in), w (out, in) and b (out); b may be the zero Tensor.
func (s *Scope) Linear(x, w, b Tensor) Tensor {
	const op = "Linear"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_linear(handle(op, x), handle(op, w), optional(op, b), s.lower(), s.grad, out)
	}, x, w, b)
}

// Convolution says how a kernel moves over a picture.
type Convolution struct {
	// Stride is its step downwards and to the right, Dilation the distance of its elements; both at least 1.
	Stride, Dilation [2]int64
	// Padding is how many zeros surround the picture: at the top, left, bottom and right.
	Padding [4]int64
	// Groups is how many parts of the channels are convolved apart from each other, 1 for all together.
	Groups int64
}

// Conv2d is the cross-correlation of pictures x (n, in, height, width) with the kernels w (out, in/groups, rows,
// columns), plus b (out), which may be the zero Tensor. The result (n, out, height', width') is in the order of memory
// of x, which may be a permuted view.
func (s *Scope) Conv2d(x, w, b Tensor, c Convolution) Tensor {
	const op = "Conv2d"
	geometry := slices.Concat(c.Stride[:], c.Padding[:], c.Dilation[:], []int64{c.Groups})
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		p, _ := ints(geometry)
		return C.gorl_conv2d(handle(op, x), handle(op, w), optional(op, b), p, s.lower(), s.grad, out)
	}, x, w, b)
}

// Layers is a multilayer perceptron ready to be applied by one native call: layer i computes f(x·Wᵀ + b). It is used
// by one goroutine at a time.
type Layers struct {
	Weights, Biases []Tensor // a zero bias is none
	Activations     []Activation

	w, b []C.gorl_t
	f    []C.int32_t
}

// pack brings the handles in line with the tensors, which change when parameters are kept or adopted.
func (net *Layers) pack(op string) error {
	n := len(net.Weights)
	if n == 0 || len(net.Biases) != n || len(net.Activations) != n {
		return fmt.Errorf("tensor: %s: %d weights, %d biases and %d activations; want as many of each", op, n,
			len(net.Biases), len(net.Activations))
	}
	if len(net.w) != n {
		net.w, net.b, net.f = make([]C.gorl_t, n), make([]C.gorl_t, n), make([]C.int32_t, n)
	}
	for i := range net.Weights {
		net.w[i], net.b[i] = handle(op, net.Weights[i]), optional(op, net.Biases[i])
		net.f[i] = C.int32_t(net.Activations[i])
	}
	return nil
}

// MLP applies every layer in one native call. x is (n, in), the result (n, out). Where the parameters belong to a
// [Flat] and x needs no gradient, the whole perceptron is one node of the autograd graph, which [Scope.Backward] lets
// add to the flat gradients at once; [Scope.Grad] by such parameters is then an error.
func (s *Scope) MLP(x Tensor, net *Layers) Tensor {
	const op = "MLP"
	if s.err == nil {
		s.err = net.pack(op)
	}
	defer runtime.KeepAlive(net)
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_mlp(handle(op, x), unsafe.SliceData(net.w), unsafe.SliceData(net.b), unsafe.SliceData(net.f),
			C.int32_t(len(net.w)), s.lower(), s.grad, out)
	}, x)
}
