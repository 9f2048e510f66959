package tensor

// #cgo noescape gorl_unary
// #cgo nocallback gorl_unary
// #cgo noescape gorl_binary
// #cgo nocallback gorl_binary
// #cgo noescape gorl_scalar
// #cgo nocallback gorl_scalar
// #cgo noescape gorl_clamp
// #cgo nocallback gorl_clamp
// #cgo noescape gorl_where
// #cgo nocallback gorl_where
// #cgo noescape gorl_gaussian_log_prob
// #cgo nocallback gorl_gaussian_log_prob
// #include "gorl.h"
import "C"

import "math"

func (s *Scope) unary(name string, op C.int32_t, a Tensor) Tensor {
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_unary(op, handle(name, a), s.grad, out)
	}, a)
}

func (s *Scope) binary(name string, op C.int32_t, a, b Tensor) Tensor {
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_binary(op, handle(name, a), handle(name, b), s.grad, out)
	}, a, b)
}

func (s *Scope) scalar(name string, op C.int32_t, a Tensor, x float64) Tensor {
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_scalar(op, handle(name, a), C.double(x), s.grad, out)
	}, a)
}

// Add returns a + b, broadcast.
func (s *Scope) Add(a, b Tensor) Tensor { return s.binary("Add", C.GORL_ADD, a, b) }

// Sub returns a − b, broadcast.
func (s *Scope) Sub(a, b Tensor) Tensor { return s.binary("Sub", C.GORL_SUB, a, b) }

// Mul returns a · b element by element, broadcast.
func (s *Scope) Mul(a, b Tensor) Tensor { return s.binary("Mul", C.GORL_MUL, a, b) }

// Div returns a / b element by element, broadcast.
func (s *Scope) Div(a, b Tensor) Tensor { return s.binary("Div", C.GORL_DIV, a, b) }

// Min returns the smaller of a and b element by element, broadcast.
func (s *Scope) Min(a, b Tensor) Tensor { return s.binary("Min", C.GORL_MINIMUM, a, b) }

// Max returns the larger of a and b element by element, broadcast.
func (s *Scope) Max(a, b Tensor) Tensor { return s.binary("Max", C.GORL_MAXIMUM, a, b) }

// MatMul returns the matrix product of a and b; leading dimensions are broadcast.
func (s *Scope) MatMul(a, b Tensor) Tensor { return s.binary("MatMul", C.GORL_MATMUL, a, b) }

// Eq returns a = b element by element, broadcast, as booleans.
func (s *Scope) Eq(a, b Tensor) Tensor { return s.binary("Eq", C.GORL_EQ, a, b) }

// AddScalar returns a + x.
func (s *Scope) AddScalar(a Tensor, x float64) Tensor {
	return s.scalar("AddScalar", C.GORL_ADD_S, a, x)
}

// MulScalar returns x · a.
func (s *Scope) MulScalar(a Tensor, x float64) Tensor {
	return s.scalar("MulScalar", C.GORL_MUL_S, a, x)
}

// ScalarSub returns x − a.
func (s *Scope) ScalarSub(x float64, a Tensor) Tensor {
	return s.scalar("ScalarSub", C.GORL_RSUB_S, a, x)
}

// EqScalar returns a = x as booleans.
func (s *Scope) EqScalar(a Tensor, x float64) Tensor { return s.scalar("EqScalar", C.GORL_EQ_S, a, x) }

// GtScalar returns a > x as booleans.
func (s *Scope) GtScalar(a Tensor, x float64) Tensor { return s.scalar("GtScalar", C.GORL_GT_S, a, x) }

// Neg returns −a.
func (s *Scope) Neg(a Tensor) Tensor { return s.unary("Neg", C.GORL_NEG, a) }

// Exp returns e^a.
func (s *Scope) Exp(a Tensor) Tensor { return s.unary("Exp", C.GORL_EXP, a) }

// Log returns the natural logarithm of a.
func (s *Scope) Log(a Tensor) Tensor { return s.unary("Log", C.GORL_LOG, a) }

// Sqrt returns the square root of a.
func (s *Scope) Sqrt(a Tensor) Tensor { return s.unary("Sqrt", C.GORL_SQRT, a) }

// Square returns a².
func (s *Scope) Square(a Tensor) Tensor { return s.unary("Square", C.GORL_SQUARE, a) }

// Abs returns |a|.
func (s *Scope) Abs(a Tensor) Tensor { return s.unary("Abs", C.GORL_ABS, a) }

// Sin returns the sine of a.
func (s *Scope) Sin(a Tensor) Tensor { return s.unary("Sin", C.GORL_SIN, a) }

// Cos returns the cosine of a.
func (s *Scope) Cos(a Tensor) Tensor { return s.unary("Cos", C.GORL_COS, a) }

// Tanh returns the hyperbolic tangent of a.
func (s *Scope) Tanh(a Tensor) Tensor { return s.unary("Tanh", C.GORL_TANH, a) }

// Sigmoid returns 1 / (1 + e^−a).
func (s *Scope) Sigmoid(a Tensor) Tensor { return s.unary("Sigmoid", C.GORL_SIGMOID, a) }

// Detach returns a tensor of the same memory that autograd does not follow.
func (s *Scope) Detach(a Tensor) Tensor { return s.unary("Detach", C.GORL_DETACH, a) }

// Clone returns a copy in memory of its own; autograd follows it.
func (s *Scope) Clone(a Tensor) Tensor { return s.unary("Clone", C.GORL_CLONE, a) }

// Contiguous returns a if its memory is row-major without gaps, otherwise a copy that is.
func (s *Scope) Contiguous(a Tensor) Tensor { return s.unary("Contiguous", C.GORL_CONTIGUOUS, a) }

// Clamp returns a limited to [lo, hi]; an infinite limit is none.
func (s *Scope) Clamp(a Tensor, lo, hi float64) Tensor {
	return s.result("Clamp", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_clamp(handle("Clamp", a), C.double(lo), C.double(hi), s.grad, out)
	}, a)
}

// ClampMin returns max(a, lo).
func (s *Scope) ClampMin(a Tensor, lo float64) Tensor { return s.Clamp(a, lo, math.Inf(1)) }

// Where returns a where condition is true and b elsewhere, broadcast.
func (s *Scope) Where(condition, a, b Tensor) Tensor {
	return s.result("Where", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_where(handle("Where", condition), handle("Where", a), handle("Where", b), s.grad, out)
	}, condition, a, b)
}

// GaussianLogProb returns the log-density of action under independent normal distributions, element by element:
// −(a−μ)²/(2σ²) − ln σ − ½ ln 2π with σ = e^logStd. Shapes broadcast.
func (s *Scope) GaussianLogProb(action, mean, logStd Tensor) Tensor {
	const op = "GaussianLogProb"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_gaussian_log_prob(handle(op, action), handle(op, mean), handle(op, logStd), s.grad, out)
	}, action, mean, logStd)
}
