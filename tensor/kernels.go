package tensor

// #cgo noescape gorl_gae
// #cgo nocallback gorl_gae
// #cgo noescape gorl_scaler_forward
// #cgo nocallback gorl_scaler_forward
// #include "gorl.h"
import "C"

// GAE computes generalised advantage estimates (Schulman et al. 2016, eq. 16) backwards over the first dimension, in
// one native call. Everything has the shape (T, N, 1):
//
//	A[t] = r[t] − V[t] + γ·( bootstrap[t]·V'[t] + λ·chain[t]·A[t+1] ),  A[T] = 0
//
// nextValues V'[t] is the value of what followed step t, bootstrap[t] says how much of it counts (0 at terminations)
// and chain[t] whether the estimate goes on beyond the step (0 where the episode ended).
func (s *Scope) GAE(rewards, values, nextValues, bootstrap, chain Tensor, gamma, lambda float64) Tensor {
	const op = "GAE"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_gae(handle(op, rewards), handle(op, values), handle(op, nextValues), handle(op, bootstrap),
			handle(op, chain), C.double(gamma), C.double(lambda), out)
	}, rewards, values, nextValues, bootstrap, chain)
}

// ScalerUpdate merges the rows of x (…, d) into a running mean (d), variance (d) and count (1), all float64, in
// place. With bessel the batch's variance has the divisor n−1, as in skrl; otherwise n, which makes the merge exact.
// A count greater than freezeAfter keeps everything as it is; 0 is no limit.
func (s *Scope) ScalerUpdate(x, mean, variance, count Tensor, bessel bool, freezeAfter float64) {
	const op = "ScalerUpdate"
	s.effect(op, func() C.gorl_err {
		return C.gorl_scaler_update_(handle(op, x), handle(op, mean), handle(op, variance), handle(op, count),
			flag(bessel), C.double(freezeAfter))
	}, x, mean, variance, count)
}

// ScalerForward returns clamp((x − mean) / (√variance + eps), −clip, clip) as float32.
func (s *Scope) ScalerForward(x, mean, variance Tensor, eps, clip float64) Tensor {
	const op = "ScalerForward"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_scaler_forward(handle(op, x), handle(op, mean), handle(op, variance),
			C.double(eps), C.double(clip), out)
	}, x, mean, variance)
}

// ScalerInverse returns √variance · clamp(x, −clip, clip) + mean as float32.
func (s *Scope) ScalerInverse(x, mean, variance Tensor, clip float64) Tensor {
	const op = "ScalerInverse"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_scaler_inverse(handle(op, x), handle(op, mean), handle(op, variance), C.double(clip), out)
	}, x, mean, variance)
}
