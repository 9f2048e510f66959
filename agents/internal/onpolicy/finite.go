package onpolicy

import (
	"cmp"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/number"
)

// Act and Record refuse NaN and infinities before anything learns from them. They would stay in the running
// statistics, and the NaN that networks then compute would look like divergence.

// checks refuses transitions.
type checks struct {
	*Core
	unread []bool // (N), the rows of final observations that nothing reads
}

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
func (c *checks) checkValues(t agents.Transition) error {
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
		unread[i] = !t.Terminated[i] && !t.Truncated[i] || t.FinalUnknown != nil && t.FinalUnknown[i]
	}
	return cmp.Or(c.CheckFinite("Record", "final observations", t.FinalObservations, o, unread),
		c.CheckFinite("Record", "final states", t.FinalStates, w, unread))
}

// checkMarks refuses marks of a wrong number of environments.
func (c *checks) checkMarks(t agents.Transition) error {
	for _, m := range []struct {
		name  string
		marks []bool
	}{{"FinalUnknown", t.FinalUnknown}, {"Invalid", t.Invalid}, {"Idle", t.Idle}, {"NextIdle", t.NextIdle}} {
		if m.marks != nil && len(m.marks) != c.numEnvs {
			return c.errorf("Transition.%s has %d values, want %d (one an environment), or nil for none", m.name,
				len(m.marks), c.numEnvs)
		}
	}
	return nil
}

// checkTransition refuses a wrong number of rows, NaN and infinities.
func (c *checks) checkTransition(t agents.Transition) error {
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
	if c.Config.Skrl() && (slices.Contains(t.Idle, true) || slices.Contains(t.NextIdle, true)) {
		return c.errorf("Transition.Idle marks rows without a turn, which \"compatibility\" %q cannot learn from: "+
			"leave \"compatibility\" out", c.Config.Compatibility)
	}
	return c.checkValues(t)
}
