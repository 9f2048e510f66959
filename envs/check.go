package envs

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/panics"
)

// Check drives env for steps steps with random actions and returns the first breach of the contract of [Env]. The
// error names the field, the environment and the dimension. See [Checked] for what is verified of every step.
//
// Beyond that, too few actions must be refused. The same seed must give the same first observations and, with the
// same actions, the same ones one step later. If env has a state ([Stateful]), neither MarshalState nor RestoreState
// may change what follows: observations, rewards, ends and episodes must be equal bit for bit. Nor may the actions of
// seats that are not active.
//
// Custom environments should have a test that calls Check with enough steps for episodes to end. The environment is
// left in the middle of an episode, not closed. If env panics, Check returns a [*PanicError].
func Check(env Env, steps int, seed int64) error {
	return panics.Guard(fmt.Sprintf("envs: the environment (%T)", env), func() error { return check(env, steps, seed) })
}

// check does what [Check] says. A panic of the environment is caught by Check.
func check(env Env, steps int, seed int64) error {
	if steps <= 0 || seed < 0 {
		return fmt.Errorf("envs: Check needs a positive number of steps and a seed of at least 0, got %d and %d", steps,
			seed)
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
		return fmt.Errorf("envs: Step accepted %d action values, it must refuse all but %d", len(actions)-1,
			len(actions))
	}
	if _, err := c.Reset(-1); err != nil {
		return err
	}
	for range steps {
		c.sample(rng, actions)
		if _, err := c.Step(actions); err != nil {
			return err
		}
	}
	first2, second2, err := begin(c, seed)
	if err != nil {
		return err
	}
	if !slices.Equal(first, first2) {
		return fmt.Errorf(
			"envs: Reset(%d) gave different observations the second time; seed every source of randomness",
			seed)
	}
	if !slices.Equal(second, second2) {
		return fmt.Errorf("envs: the first step after Reset(%d) gave different observations the second time; seed "+
			"every source of randomness and reset all state", seed)
	}
	return checkState(c, steps, rng)
}

// begin resets with seed, takes one step with actions drawn from seed, and returns copies of both observations (N,
// O).
func begin(c *Checker, seed int64) (first, second []float32, err error) {
	s, err := c.Reset(seed)
	if err != nil {
		return nil, nil, err
	}
	first = slices.Clone(s.Observations)
	actions := make([]float32, c.n*c.set.Action.Width())
	c.sample(rand.New(rand.NewPCG(uint64(seed), 0)), actions)
	if s, err = c.Step(actions); err != nil {
		return nil, nil, err
	}
	return first, slices.Clone(s.Observations), nil
}
