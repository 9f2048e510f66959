package envs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/spaces"
)

// Checker is an environment that verifies what another one returns against the contract of [Env]. It costs a pass
// over every value, so it is meant for developing an environment rather than for long runs.
type Checker struct {
	// env is the environment inside, n and set its size and spaces when Checked was called.
	env Env
	n   int
	set spaces.Set
	// lengths (N) counts the steps of the running episodes, -1 if unknown (after RestoreState).
	lengths []int
	// steps counts the steps since the last Reset, for errors.
	steps int
	// masks are the action masks of the last Step, whose memory they share.
	masks []float32
	// seats checks what the seats get.
	seats seatChecker
}

// Checked returns env with every Reset and Step verified: the length of every slice, finite values, discrete values
// within range, final observations for episodes that end and for no others, and reported episodes that fit the ends.
// Seats must end once an episode, get nothing afterwards, and have rewards whose sums are Rewards.
// The error of a breach names the field, the environment and the dimension. Checked itself returns an error if env's
// spaces or size make no sense.
func Checked(env Env) (*Checker, error) {
	if env == nil {
		return nil, errors.New("envs: Checked needs an environment, got nil")
	}
	n, set := env.NumEnvs(), env.Spaces()
	if n <= 0 {
		return nil, fmt.Errorf("envs: NumEnvs is %d; it must be positive", n)
	}
	if err := set.Validate(); err != nil {
		return nil, fmt.Errorf("envs: %w", err)
	}
	return &Checker{env: env, n: n, set: set, lengths: make([]int, n), seats: newSeatChecker(n, set)}, nil
}

// NumEnvs is the number of environments in the batch.
func (c *Checker) NumEnvs() int { return c.n }

// Spaces are those of the environment inside.
func (c *Checker) Spaces() spaces.Set { return c.set }

// Unwrap returns the environment inside, see [As].
func (c *Checker) Unwrap() Env { return c.env }

// Close closes the environment inside.
func (c *Checker) Close() error { return c.env.Close() }

// Reset resets the environment inside and verifies what it returned.
func (c *Checker) Reset(seed int64) (*Step, error) {
	s, err := c.env.Reset(seed)
	if err != nil {
		return nil, err
	}
	clear(c.lengths)
	clear(c.seats.out)
	c.steps = 0
	if err := c.checkReset(s); err != nil {
		return nil, fmt.Errorf("envs: after Reset: %w", err)
	}
	return s, nil
}

// Step verifies the actions, steps the environment inside and verifies what it returned.
func (c *Checker) Step(actions []float32) (*Step, error) {
	if err := c.set.Action.Check(actions, c.n); err != nil {
		return nil, fmt.Errorf("envs: actions: %w", err)
	}
	s, err := c.env.Step(actions)
	if err != nil {
		return nil, err
	}
	c.steps++
	if err := c.checkStep(s); err != nil {
		return nil, fmt.Errorf("envs: step %d: %w", c.steps, err)
	}
	return s, nil
}

// Supports reports whether the environment inside is [Stateful].
func (c *Checker) Supports(iface any) bool {
	if _, ok := iface.(*Stateful); ok {
		_, ok := As[Stateful](c.env)
		return ok
	}
	return true
}

// MarshalState returns the state of the environment inside.
func (c *Checker) MarshalState() ([]byte, error) {
	s, ok := As[Stateful](c.env)
	if !ok {
		return nil, fmt.Errorf("envs: the state of %T: %w", c.env, errors.ErrUnsupported)
	}
	return s.MarshalState()
}

// RestoreState restores the environment inside; the lengths of the episodes that were running are not verified.
func (c *Checker) RestoreState(b []byte) error {
	s, ok := As[Stateful](c.env)
	if !ok {
		return fmt.Errorf("envs: the state of %T: %w", c.env, errors.ErrUnsupported)
	}
	if err := s.RestoreState(b); err != nil {
		return err
	}
	for i := range c.lengths {
		c.lengths[i] = -1
	}
	return nil
}

// checkReset verifies what Reset or Observe returned: observations, states and action masks, and nothing else.
func (c *Checker) checkReset(s *Step) error {
	if s == nil {
		return errors.New("the Step is nil")
	}
	if s.Rewards != nil || s.Terminated != nil || s.Truncated != nil || s.FinalObservations != nil ||
		s.FinalStates != nil || s.FinalUnknown != nil || s.Invalid != nil || s.AMPObservations != nil ||
		s.Episodes != nil || s.Seats.Rewards != nil || s.Seats.Terminated != nil || s.Seats.Truncated != nil {
		return errors.New("only Observations, States, ActionMasks and Seats.Active may be set")
	}
	return cmp.Or(c.checkNext(s), c.seats.checkNext(s, c.lengths))
}

// checkStep verifies what Step returned and updates the lengths of the episodes.
func (c *Checker) checkStep(s *Step) error {
	if s == nil {
		return errors.New("the Step is nil")
	}
	if err := c.checkNext(s); err != nil {
		return err
	}
	if len(s.Rewards) != c.n || len(s.Terminated) != c.n || len(s.Truncated) != c.n {
		return fmt.Errorf("Rewards, Terminated and Truncated have %d, %d and %d values; each must have %d",
			len(s.Rewards), len(s.Terminated), len(s.Truncated), c.n)
	}
	for i, r := range s.Rewards {
		if r-r != 0 {
			return fmt.Errorf("Rewards: environment %d is %g; it must be finite", i, r)
		}
	}
	if err := checkRows("AMPObservations", c.set.AMPObservation, s.AMPObservations, c.n); err != nil {
		return err
	}
	if err := c.checkMarks(s); err != nil {
		return err
	}
	if err := c.seats.checkStep(s, c.lengths); err != nil {
		return err
	}
	if err := c.checkFinals(s); err != nil {
		return err
	}
	return c.checkEpisodes(s)
}

