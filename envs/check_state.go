package envs

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/spaces"
)

// A resumed run equals an uninterrupted one, bit for bit, only if a restored environment continues exactly as the
// saved one did. Check therefore plays the same actions three times from one state, and once more with other actions
// of the seats that do not act.

// tail is the number of steps that are compared after an episode has ended in every environment: the first steps of
// new episodes.
const tail = 5

// checkState verifies MarshalState, RestoreState and Observe of an environment that has them. It starts in the middle
// of an episode, and compares until tail steps after an episode has ended in every environment, but at most steps
// steps.
func checkState(c *Checker, steps int, rng *rand.Rand) error {
	s, ok := As[Stateful](c.env)
	if !ok {
		return nil
	}
	now, err := c.inEpisode(rng)
	if err != nil {
		return err
	}
	before := digest(now, c.n)
	state, err := s.MarshalState()
	if err != nil {
		return fmt.Errorf("envs: MarshalState: %w", err)
	}
	state = slices.Clone(state)
	actions, varied, original, err := c.record(steps, rng)
	if err != nil {
		return err
	}
	// replay resets the environment, restores the state, and plays the actions. If saves is true, it calls
	// MarshalState before the first action.
	replay := func(actions [][]float32, saves bool) ([]fields, error) {
		if _, err := c.Reset(-1); err != nil {
			return nil, err
		}
		if err := c.RestoreState(state); err != nil {
			return nil, fmt.Errorf("envs: RestoreState of a state that MarshalState has just returned: %w", err)
		}
		if o, ok := As[Observer](c.env); ok {
			observed, err := o.Observe()
			if err != nil {
				return nil, fmt.Errorf("envs: Observe after RestoreState: %w", err)
			}
			if err := c.checkReset(observed); err != nil {
				return nil, fmt.Errorf("envs: Observe after RestoreState: %w", err)
			}
			if what := digest(observed, c.n).difference(before); what != "" {
				return nil, fmt.Errorf("envs: after RestoreState, Observe returns other %s than when the state was "+
					"saved; MarshalState must save what the environment showed last", what)
			}
		}
		if saves {
			if _, err := s.MarshalState(); err != nil {
				return nil, fmt.Errorf("envs: MarshalState after RestoreState: %w", err)
			}
		}
		out := make([]fields, len(actions))
		for k, row := range actions {
			s, err := c.Step(row)
			if err != nil {
				return nil, err
			}
			out[k] = digest(s, c.n)
		}
		return out, nil
	}
	restored, err := replay(actions, false)
	if err != nil {
		return err
	}
	saved, err := replay(actions, true)
	if err != nil {
		return err
	}
	if k, what := differs(saved, restored); what != "" {
		return fmt.Errorf("envs: MarshalState changes the environment: %d steps after it, with the same actions, %s "+
			"differs; it must only read", k, what)
	}
	if k, what := differs(restored, original); what != "" {
		return fmt.Errorf("envs: a restored environment goes on differently from the saved one: %d steps after "+
			"RestoreState, with the same actions, %s differs; MarshalState must save all that later steps depend on, "+
			"random generators included", k, what)
	}
	if c.seats.k == 0 {
		return nil
	}
	others, err := replay(varied, false)
	if err != nil {
		return fmt.Errorf("%w (with other actions of the seats that do not act)", err)
	}
	if _, what := differs(others, original); what != "" {
		return fmt.Errorf("envs: other actions of seats that are not active change %s; their actions must have no "+
			"effect", what)
	}
	return nil
}

// differs returns the number of the first step, from 1, whose digests differ, and what differs; otherwise "".
func differs(a, b []fields) (step int, what string) {
	for k := range a {
		if what := a[k].difference(b[k]); what != "" {
			return k + 1, what
		}
	}
	return 0, ""
}

// inEpisode steps until an environment is in the middle of an episode, and returns the present observations.
func (c *Checker) inEpisode(rng *rand.Rand) (now *Step, err error) {
	actions := make([]float32, c.n*c.set.Action.Width())
	for range 2 { // the first step may end an episode
		c.sample(rng, actions)
		if now, err = c.Step(actions); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(c.lengths, func(n int) bool { return n != 0 }) {
			break
		}
	}
	return &Step{Observations: now.Observations, States: now.States, ActionMasks: now.ActionMasks,
		Seats: spaces.SeatStep{Active: now.Seats.Active}}, nil
}

// record takes random actions until tail steps after an episode has ended in every environment, but at most steps. It
// returns the actions, the same with other ones of seats that do not act, and a digest of each Step.
func (c *Checker) record(steps int, rng *rand.Rand) (actions, varied [][]float32, out []fields, err error) {
	ended, left := make([]bool, c.n), tail
	for range steps {
		row := make([]float32, c.n*c.set.Action.Width())
		c.sample(rng, row)
		varied = append(varied, c.seats.vary(row, rng))
		s, err := c.Step(row)
		if err != nil {
			return nil, nil, nil, err
		}
		actions, out = append(actions, row), append(out, digest(s, c.n))
		for i := range ended {
			ended[i] = ended[i] || s.Ended(i)
		}
		if !slices.Contains(ended, false) {
			if left--; left == 0 {
				break
			}
		}
	}
	return actions, varied, out, nil
}

// fields are the checksums of a Step's fields, by name and environment.
type fields map[string][]uint64

// digest returns the checksums of a Step of n environments. It leaves out Metrics, which may hold times, and the final
// observations of environments whose episode did not end, which are undefined.
func digest(s *Step, n int) fields {
	out := fields{}
	for field, rows := range map[string][]float32{"Observations": s.Observations, "States": s.States,
		"ActionMasks": s.ActionMasks, "Seats.Active": numbers(s.Seats.Active), "Rewards": s.Rewards,
		"RawRewards": s.Raw(), "AMPObservations": s.AMPObservations, "FinalObservations": s.FinalObservations,
		"FinalStates":   s.FinalStates,
		"Seats.Rewards": s.Seats.Rewards, "Terminated": numbers(s.Terminated), "Truncated": numbers(s.Truncated),
		"FinalUnknown": numbers(s.FinalUnknown), "Invalid": numbers(s.Invalid),
		"Seats.Terminated": numbers(s.Seats.Terminated), "Seats.Truncated": numbers(s.Seats.Truncated)} {
		out[field] = make([]uint64, n)
		for i, w := 0, len(rows)/n; i < n && w > 0; i++ {
			if !strings.HasPrefix(field, "Final") || field == "FinalUnknown" || s.FinalKnown(i) {
				out[field][i] = sum(rows[i*w : (i+1)*w])
			}
		}
	}
	episodes := make([]uint64, n)
	for _, e := range s.Episodes {
		values := []float64{e.Return, float64(e.Length)}
		for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
			values = append(values, e.Metrics[name])
		}
		episodes[e.Env] = sum(values)
	}
	out["Episodes"] = episodes
	return out
}

// numbers returns 1 for true and 0 for false.
func numbers(flags []bool) []float32 {
	out := make([]float32, len(flags))
	for i, on := range flags {
		if on {
			out[i] = 1
		}
	}
	return out
}

// sum returns a checksum of the bits of numbers: FNV-1a over 64-bit words instead of bytes.
func sum[F float32 | float64](values []F) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range values {
		h = (h ^ math.Float64bits(float64(x))) * 1099511628211
	}
	return h
}

// difference returns the name of the first field and environment that differ, or "" if all are equal.
func (f fields) difference(other fields) string {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for i, x := range f[name] {
			if x != other[name][i] {
				return fmt.Sprintf("%s of environment %d", name, i)
			}
		}
	}
	return ""
}
