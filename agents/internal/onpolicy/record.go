package onpolicy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// Record completes the step of the rollout that Act began: it stores rewards, ends of episodes and the values of
// truncated episodes. Bad rows are an error before anything is written, so that Record can be called again.
func (c *Core) Record(t agents.Transition) error {
	return c.stream.Do(func() error { return c.record(t) })
}

func (c *Core) record(t agents.Transition) error {
	if !c.training {
		return c.forget(t)
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
	c.noteInvalid(t)
	if err := c.bootstrapValues(s, t); err != nil {
		return err
	}
	if c.AfterRecord != nil {
		if err := c.AfterRecord(s, t); err != nil {
			return err
		}
	}
	if c.Rollout.Len()+1 == c.Rollout.Steps() { // what follows the last step: its value is asked for, too
		if err := c.write(c.nextObs, t.NextObservations, c.nextState, t.NextStates); err != nil {
			return err
		}
	}
	c.goOn(s)
	if err := s.Err(); err != nil {
		return err
	}
	c.acted = false
	c.Timestep++
	c.Rollout.Advance()
	tooEarly := c.Timestep <= int64(c.Config.LearningStarts)
	if c.Rollout.Full() && (tooEarly || !slices.Contains(c.invalid, false)) { // nothing to learn from
		c.Rollout.Clear()
	}
	return nil
}

// checkTransition refuses rows of a wrong number and rewards that are not finite.
func (c *Core) checkTransition(t agents.Transition) error {
	if err := cmp.Or(
		c.checkRows("rewards", len(t.Rewards), 1),
		c.checkRows("terminated flags", len(t.Terminated), 1),
		c.checkRows("truncated flags", len(t.Truncated), 1),
		c.checkRows("next observations", len(t.NextObservations), c.spaces.Observation.Width()),
		c.checkRows("next states", len(t.NextStates), c.spaces.State.Width()),
		c.checkMarks(t),
	); err != nil {
		return err
	}
	for i, r := range t.Rewards {
		if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
			return fmt.Errorf("%s: the reward of environment %d is %g; check the environment", strings.ToLower(c.name), i, r)
		}
	}
	return nil
}

// writeOutcome stores the rewards, shaped (rewards_shaper, rewards_shaper_scale), and the ends of episodes as 0 and 1.
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

// Ready reports whether the rollout is complete. An agent in evaluation is never ready.
func (c *Core) Ready() bool { return c.training && c.Rollout != nil && c.Rollout.Full() }

// Wait implements [agents.Overlapping]: an update has ended when Update returns.
func (c *Core) Wait(context.Context) error { return nil }

// checkReady returns why an update cannot begin: the rollout is not complete, or the context is done.
func (c *Core) checkReady(ctx context.Context) error {
	if !c.Ready() {
		return fmt.Errorf("%s: Update before the rollout's %d timesteps are complete; call it when Ready",
			strings.ToLower(c.name), c.Config.Rollouts)
	}
	if curve, ok := c.Scheduler.(*schedulers.Curve); ok && !curve.Planned() {
		return fmt.Errorf("%s: \"learning_rate_scheduler_kwargs\" says auto, which is the length of the run, and it is not known: give the trainer "+
			"Timesteps, or the population TotalSteps; a training loop of one's own calls Plan", strings.ToLower(c.name))
	}
	return ctx.Err()
}
