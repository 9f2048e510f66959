package onpolicy

import (
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// An agent in evaluation acts by the mean or mode of its policy, or samples with random numbers of its own, and records
// nothing. Its networks' memories are others than those of training.

// SetTraining switches between training and evaluation, and returns the mode before. SetTraining(false) clears the
// memories of evaluation, also if the agent is in evaluation already.
func (c *Collector) SetTraining(on bool) (was bool) {
	was, c.training = c.training, on
	if c.drawing = false; !on {
		c.ResetHidden()
	}
	return was
}

// SetStochastic makes evaluation sample actions instead of taking the mean or mode.
func (c *Collector) SetStochastic(on bool) { c.sampling = on }

// evaluationDraws returns the random sequence of evaluation. With every SetTraining(false) it starts from the state of
// training's sequence, which evaluation leaves as it is.
func (c *Collector) evaluationDraws(s *tensor.Scope) *tensor.Generator {
	if c.drawing {
		return c.draws
	}
	state, err := c.Gen.State()
	if err == nil && c.draws == nil {
		c.draws, err = tensor.NewGenerator(0, c.Device)
	}
	if err == nil {
		err = c.draws.SetState(state)
	}
	c.drawing = err == nil
	s.Fail(err)
	return c.draws
}

// ResetHidden implements [agents.Recurrent] for the given environments, or for all. The hidden states of the present
// mode become zero there. In training the step recorded last becomes the last one of its episode, because advantages
// must not be estimated across the reset.
func (c *Collector) ResetHidden(environments ...int) {
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
func (c *Collector) truncateLast(s *tensor.Scope, cut tensor.Tensor) {
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
		for _, k := range c.values.critics {
			s.Copy(at(k.Final), s.Where(s.GtScalar(cut, 0.5), c.values.valuesOfStep(s, k, last, tensor.Tensor{}),
				at(k.Final)))
		}
	}
}

// resetEnded clears the memories of evaluation in environments whose episodes have ended.
func (c *Collector) resetEnded(t agents.Transition) error {
	if len(c.hiddens) == 0 || c.numEnvs == 0 {
		return nil
	}
	if n := c.numEnvs; len(t.Terminated) != n || len(t.Truncated) != n || len(t.Invalid) > 0 && len(t.Invalid) != n {
		return c.errorf("there are %d terminated flags, %d truncated flags and %d marks of invalid transitions, want "+
			"%d of each (nil: no marks)", len(t.Terminated), len(t.Truncated), len(t.Invalid), n)
	}
	going := make([]bool, c.numEnvs)
	for i := range going {
		going[i] = !t.Terminated[i] && !t.Truncated[i] && (len(t.Invalid) == 0 || !t.Invalid[i])
	}
	c.Transfer.Begin()
	flags, err := c.stageFlags(going)
	if err != nil {
		return err
	}
	s := c.step
	s.Reset()
	c.Transfer.Send(s)
	alive := flags.Tensor(s)
	for _, h := range c.hiddens {
		s.Copy(h.evaluation, s.Mul(h.evaluation, alive))
	}
	return s.Err()
}
