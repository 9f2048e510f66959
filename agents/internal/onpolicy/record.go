package onpolicy

import (
	"cmp"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/tensor"
)

// Record completes the step of the rollout that Act began: it stores rewards, ends of episodes and the values of
// truncated episodes. Bad rows are an error before anything is written, so that Record can be called again.
func (c *Collector) Record(t agents.Transition) error {
	return c.stream.Do(func() error { return c.record(t) })
}

func (c *Collector) record(t agents.Transition) error {
	if !c.training {
		return c.resetEnded(t)
	}
	if !c.acted {
		return c.errorf("Record without an Act before it")
	}
	if err := c.checkTransition(t); err != nil {
		return err
	}
	s := c.step
	s.Reset()
	if err := c.stageTransition(t); err != nil {
		return err
	}
	c.Transfer.Send(s)
	c.delivery.rewards.CopyTo(s, c.Rollout.Row("rewards"))
	c.delivery.terminated.CopyTo(s, c.Rollout.Row("terminated"))
	c.delivery.truncated.CopyTo(s, c.Rollout.Row("truncated"))
	c.noteMarks(t, c.Config.Skrl())
	c.bootstrapValues(s, t)
	if c.AfterRecord != nil {
		c.AfterRecord(s)
	}
	if c.lastStep() { // what follows it: its value is asked for, too
		obs, state := c.delivery.next.tensors(s)
		s.Copy(c.nextObs, obs)
		if state.T != nil {
			s.Copy(c.nextState, state)
		}
		c.markUnknown(s)
	}
	c.advanceMemories(s)
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

// delivery is what Record sends to the device of a transition, in one transfer.
type delivery struct {
	rewards, terminated, truncated tensor.Part // (N, 1)
	// invalid (N, 1) is 1 where the row shows no transition; the zero Part where all do, or no network remembers any.
	invalid tensor.Part
	// cut and unknown are the environments whose episodes were truncated and did not terminate: those whose last
	// observations are known, which are final, and those whose are not. They are zero Parts if there are none.
	cut, unknown tensor.Part
	final        staged
	next         staged // what comes next in all environments, if anything asks for it
}

// stageTransition puts everything that the device needs of a transition into the transfer: shaped rewards, ends of
// episodes as 0 and 1, and the rows whose values are estimated.
func (c *Collector) stageTransition(t agents.Transition) error {
	c.Transfer.Begin()
	c.delivery = delivery{}
	if err := c.shapeRewards(t); err != nil {
		return err
	}
	o, n := &c.delivery, int64(c.numEnvs)
	var failed [4]error
	o.rewards, failed[0] = tensor.Put(c.Transfer, c.rewards, n, 1)
	o.terminated, failed[1] = c.stageFlags(t.Terminated)
	o.truncated, failed[2] = c.stageFlags(t.Truncated)
	if len(c.hiddens) > 0 && !c.Config.Skrl() && slices.Contains(t.Invalid, true) {
		o.invalid, failed[3] = c.stageFlags(t.Invalid)
	}
	err := cmp.Or(cmp.Or(failed[:]...), c.stageFinals(t))
	if err == nil && c.StageRecord != nil {
		err = c.StageRecord(t)
	}
	if err != nil {
		return err
	}
	// On a device the next Act finds its observations there, unless they are others.
	if !c.Device.IsCPU() || c.lastStep() || c.Config.Skrl() {
		if o.next, err = c.stageRows(t.NextObservations, t.NextStates); err != nil {
			return err
		}
		c.ahead = o.next
	}
	return nil
}

// shapeRewards copies a transition's rewards and shapes them (rewards_shaper, rewards_shaper_scale). It returns an
// error if a shaped reward is not finite or too large.
func (c *Collector) shapeRewards(t agents.Transition) error {
	copy(c.rewards, t.Rewards)
	for i, unused := range c.Unused(t) {
		// checkValues lets NaN pass here; 0 times NaN would reach other rows
		if unused && c.rewards[i]-c.rewards[i] != 0 {
			c.rewards[i] = 0
		}
	}
	if c.Config.RewardsShaper != nil {
		c.Config.RewardsShaper(c.rewards, int(c.Timestep))
	}
	if k := float32(c.Config.RewardsShaperScale); k != 1 {
		for i := range c.rewards {
			c.rewards[i] *= k
		}
	}
	for i, r := range c.rewards {
		if !(math.Abs(float64(r)) < tooLarge) {
			return c.errorf("Record at timestep %d: the reward of environment %d is %g after rewards_shaper and "+
				"rewards_shaper_scale, and was %g before; it must lie within ±%.2g"+
				", because float32 cannot hold sums of larger squares; lower rewards_shaper_scale or repair the reward",
				c.Timestep, i, r, t.Rewards[i], float64(tooLarge))
		}
	}
	return nil
}

// stageFlags puts a condition of each environment into the transfer, as 0 and 1.
func (c *Core) stageFlags(set []bool) (tensor.Part, error) {
	p, flags, err := tensor.Reserve[float32](c.Transfer, int64(c.numEnvs), 1)
	if err != nil {
		return p, err
	}
	for i, on := range set {
		flags[i] = 0
		if on {
			flags[i] = 1
		}
	}
	return p, nil
}

// stageFinals puts the last observations of truncated episodes into the transfer, for FinalValues.
func (c *Collector) stageFinals(t agents.Transition) (err error) {
	if !c.Config.TimeLimitBootstrap || c.Config.Skrl() {
		return nil
	}
	var cut, unknown []int64
	for i, on := range t.Truncated {
		switch {
		case !on || t.Terminated[i]:
		case len(t.FinalUnknown) > 0 && t.FinalUnknown[i]:
			unknown = append(unknown, int64(i))
		default:
			cut = append(cut, int64(i))
		}
	}
	if len(unknown) > 0 {
		if c.delivery.unknown, err = tensor.Put(c.Transfer, unknown); err != nil {
			return err
		}
	}
	if len(cut) == 0 {
		return nil
	}
	if len(t.FinalObservations) != len(t.NextObservations) || len(t.FinalStates) != len(t.NextStates) {
		return c.errorf("environment %d was truncated, but its final observation is missing: time_limit_bootstrap "+
			"needs Transition.FinalObservations", cut[0])
	}
	if c.delivery.cut, err = tensor.Put(c.Transfer, cut); err != nil {
		return err
	}
	c.delivery.final, err = c.stageRows(gatherRows(t.FinalObservations, cut, c.spaces.Observation.Width()),
		gatherRows(t.FinalStates, cut, c.spaces.State.Width()))
	return err
}

// gatherRows returns the rows of the given indices out of a batch (N, width), (n, width).
func gatherRows(rows []float32, index []int64, width int) []float32 {
	out := make([]float32, 0, len(index)*width)
	for _, i := range index {
		out = append(out, rows[int(i)*width:(int(i)+1)*width]...)
	}
	return out
}

// Act and Record refuse NaN and infinities before anything learns from them. They would stay in the running
// statistics, and the NaN that networks then compute would look like divergence.

// CheckFinite returns an error if rows, one row of width values per environment, hold a NaN or an infinity. The error
// names the method call and what, the kind of rows. Rows whose skip is true are not checked.
func (c *Core) CheckFinite(call, what string, rows []float32, width int, skip []bool) error {
	if err := number.CheckRows(rows, width, skip); err != nil {
		return c.errorf("%s at timestep %d: %s: %w; the agent is unchanged: repair what the environment returns",
			call, c.Timestep, what, err)
	}
	return nil
}

// Unused returns a mask (N,) of the environments whose rows of a transition are not learned from. It is nil if there
// are none. skrl's modes learn from all rows.
func (c *Core) Unused(t agents.Transition) []bool {
	if c.Config.Skrl() || !slices.Contains(t.Invalid, true) {
		return nil
	}
	return t.Invalid
}

// checkValues refuses a transition with NaN or infinities. All next observations must be finite, because the next Act
// reads them. Final observations are checked if the episode ended and its last observation is known. A reward is
// checked unless the environment only reset in this step.
func (c *Collector) checkValues(t agents.Transition) error {
	unused := c.Unused(t)
	for i, r := range t.Rewards {
		if r-r != 0 && (unused == nil || !unused[i] || t.Terminated[i] || t.Truncated[i]) {
			return c.errorf("Record at timestep %d: the reward of environment %d is %g; it must be finite; "+
				"the agent is unchanged: repair what the environment returns", c.Timestep, i, r)
		}
	}
	o, w := c.spaces.Observation.Width(), c.spaces.State.Width()
	if err := cmp.Or(c.CheckFinite("Record", "next observations", t.NextObservations, o, nil),
		c.CheckFinite("Record", "next states", t.NextStates, w, nil)); err != nil {
		return err
	}
	if len(t.FinalObservations) != len(t.NextObservations) || len(t.FinalStates) != len(t.NextStates) {
		return nil // if a setting needs them, stageFinal refuses them
	}
	unread := c.unread
	for i := range unread {
		unread[i] = !t.Terminated[i] && !t.Truncated[i] || len(t.FinalUnknown) > 0 && t.FinalUnknown[i]
	}
	return cmp.Or(c.CheckFinite("Record", "final observations", t.FinalObservations, o, unread),
		c.CheckFinite("Record", "final states", t.FinalStates, w, unread))
}

// checkTransition refuses a wrong number of rows, NaN and infinities.
func (c *Collector) checkTransition(t agents.Transition) error {
	sized := t
	sized.AMPObservations = nil // an algorithm's StageRecord checks them
	if err := joint.CheckTransition(c.prefix, sized, c.numEnvs, c.spaces); err != nil {
		return err
	}
	if c.Config.Skrl() && (slices.Contains(t.Idle, true) || slices.Contains(t.NextIdle, true)) {
		return c.errorf("Transition.Idle marks rows without a turn, which \"compatibility\" %q cannot learn from: "+
			"leave \"compatibility\" out", c.Config.Compatibility)
	}
	return c.checkValues(t)
}
