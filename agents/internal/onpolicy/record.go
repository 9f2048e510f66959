package onpolicy

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// Record implements [agents.Agent].
func (c *Core) Record(t agents.Transition) error {
	if !c.training {
		return nil
	}
	if !c.acted {
		return fmt.Errorf("%s: Record without an Act before it", strings.ToLower(c.name))
	}
	if err := c.checkTransition(t); err != nil {
		return err
	}
	s := c.step
	s.Reset()
	if err := c.writeOutcome(s, t); err != nil {
		return err
	}
	if err := c.bootstrapValues(s, t); err != nil {
		return err
	}
	if c.AfterRecord != nil {
		if err := c.AfterRecord(s, t); err != nil {
			return err
		}
	}
	if c.Rollout.Len()+1 == c.Rollout.Steps() {
		if err := c.write(c.nextObs, t.NextObservations, c.nextState, t.NextStates); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	c.acted = false
	c.Timestep++
	c.Rollout.Advance()
	if c.Rollout.Full() && c.Timestep <= int64(c.Config.LearningStarts) {
		c.Rollout.Clear()
	}
	return nil
}

func (c *Core) checkTransition(t agents.Transition) error {
	for _, x := range []struct {
		what       string
		got, width int
	}{
		{"rewards", len(t.Rewards), 1}, {"terminated flags", len(t.Terminated), 1}, {"truncated flags", len(t.Truncated), 1},
		{"next observations", len(t.NextObservations), c.spaces.Observation.Width()}, {"next states", len(t.NextStates), c.spaces.State.Width()},
	} {
		if err := c.checkRows(x.what, x.got, x.width); err != nil {
			return err
		}
	}
	for i, r := range t.Rewards {
		if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
			return fmt.Errorf("%s: the reward of environment %d is %g; check the environment", strings.ToLower(c.name), i, r)
		}
	}
	return nil
}

// writeOutcome stores shaped rewards and the flags of the step.
func (c *Core) writeOutcome(s *tensor.Scope, t agents.Transition) error {
	copy(c.rewards, t.Rewards)
	if c.Config.RewardsShaper != nil {
		c.Config.RewardsShaper(c.rewards, int(c.Timestep))
	}
	if k := float32(c.Config.RewardsShaperScale); k != 1 {
		for i := range c.rewards {
			c.rewards[i] *= k
		}
	}
	if err := tensor.Write(c.Rollout.Row("rewards"), c.rewards); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		set  []bool
	}{{"terminated", t.Terminated}, {"truncated", t.Truncated}} {
		for i, on := range f.set {
			c.flags[i] = 0
			if on {
				c.flags[i] = 1
			}
		}
		if err := tensor.Write(c.Rollout.Row(f.name), c.flags); err != nil {
			return err
		}
	}
	return nil
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

// Ready reports whether the rollout is complete, while training.
func (c *Core) Ready() bool { return c.training && c.Rollout != nil && c.Rollout.Full() }

// CheckReady returns why an update cannot begin: the rollout is not complete, or the context is done.
func (c *Core) CheckReady(ctx context.Context) error {
	if !c.Ready() {
		return fmt.Errorf("%s: Update before the rollout's %d steps are complete; call it when Ready",
			strings.ToLower(c.name), c.Config.Rollouts)
	}
	return ctx.Err()
}
