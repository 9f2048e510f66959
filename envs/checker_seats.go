package envs

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/spaces"
)

// seatChecker is the part of a [Checker] for environments with seats. Without seats it verifies that Step.Seats is
// empty.
type seatChecker struct {
	// set describes one environment, n is the number of environments and k that of seats.
	set  spaces.Set
	n, k int
	// out (N, K) is true for seats whose own episodes have ended. It is not read for environments whose episode has an
	// unknown length (-1, after RestoreState).
	out []bool
	// active (N, K) reports which seats act next. It shares the memory of the last step.
	active []bool
}

func newSeatChecker(n int, set spaces.Set) seatChecker {
	return seatChecker{set: set, n: n, k: len(set.Seats), out: make([]bool, n*len(set.Seats))}
}

// checkNext verifies Seats.Active: at least one seat acts next in every environment, and no seat that is out.
func (c *seatChecker) checkNext(s *Step, lengths []int) error {
	c.active = s.Seats.Active
	if len(c.active) != c.n*c.k {
		return fmt.Errorf("Seats.Active has %d values; it must have %d (%d environments × %d seats)", len(c.active),
			c.n*c.k, c.n, c.k)
	}
	for i := range c.n {
		acts := c.k == 0
		for j := i * c.k; j < (i+1)*c.k; j++ {
			if c.active[j] && c.out[j] && lengths[i] >= 0 {
				return fmt.Errorf("Seats.Active: %s has ended, and is active", c.name(j))
			}
			acts = acts || c.active[j]
		}
		if !acts {
			return fmt.Errorf("Seats.Active: no seat of environment %d acts next; an episode ends when none can act", i)
		}
	}
	if err := c.set.CheckSeats(s.ActionMasks, c.active); err != nil {
		return fmt.Errorf("ActionMasks: %w", err)
	}
	return nil
}

// checkStep verifies the rewards and ends of the seats, and then Seats.Active. lengths are the episodes' lengths before
// the step, -1 if unknown.
func (c *seatChecker) checkStep(s *Step, lengths []int) error {
	if err := s.Seats.Check(c.n, c.k); err != nil {
		return err
	}
	for i := range c.n {
		if c.k > 0 && !s.ResetOnly(i) {
			if err := c.checkSeats(s, i, lengths[i] >= 0); err != nil {
				return err
			}
		}
	}
	return c.checkNext(s, lengths)
}

// checkSeats verifies the seats of environment i, and records which of them are out afterwards. known is false if it is
// unknown which were out before.
func (c *seatChecker) checkSeats(s *Step, i int, known bool) error {
	sum, size := 0.0, 0.0
	for j := i * c.k; j < (i+1)*c.k; j++ {
		reward, ends := float64(s.Seats.Rewards[j]), s.Seats.Terminated[j] || s.Seats.Truncated[j]
		sum, size = sum+reward, size+math.Abs(reward)
		gone := known && c.out[j]
		switch {
		case gone && ends:
			return fmt.Errorf("Seats: %s ends a second time in one episode", c.name(j))
		case gone && reward != 0:
			return fmt.Errorf("Seats: %s has ended before, and has the reward %g; it must be 0", c.name(j), reward)
		case known && s.Ended(i) && !gone && !ends:
			return fmt.Errorf("Seats: the episode of environment %d has ended, and %s is neither terminated nor "+
				"truncated", i, c.name(j))
		}
		c.out[j] = (c.out[j] || ends) && !s.Ended(i)
	}
	// Both numbers were rounded to float32.
	if got := float64(s.Rewards[i]); math.Abs(got-sum) > 1e-6*(size+math.Abs(got)) {
		return fmt.Errorf("Rewards: environment %d has %g, and its seats %g together; they must be equal", i, got, sum)
	}
	return nil
}

// name names seat j of all (N, K), for errors.
func (c *seatChecker) name(j int) string {
	return fmt.Sprintf("seat %s of environment %d", c.set.Seats[j%c.k].Name, j/c.k)
}

// vary returns a copy of actions (N, A) with random actions of the seats that are not active, or nil without seats.
// Such actions have no effect, so the environment must return the same for both.
func (c *seatChecker) vary(actions []float32, rng *rand.Rand) []float32 {
	if c.k == 0 {
		return nil
	}
	varied := make([]float32, len(actions))
	c.set.Action.Sample(rng, varied)
	at := 0
	for j, active := range c.active {
		w := c.set.Seats[j%c.k].Action.Width()
		if active {
			copy(varied[at:at+w], actions[at:])
		}
		at += w
	}
	return varied
}