// checkNext verifies the observations, states and action masks to act on next.
func (c *Checker) checkNext(s *Step) error {
	if err := checkRows("Observations", c.set.Observation, s.Observations, c.n); err != nil {
		return err
	}
	if err := checkRows("States", c.set.State, s.States, c.n); err != nil {
		return err
	}
	if err := c.set.CheckMasks(s.ActionMasks, c.n); err != nil {
		return fmt.Errorf("ActionMasks: %w", err)
	}
	c.masks = s.ActionMasks
	return nil
}

// sample fills actions (N, A) with random ones that the present masks allow.
func (c *Checker) sample(rng *rand.Rand, actions []float32) {
	c.set.SampleActions(rng, actions, c.masks)
}

// checkMarks verifies FinalUnknown and Invalid: only an ended episode may have an unknown end, and a row that only
// reset has no reward and interrupts no episode.
func (c *Checker) checkMarks(s *Step) error {
	for _, m := range []struct {
		name  string
		marks []bool
	}{{"FinalUnknown", s.FinalUnknown}, {"Invalid", s.Invalid}} {
		if m.marks != nil && len(m.marks) != c.n {
			return fmt.Errorf("%s has %d values; it must have %d, or be nil", m.name, len(m.marks), c.n)
		}
	}
	for i := range c.n {
		switch {
		case s.FinalUnknown != nil && s.FinalUnknown[i] && !s.Ended(i):
			return fmt.Errorf("FinalUnknown: environment %d is neither terminated nor truncated", i)
		case s.ResetOnly(i) && s.Raw()[i] != 0:
			return fmt.Errorf("Invalid: environment %d only reset, and has the reward %g; it must be 0", i, s.Raw()[i])
		case s.ResetOnly(i) && c.lengths[i] > 0:
			return fmt.Errorf("Invalid: environment %d only reset, %d steps into an episode", i, c.lengths[i])
		}
	}
	return nil
}

// checkFinals verifies the last observations and states of the episodes that ended. Rows that are undefined are not
// read.
func (c *Checker) checkFinals(s *Step) error {
	any := false
	for i := range c.n {
		any = any || s.Ended(i)
	}
	if !any {
		if s.FinalObservations != nil || s.FinalStates != nil {
			return errors.New("FinalObservations and FinalStates must be nil when no episode ended")
		}
		return nil
	}
	for _, f := range []struct {
		name  string
		space spaces.Space
		rows  []float32
	}{{"FinalObservations", c.set.Observation, s.FinalObservations}, {"FinalStates", c.set.State, s.FinalStates}} {
		w := f.space.Width()
		if len(f.rows) != c.n*w {
			return fmt.Errorf("%s has %d values where episodes ended; it must have %d (%d environments × %d)", f.name,
				len(f.rows), c.n*w, c.n, w)
		}
		if w == 0 {
			continue
		}
		for i := range c.n {
			if !s.FinalKnown(i) {
				continue
			}
			if err := f.space.Check(f.rows[i*w:(i+1)*w], 1); err != nil {
				return fmt.Errorf("%s: the row of environment %d: %w", f.name, i, err)
			}
		}
	}
	return nil
}

// checkEpisodes verifies that the reported episodes are exactly those that ended, in order, with the right lengths.
func (c *Checker) checkEpisodes(s *Step) error {
	for i := range c.n {
		if c.lengths[i] >= 0 && !s.ResetOnly(i) {
			c.lengths[i]++
		}
	}
	last := -1
	for _, e := range s.Episodes {
		switch {
		case e.Env < 0 || e.Env >= c.n:
			return fmt.Errorf("Episodes: environment %d is not one of %d", e.Env, c.n)
		case e.Env <= last:
			return fmt.Errorf("Episodes: environment %d comes after %d; they must be in order", e.Env, last)
		case !s.Ended(e.Env):
			return fmt.Errorf("Episodes: environment %d is neither terminated nor truncated", e.Env)
		case math.IsNaN(e.Return) || math.IsInf(e.Return, 0):
			return fmt.Errorf("Episodes: environment %d has the return %g; it must be finite", e.Env, e.Return)
		case c.lengths[e.Env] >= 0 && e.Length != c.lengths[e.Env]:
			return fmt.Errorf("Episodes: environment %d has the length %d after %d steps", e.Env, e.Length,
				c.lengths[e.Env])
		}
		last = e.Env
	}
	next := 0 // Episodes are in order
	for i := range c.n {
		if !s.Ended(i) {
			continue
		}
		if next == len(s.Episodes) || s.Episodes[next].Env != i {
			return fmt.Errorf("Episodes: environment %d is terminated or truncated, but its episode is not listed", i)
		}
		c.lengths[i] = 0
		next++
	}
	return nil
}

// checkRows verifies n rows of a space. name is the field of Step that holds them.
func checkRows(name string, space spaces.Space, rows []float32, n int) error {
	if space.Kind == spaces.None && rows != nil {
		return fmt.Errorf("%s is set, but its space is None", name)
	}
	if err := space.Check(rows, n); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
