package tensor

// #cgo noescape gorl_critic
// #cgo nocallback gorl_critic
// #cgo noescape gorl_gaussian_log_prob_sum
// #cgo nocallback gorl_gaussian_log_prob_sum
// #cgo noescape gorl_categorical
// #cgo nocallback gorl_categorical
// #cgo noescape gorl_surrogate
// #cgo nocallback gorl_surrogate
// #cgo noescape gorl_value_loss
// #cgo nocallback gorl_value_loss
// #cgo noescape gorl_cross_entropy
// #cgo nocallback gorl_cross_entropy
// #cgo noescape gorl_decay
// #cgo nocallback gorl_decay
// #cgo noescape gorl_positive_share
// #cgo nocallback gorl_positive_share
// #cgo noescape gorl_tally_
// #cgo nocallback gorl_tally_
// #include "gorl.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// The operations of this file are formulas that training repeats in every minibatch, each as one node of the autograd
// graph: a small network spends most of an update on the bookkeeping of separate operations. In the engine they are
// loops with a backward written by hand, elsewhere the separate operations. Their gradients cannot be differentiated
// again.

// Critic applies a perceptron with one linear output to x (n, in) and returns the outputs (n, 1) together with the mean
// over rows of the squared gradient of the output by its input, E[‖∂y/∂x‖²], which is AMP's gradient penalty.
// No gradient flows to x. Its C++ is gorl_critic in csrc/perceptron.cc.
func (s *Scope) Critic(x Tensor, net *Layers) (out, penalty Tensor) {
	const op = "Critic"
	if s.err == nil {
		s.err = net.pack(op)
	}
	out, penalty, _ = s.results(op, func(a, b, _ *C.gorl_t) C.gorl_err {
		return C.gorl_critic(handle(op, x), unsafe.SliceData(net.w), unsafe.SliceData(net.b), unsafe.SliceData(net.f),
			C.int32_t(len(net.w)), s.lower(), a, b)
	}, x)
	runtime.KeepAlive(net)
	return out, penalty
}

// GaussianLogProbSum is [Scope.GaussianLogProb] summed over the last dimension: the joint log-density (n, 1) of actions
// (n, A) under independent normal distributions with means (n, A) and one log standard deviation (A) for all rows.
func (s *Scope) GaussianLogProbSum(action, mean, logStd Tensor) Tensor {
	const op = "GaussianLogProbSum"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_gaussian_log_prob_sum(handle(op, action), handle(op, mean), handle(op, logStd), s.grad, out)
	}, action, mean, logStd)
}

// Categorical returns, for each row, the log-probability of what was chosen and the entropy, both (n, 1), under
// distributions over counts[0], counts[1] and so on choices, summed over the distributions: those of the joint choice.
// logits (n, Σ counts) are unnormalised log-probabilities, one distribution after the other, choices (n, len(counts))
// float32 indices from 0. A choice that its distribution does not have is an error. Its C++ is csrc/categorical.cc.
func (s *Scope) Categorical(logits, choices Tensor, counts ...int64) (logProb, entropy Tensor) {
	const op = "Categorical"
	p, n := ints(counts)
	logProb, entropy, _ = s.results(op, func(a, b, _ *C.gorl_t) C.gorl_err {
		return C.gorl_categorical(handle(op, logits), handle(op, choices), p, n, s.grad, a, b)
	}, logits, choices)
	runtime.KeepAlive(counts)
	return logProb, entropy
}

// Surrogate is PPO's clipped objective as a loss (Schulman et al. 2017, eq. 7), with r = e^(now − old) the ratio of
// the actions' probabilities, everything (n, 1):
//
//	−E[ min( r·Â, clamp(r, 1−ε, 1+ε)·Â ) ]
//
// Beside it, without gradient, are the estimate of the divergence KL(old‖new), E[(r − 1) − ln r] (Schulman 2020),
// and the share of ratios outside 1 ± ε. All three are scalars. Its C++ is gorl_surrogate in csrc/losses.cc.
func (s *Scope) Surrogate(now, old, advantage Tensor, clip float64) (loss, divergence, fraction Tensor) {
	const op = "Surrogate"
	return s.results(op, func(a, b, c *C.gorl_t) C.gorl_err {
		return C.gorl_surrogate(handle(op, now), handle(op, old), handle(op, advantage), C.double(clip), a, b, c)
	}, now, old, advantage)
}

// ValueClip says how [Scope.ValueLoss] limits a prediction's move from its old value.
type ValueClip int32

const (
	// NoValueClip does not limit it.
	NoValueClip ValueClip = iota
	// ClippedOnly takes the loss of the limited prediction, as skrl 2.0 does; outside the limit there is no gradient.
	ClippedOnly
	// Pessimistic takes the larger of the limited and the free prediction's loss, row by row, as the PPO of OpenAI's
	// baselines does.
	Pessimistic
)

// ValueLoss is E[(R − V)²], the prediction V kept within clip of its old value as kind says; everything is (n, 1).
func (s *Scope) ValueLoss(predicted, old, returns Tensor, clip float64, kind ValueClip) Tensor {
	const op = "ValueLoss"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_value_loss(handle(op, predicted), handle(op, old), handle(op, returns),
			C.double(clip), C.int32_t(kind), out)
	}, predicted, old, returns)
}

// CrossEntropy is ½(E[softplus(fake)] + E[softplus(−real)]): the binary cross-entropy of logits against 0 and 1,
// both sets weighing the same whatever their sizes.
func (s *Scope) CrossEntropy(fake, real Tensor) Tensor {
	const op = "CrossEntropy"
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_cross_entropy(handle(op, fake), handle(op, real), out)
	}, fake, real)
}

// SumSquares is Σ scale_i·‖w_i‖² over weights with a scale each, a scalar.
func (s *Scope) SumSquares(scales []float64, weights ...Tensor) Tensor {
	const op = "SumSquares"
	if s.err == nil && len(scales) != len(weights) {
		s.err = fmt.Errorf("tensor: %s: %d scales for %d weights", op, len(scales), len(weights))
		return Tensor{}
	}
	return s.result(op, func(out *C.gorl_t) C.gorl_err {
		hs := handles(op, weights)
		return C.gorl_decay(unsafe.SliceData(hs), (*C.double)(unsafe.SliceData(scales)), C.int32_t(len(hs)), out)
	}, weights...)
}

// Tally adds scalars (float32, without gradient) to the elements of sums, a float64 vector of as many, in place.
func (s *Scope) Tally(sums Tensor, scalars ...Tensor) {
	const op = "Tally"
	s.effect(op, func() C.gorl_err {
		hs := handles(op, scalars)
		return C.gorl_tally_(handle(op, sums), unsafe.SliceData(hs), C.int32_t(len(hs)))
	}, scalars...)
}

// PositiveShare returns, without gradient, the share of x's elements above 0 and their mean, both scalars.
func (s *Scope) PositiveShare(x Tensor) (share, mean Tensor) {
	const op = "PositiveShare"
	share, mean, _ = s.results(op, func(a, b, _ *C.gorl_t) C.gorl_err {
		return C.gorl_positive_share(handle(op, x), a, b)
	}, x)
	return share, mean
}
