package onpolicy

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// ValueOf returns the values of raw observations and states in reward units, (n, 1).
func (c *Core) ValueOf(s *tensor.Scope, obs, state tensor.Tensor) tensor.Tensor {
	return c.VScaler.Inverse(s, c.Value.Forward(s, c.Inputs(s, obs, state)))
}

// bootstrapValues stores the value of the last observation of episodes that were cut. skrl 2.0 instead adds the value of
// the observation before the cut to the reward.
func (c *Core) bootstrapValues(s *tensor.Scope, t agents.Transition) error {
	if c.Config.Skrl() {
		if c.Config.TimeLimitBootstrap {
			r := c.Rollout
			s.AddTo(r.Row("rewards"), s.Mul(r.Row("values"), r.Row("truncated")), c.Config.DiscountFactor)
		}
		return nil
	}
	return c.FinalValues(s, t, "final_values", c.ValueOf)
}

// FinalValues writes into a field a critic's value of the last observation of episodes that were cut, and 0 elsewhere.
func (c *Core) FinalValues(s *tensor.Scope, t agents.Transition, field string, value func(s *tensor.Scope, obs, state tensor.Tensor) tensor.Tensor) error {
	s.Fill(c.Rollout.Row(field), 0)
	var cut []int64
	for i, on := range t.Truncated {
		if on && !t.Terminated[i] {
			cut = append(cut, int64(i))
		}
	}
	if len(cut) == 0 || !c.Config.TimeLimitBootstrap {
		return s.Err()
	}
	if len(t.FinalObservations) != len(t.NextObservations) || len(t.FinalStates) != len(t.NextStates) {
		return fmt.Errorf("%s: environment %d was truncated, but its final observation is missing: time_limit_bootstrap needs Transition.FinalObservations",
			strings.ToLower(c.name), cut[0])
	}
	obs := gatherRows(s, t.FinalObservations, cut, c.spaces.Observation.Width())
	var state tensor.Tensor
	if w := c.spaces.State.Width(); w > 0 {
		state = gatherRows(s, t.FinalStates, cut, w)
	}
	s.IndexCopy(c.Rollout.Row(field), tensor.From(s, cut), value(s, obs, state))
	return s.Err()
}

// NextValue is the value of the next observations, (N, 1), whatever episode they belong to.
func (c *Core) NextValue(s *tensor.Scope, t agents.Transition) (tensor.Tensor, error) {
	if err := c.write(c.nextObs, t.NextObservations, c.nextState, t.NextStates); err != nil {
		return tensor.Tensor{}, err
	}
	return c.ValueOf(s, c.nextObs, c.nextState), s.Err()
}

func gatherRows(s *tensor.Scope, rows []float32, index []int64, width int) tensor.Tensor {
	out := make([]float32, 0, len(index)*width)
	for _, i := range index {
		out = append(out, rows[int(i)*width:(int(i)+1)*width]...)
	}
	return tensor.From(s, out, int64(len(index)), int64(width))
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
