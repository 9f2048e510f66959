package onpolicy

import (
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// ValueLoss returns the value network's loss on a minibatch, a scalar, from the present prediction, the one that the
// rollout was collected with (old) and the returns, all (n, 1): E[max((R − V)², (R − V_clip)²)], where V_clip keeps V
// within value_clip of old. Because the larger of the two counts, a prediction that has moved the wrong way is always
// pulled back. skrl takes the clipped one alone, whose gradient is zero outside the band on either side. value_clip
// 0 is E[(R − V)²].
func (c *Learner) ValueLoss(s *tensor.Scope, predicted, old, returns tensor.Tensor) tensor.Tensor {
	kind := tensor.Pessimistic
	switch {
	case c.Config.ValueClip <= 0:
		kind = tensor.NoValueClip
	case c.Config.Skrl():
		kind = tensor.ClippedOnly
	}
	return s.ValueLoss(predicted, old, returns, c.Config.ValueClip, kind)
}

// EntropyLoss returns the mean entropy E[H] of the policy's distributions on a minibatch, and −entropy_loss_scale·E[H],
// which rewards a policy for staying undecided. H is the entropy of the whole action, the sum over its dimensions; skrl
// 2.0 averages over them.
func (c *Learner) EntropyLoss(s *tensor.Scope, e models.Evaluation) (entropy, loss tensor.Tensor) {
	h := e.Entropy
	if c.Config.EntropyLossScale == 0 { // a figure only: no gradient needed
		h = s.Detach(h)
	}
	if !c.Config.Skrl20() {
		h = s.Sum(h, -1)
	}
	entropy = s.Mean(h)
	return entropy, s.MulScalar(entropy, -c.Config.EntropyLossScale)
}

// BoundsLoss adds the loss for means out of bounds to a minibatch's loss, a scalar. It returns the sum and the added
// term: bounds_loss_scale times the mean over rows of Σ max(μ − limit, 0)² + min(μ + limit, 0)², summed over the
// dimensions of the policy's mean action μ. With bounds_loss_type "square" it is the mean of Σ μ². Without a scale
// the loss stays as it is.
func (c *Learner) BoundsLoss(s *tensor.Scope, e models.Evaluation, loss tensor.Tensor) (sum, bounds tensor.Tensor) {
	scale, limit := c.Config.BoundsLossScale, c.Config.BoundsLossLimit
	if scale == 0 {
		return loss, c.none
	}
	beyond := e.Mean
	if c.Config.BoundsLossType == "limit" {
		beyond = s.Sub(beyond, s.Clamp(beyond, -limit, limit)) // one of the two terms; the other is 0
	}
	bounds = s.MulScalar(s.Mean(s.Sum(s.Square(beyond), -1)), scale)
	return s.Add(loss, bounds), bounds
}

// Differentiate computes the gradients of loss, a scalar. In float16 the loss is scaled meanwhile (see gradientScaler).
func (c *Learner) Differentiate(s *tensor.Scope, loss tensor.Tensor) {
	c.Flat.ZeroGrad(s)
	if c.gradients == nil {
		s.Backward(loss)
	} else {
		c.gradients.backward(s, loss, c.Flat.Grads)
	}
}

// Step makes one optimizer step down the gradients, after it has clipped their norm (grad_norm_clip). It reports
// whether it made the step: in float16 it skips a step whose gradient is infinite.
func (c *Learner) Step(s *tensor.Scope) (stepped bool) {
	if c.gradients != nil && !c.gradients.finite(s, c.Flat.Grads) {
		return false
	}
	c.Optimizer.ClipGrad(s)
	c.Optimizer.Step(s)
	return true
}

// TooFar reports whether the divergence kl of a minibatch, a scalar, exceeds kl_threshold. Reading it waits for the
// device, so it is read only if the threshold is set.
func (c *Learner) TooFar(s *tensor.Scope, kl tensor.Tensor) (bool, error) {
	if c.Config.KLThreshold <= 0 {
		return false, nil
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	x, err := tensor.Item(kl)
	if err != nil {
		return false, err
	}
	c.seenKL = append(c.seenKL, x)
	return x > c.Config.KLThreshold, nil
}

// learnScales lets the observation scalers learn from the rollout. It runs at the end of an update, so that the whole
// rollout and its update see the same statistics. skrl's scalers learn within the update (see gather).
func (c *Learner) learnScales(s *tensor.Scope) {
	if c.Config.Skrl() {
		return
	}
	if c.ObservationScaler != nil {
		c.LearnScale(s, c.ObservationScaler, c.obsRows, c.ValidRows(s, "observations"))
	}
	if c.StateScaler != nil {
		c.LearnScale(s, c.StateScaler, c.stateRows, c.ValidRows(s, "states"))
	}
}

// Finish ends an update: the rollout is emptied.
func (c *Learner) Finish(s *tensor.Scope) error {
	if err := s.Err(); err != nil {
		return err
	}
	c.Updates++
	c.Rollout.Clear()
	return nil
}
