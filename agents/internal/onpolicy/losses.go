package onpolicy

import (
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// ValueLoss is E[(R − V)²], V kept within value_clip of its old prediction: the larger of the clipped and the unclipped
// loss counts, so that a prediction that has moved the wrong way is always pulled back. (skrl 2.0 takes the clipped one
// alone, whose gradient is zero outside the band on either side.)
func (c *Core) ValueLoss(s *tensor.Scope, predicted, old, returns tensor.Tensor) tensor.Tensor {
	kind := tensor.Pessimistic
	switch {
	case c.Config.ValueClip <= 0:
		kind = tensor.NoValueClip
	case c.Config.Skrl():
		kind = tensor.ClippedOnly
	}
	return s.ValueLoss(predicted, old, returns, c.Config.ValueClip, kind)
}

// EntropyLoss is −scale·E[H], H the entropy of the whole action. (skrl 2.0 averages it over the dimensions.)
func (c *Core) EntropyLoss(s *tensor.Scope, e models.Evaluation) (entropy, loss tensor.Tensor) {
	h := e.Entropy
	if c.Config.EntropyLossScale == 0 {
		h = s.Detach(h)
	}
	if !c.Config.Skrl() {
		h = s.Sum(h, -1)
	}
	entropy = s.Mean(h)
	return entropy, s.MulScalar(entropy, -c.Config.EntropyLossScale)
}
