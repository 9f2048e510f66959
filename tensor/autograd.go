package tensor

// #include "gorl.h"
import "C"

import "unsafe"

// Backward adds the gradient of loss, a scalar, to the gradients of the parameters it was computed from.
func (s *Scope) Backward(loss Tensor) {
	s.effect("Backward", func() C.gorl_err { return C.gorl_backward(handle("Backward", loss)) }, loss)
}

// Grad returns the gradient of the sum of output with respect to each input. With createGraph the gradients are
// themselves differentiable, as the gradient penalty needs.
func (s *Scope) Grad(output Tensor, createGraph bool, inputs ...Tensor) []Tensor {
	out := make([]Tensor, len(inputs))
	if s.err != nil {
		return out
	}
	o := handle("Grad", output)
	hs, res := handles("Grad", inputs), make([]C.gorl_t, len(inputs))
	msg := C.gorl_grad(&o, 1, unsafe.SliceData(hs), C.int32_t(len(hs)), flag(createGraph), unsafe.SliceData(res))
	s.err = failure("Grad", msg, append([]Tensor{output}, inputs...)...)
	for i := 0; s.err == nil && i < len(out); i++ {
		out[i] = s.own(res[i])
	}
	return out
}

// RequireGrad makes autograd follow a leaf tensor, and returns it.
func (s *Scope) RequireGrad(a Tensor) Tensor {
	s.effect("RequireGrad", func() C.gorl_err { return C.gorl_requires_grad_(handle("RequireGrad", a), 1) }, a)
	if s.err != nil {
		return Tensor{}
	}
	return a
}

// GradOf returns the gradient that Backward has accumulated for a leaf tensor.
func (s *Scope) GradOf(a Tensor) Tensor {
	return s.result("GradOf", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_grad_of(handle("GradOf", a), out)
	}, a)
}
