package onpolicy

import (
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Divergence estimates KL(old‖new) from log-ratios, without gradient: E[(r − 1) − ln r] (Schulman 2020).
func Divergence(s *tensor.Scope, logRatio, ratio tensor.Tensor) tensor.Tensor {
	return s.Mean(s.Sub(s.AddScalar(s.Detach(ratio), -1), s.Detach(logRatio)))
}

// ClipFraction is the share of ratios outside 1 ± ratio_clip.
func (c *Core) ClipFraction(s *tensor.Scope, ratio tensor.Tensor) tensor.Tensor {
	return s.Mean(s.As(s.GtScalar(s.Abs(s.AddScalar(s.Detach(ratio), -1)), c.Config.RatioClip), tensor.Float32))
}

// Surrogate is the clipped objective: −E[min(r·Â, clamp(r, 1−ε, 1+ε)·Â)].
func (c *Core) Surrogate(s *tensor.Scope, ratio, advantages tensor.Tensor) tensor.Tensor {
	clip := c.Config.RatioClip
	free := s.Mul(advantages, ratio)
	limited := s.Mul(advantages, s.Clamp(ratio, 1-clip, 1+clip))
	return s.Neg(s.Mean(s.Min(free, limited)))
}

// ValueLoss is E[(R − V)²], V kept within value_clip of its old prediction: the larger of the clipped and the unclipped
// loss counts, so that the gradient never dies. (skrl 2.0 takes the clipped one alone.)
func (c *Core) ValueLoss(s *tensor.Scope, predicted, old, returns tensor.Tensor) tensor.Tensor {
	free := s.Square(s.Sub(returns, predicted))
	clip := c.Config.ValueClip
	if clip <= 0 {
		return s.Mean(free)
	}
	near := s.Add(old, s.Clamp(s.Sub(predicted, old), -clip, clip))
	limited := s.Square(s.Sub(returns, near))
	if c.Config.Skrl() {
		return s.Mean(limited)
	}
	return s.Mean(s.Max(free, limited))
}

// EntropyLoss is −scale·E[H], H the entropy of the whole action. (skrl 2.0 averages it over the dimensions.)
func (c *Core) EntropyLoss(s *tensor.Scope, e models.Evaluation) (entropy, loss tensor.Tensor) {
	if c.Config.Skrl() {
		entropy = s.Mean(e.Entropy)
	} else {
		entropy = s.Mean(s.Sum(e.Entropy, -1))
	}
	return entropy, s.MulScalar(entropy, -c.Config.EntropyLossScale)
}

// StdDev is the mean standard deviation of a continuous policy, 0 for others.
func StdDev(s *tensor.Scope, e models.Evaluation) tensor.Tensor {
	if e.StdDev.T == nil {
		return s.Scalar(0)
	}
	return s.Mean(e.StdDev)
}
