package envs

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Check drives env for steps steps with random actions and returns the first breach of the contract of [Env], in
// words that name the field, the environment and the dimension: see [Checked] for what is verified of every
// step. Beyond that, too few actions must be refused, and the same seed must give the same first
// observations and, with the same actions, the same ones one step later. If env is [Stateful] and an [Observer], Check
// saves and restores its state: everything that follows must be equal, bit for bit. Custom environments deserve a test
// that calls it with enough steps for episodes to end. The environment is left in the middle of an episode, not closed.
func Check(env Env, steps int, seed int64) error {
	if steps <= 0 || seed < 0 {
		return fmt.Errorf("envs: Check needs a positive number of steps and a seed of at least 0, got %d and %d", steps, seed)
	}
	c, err := Checked(env)
	if err != nil {
		return err
	}
	first, second, err := begin(c, seed)
	if err != nil {
		return err
	}
	actions := make([]float32, c.n*c.set.Action.Width())
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	if _, err := env.Step(actions[:len(actions)-1]); err == nil {
		return fmt.Errorf("envs: Step accepted %d action values, it must refuse all but %d", len(actions)-1, len(actions))
	}
	if _, err := c.Reset(-1); err != nil {
		return err
	}
	for range steps {
		c.set.Action.Sample(rng, actions)
		if _, err := c.Step(actions); err != nil {
			return err
		}
	}
	first2, second2, err := begin(c, seed)
	if err != nil {
		return err
	}
	if !slices.Equal(first, first2) {
		return fmt.Errorf("envs: Reset(%d) gave different observations the second time; seed every source of randomness",
			seed)
	}
	if !slices.Equal(second, second2) {
		return fmt.Errorf("envs: the first step after Reset(%d) gave different observations the second time; seed every source of randomness and reset all state", seed)
	}
	return checkState(c, steps, seed)
}

// checkState saves the state in mid-run, plays steps steps, restores the state and plays the same steps again. Twice:
// the second time MarshalState is called before every step, and must change nothing.
func checkState(c *Checker, steps int, seed int64) error {
	state, ok := As[Stateful](c.env)
	observer, shows := As[Observer](c.env)
	if !ok || !shows {
		return nil
	}
	if _, _, err := begin(c, seed); err != nil {
		return err
	}
	now, err := observer.Observe()
	if err != nil {
		return fmt.Errorf("envs: Observe: %w", err)
	}
	first := copyStep(now)
	// unchanged compares what Observe gives with what it gave at first.
	unchanged := func(after string) error {
		now, err := observer.Observe()
		if err != nil {
			return fmt.Errorf("envs: Observe after %s: %w", after, err)
		}
		if field := differs(first, now); field != "" {
			return fmt.Errorf("envs: after %s Observe gives other %s than before MarshalState; "+
				"save what they are made of, and change nothing", after, field)
		}
		return nil
	}
	saved, err := state.MarshalState()
	if err != nil {
		return fmt.Errorf("envs: MarshalState: %w", err)
	}
	if err := unchanged("MarshalState"); err != nil {
		return err
	}
	played, err := play(c, steps, seed, func() error { return nil })
	if err != nil {
		return err
	}
	if err := c.RestoreState(saved); err != nil {
		return fmt.Errorf("envs: RestoreState refused what MarshalState returned: %w", err)
	}
	if err := unchanged("RestoreState"); err != nil {
		return err
	}
	again, err := play(c, steps, seed, func() error { _, err := state.MarshalState(); return err })
	if err != nil {
		return err
	}
	for k := range played {
		if field := differs(played[k], again[k]); field != "" {
			return fmt.Errorf("envs: %d steps after RestoreState %s differ from those of the first time; "+
				"MarshalState must save all state, episodes in progress and random generators too, and change nothing",
				k+1, field)
		}
	}
	return nil
}

// play takes steps random steps and returns copies of them. before is called ahead of each.
func play(c *Checker, steps int, seed int64, before func() error) ([]*Step, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), 2))
	actions := make([]float32, c.n*c.set.Action.Width())
	played := make([]*Step, 0, steps)
	for range steps {
		if err := before(); err != nil {
			return nil, fmt.Errorf("envs: MarshalState: %w", err)
		}
		c.set.Action.Sample(rng, actions)
		s, err := c.Step(actions)
		if err != nil {
			return nil, err
		}
		played = append(played, copyStep(s))
	}
	return played, nil
}

// copyStep returns a step that the environment does not overwrite, without its metrics.
func copyStep(s *Step) *Step {
	return &Step{Observations: slices.Clone(s.Observations), States: slices.Clone(s.States),
		Rewards: slices.Clone(s.Rewards), Terminated: slices.Clone(s.Terminated), Truncated: slices.Clone(s.Truncated),
		AMPObservations: slices.Clone(s.AMPObservations), Episodes: slices.Clone(s.Episodes)}
}

// differs names the first field in which two steps differ, "" if there is none.
func differs(a, b *Step) string {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"Observations", slices.Equal(a.Observations, b.Observations)},
		{"States", slices.Equal(a.States, b.States)},
		{"Rewards", slices.Equal(a.Rewards, b.Rewards)},
		{"Terminated", slices.Equal(a.Terminated, b.Terminated)},
		{"Truncated", slices.Equal(a.Truncated, b.Truncated)},
		{"AMPObservations", slices.Equal(a.AMPObservations, b.AMPObservations)},
		{"Episodes", slices.EqualFunc(a.Episodes, b.Episodes, func(x, y Episode) bool {
			return x.Env == y.Env && x.Return == y.Return && x.Length == y.Length
		})},
	} {
		if !f.same {
			return f.name
		}
	}
	return ""
}

// begin resets and takes one step, and returns both observations.
func begin(c *Checker, seed int64) (first, second []float32, err error) {
	s, err := c.Reset(seed)
	if err != nil {
		return nil, nil, err
	}
	first = slices.Clone(s.Observations)
	actions := make([]float32, c.n*c.set.Action.Width())
	c.set.Action.Sample(rand.New(rand.NewPCG(uint64(seed), 0)), actions)
	if s, err = c.Step(actions); err != nil {
		return nil, nil, err
	}
	return first, slices.Clone(s.Observations), nil
}
