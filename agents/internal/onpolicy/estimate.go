package onpolicy

import (
	"github.com/gorl-dev/gorl/tensor"
)

// Masks says how a GAE treats the end of an episode; everything is (T, N, 1).
type Masks struct {
	Next      tensor.Tensor // V': the value of what followed each step
	Bootstrap tensor.Tensor // how much of it counts
	Chain     tensor.Tensor // whether the estimate goes on beyond the step
}

// NextValues computes with value (a critic, in reward units) and the values field what followed each step of the
// rollout. The chain is cut where an episode terminated or was truncated; a termination is worth nothing, a
// truncation the value of its last observation (field final).
func (c *Core) NextValues(s *tensor.Scope, values, final string, value func(s *tensor.Scope, obs, state tensor.Tensor) tensor.Tensor) Masks {
	r, t, n := c.Rollout, int64(c.Rollout.Steps()), int64(c.Rollout.Envs())
	last := s.Reshape(value(s, c.nextObs, c.nextState), 1, n, 1)
	next := last
	if t > 1 {
		next = s.Cat(0, s.Narrow(r.Tensor(values), 0, 1, t-1), last)
	}
	terminated, truncated := r.Tensor("terminated"), r.Tensor("truncated")
	alive := s.ScalarSub(1, terminated)
	if c.Config.Skrl() { // truncation plays no part, and the next value is that of whatever episode follows
		return Masks{Next: next, Bootstrap: alive, Chain: alive}
	}
	cut := s.Max(terminated, truncated)
	m := Masks{Next: s.Where(s.GtScalar(cut, 0.5), r.Tensor(final), next), Bootstrap: alive, Chain: s.ScalarSub(1, cut)}
	if !c.Config.TimeLimitBootstrap {
		m.Bootstrap = m.Chain
	}
	return m
}

// FillValues computes a critic's values, in reward units, of every observation of the rollout into a field. Parameters and
// scalers stand as they did while it was collected.
func (c *Core) FillValues(s *tensor.Scope, field string, value func(s *tensor.Scope, obs, state tensor.Tensor) tensor.Tensor) {
	var state tensor.Tensor
	if c.spaces.State.Width() > 0 {
		state = c.Rollout.Rows("states")
	}
	s.Copy(c.Rollout.Rows(field), value(s, c.Rollout.Rows("observations"), state))
}

// Normalise returns (A − mean) / (std + 1e-8) over the whole rollout, with the unbiased standard deviation.
func Normalise(s *tensor.Scope, a tensor.Tensor) tensor.Tensor {
	return s.Div(s.Sub(a, s.Mean(a)), s.AddScalar(s.Std(a), 1e-8))
}

// StoreTargets standardises values and returns for the value loss and stores them with the advantages. The statistics
// learn from the returns; skrl 2.0's learn from the old values first, normalise those, and only then see the returns.
func (c *Core) StoreTargets(s *tensor.Scope, returns, advantages tensor.Tensor) {
	r := c.Rollout
	values := r.Tensor("values")
	if c.Config.Skrl() {
		c.VScaler.Update(s, values)
		s.Copy(values, c.VScaler.Forward(s, values))
		c.VScaler.Update(s, returns)
	} else {
		c.VScaler.Update(s, returns)
		s.Copy(values, c.VScaler.Forward(s, values))
	}
	s.Copy(r.Tensor("returns"), c.VScaler.Forward(s, returns))
	s.Copy(r.Tensor("advantages"), advantages)
}
