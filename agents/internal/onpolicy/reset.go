package onpolicy

import (
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// ResetHidden implements [agents.Recurrent] for the given environments, or for all. The hidden states of the present
// mode become zero there. In training the step recorded last becomes the last one of its episode, because advantages
// must not be estimated across the reset.
func (c *Core) ResetHidden(environments ...int) {
	if c.numEnvs == 0 || c.Rollout == nil {
		return
	}
	ends := make([]float32, c.numEnvs)
	for i := range ends {
		if len(environments) == 0 || slices.Contains(environments, i) {
			ends[i] = 1
		}
	}
	c.resetErr = c.stream.Do(func() error {
		s := tensor.NoGrad().On(c.Device).Layers(c.Precision)
		defer s.Close()
		cut := tensor.From(s, ends, int64(c.numEnvs), 1)
		if c.training && c.Rollout.Len() > 0 {
			c.truncateLast(s, cut)
		}
		for _, h := range c.hiddens {
			now := h.evaluation
			if c.training {
				now = h.now
			}
			s.Copy(now, s.Where(s.GtScalar(cut, 0.5), s.Zeros(1, 1), now))
		}
		return s.Err()
	})
}

// truncateLast marks the step recorded last as truncated in the environments whose cut, (N, 1), is 1, unless their
// episode ended with that step. The observation that followed the step is gone. The observation for which the action
// was chosen replaces it, as it does for FinalUnknown. A complete rollout needs no mark unless a network has memory,
// because it has kept the observation that followed its last step.
func (c *Core) truncateLast(s *tensor.Scope, cut tensor.Tensor) {
	last := c.Rollout.Len() - 1
	at := func(field string) tensor.Tensor { return c.Rollout.At(field, last) }
	if len(c.hiddens) > 0 {
		s.Copy(at("ended"), s.Max(at("ended"), cut))
	} else if c.Rollout.Full() {
		return
	}
	cut = s.Mul(cut, s.ScalarSub(1, s.Max(at("terminated"), at("truncated"))))
	s.Copy(at("truncated"), s.Max(at("truncated"), cut))
	switch {
	case !c.Config.TimeLimitBootstrap:
	case c.Config.Skrl():
		s.AddTo(at("rewards"), s.Mul(at("values"), cut), c.Config.DiscountFactor)
	default:
		for _, k := range c.critics {
			s.Copy(at(k.Final), s.Where(s.GtScalar(cut, 0.5), c.presentValues(s, k, last, tensor.Tensor{}), at(k.Final)))
		}
	}
}
