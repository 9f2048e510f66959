package envs_test

import (
	"encoding/binary"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// counter counts the steps of an episode. Its last observation also has a number that was drawn at the beginning.
type counter struct {
	steps, length int
	drawn         uint32
	fault         string // "forget": the number is no part of the state; "save": saving changes the environment
}

func (c *counter) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(2), State: spaces.Unbounded(1), Action: spaces.NewDiscrete(2),
		AMPObservation: spaces.Unbounded(1)}
}

func (c *counter) Reset(rng *rand.Rand, out envs.Row) error {
	c.steps, c.drawn = 0, rng.Uint32()
	clear(out.Observation)
	return nil
}

func (c *counter) Step(_ []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	c.steps++
	out.Observation[0] = float32(c.steps)
	if truncated = c.steps >= c.length; truncated {
		out.Observation[1] = float32(c.drawn)
	}
	return float64(c.length), false, truncated, nil
}

func (c *counter) Close() error { return nil }

func (c *counter) MarshalState() ([]byte, error) {
	b := binary.LittleEndian.AppendUint32([]byte{byte(c.steps)}, c.drawn)
	switch c.fault {
	case "forget":
		clear(b[1:])
	case "save":
		c.steps--
	}
	return b, nil
}

func (c *counter) RestoreState(b []byte) error {
	c.steps, c.drawn = int(b[0]), binary.LittleEndian.Uint32(b[1:])
	return nil
}

// batch spoils what two environments return.
type batch struct {
	envs.Env
	hurt func(*envs.Step)
	lax  bool // accepts any number of actions
}

func (b *batch) Unwrap() envs.Env { return b.Env }

func (b *batch) Step(actions []float32) (*envs.Step, error) {
	if b.lax {
		actions = make([]float32, 2)
	}
	s, err := b.Env.Step(actions)
	if err == nil && b.hurt != nil {
		b.hurt(s)
	}
	return s, err
}

func two(t *testing.T, hurt func(*envs.Step), create func(i int) envs.Single) *batch {
	env := must.Get(wrappers.NewParallel(2, func(i int) (envs.Single, error) { return create(i), nil },
		wrappers.ParallelOptions{}))(t)
	return &batch{Env: env, hurt: hurt}
}

// counters are two, whose episodes have three steps and two.
func counters(t *testing.T, hurt func(*envs.Step)) *batch {
	return two(t, hurt, func(i int) envs.Single { return &counter{length: 3 - i} })
}

func TestCheckFinds(t *testing.T) {
	nan := float32(math.NaN())
	ended := func(f func(*envs.Step)) func(*envs.Step) {
		return func(s *envs.Step) {
			if len(s.Episodes) > 0 {
				f(s)
			}
		}
	}
	for _, c := range []struct {
		hurt func(*envs.Step)
		want string
	}{
		{func(s *envs.Step) { s.Rewards[len(s.Rewards)] = 1 },
			"envs: the environment (*envs_test.batch) panicked: runtime error: index out of range [2] with length 2 " +
				"at envs_test.TestCheckFinds (checker_test.go:"},
		{func(s *envs.Step) { s.Observations[3] = nan },
			"Observations: spaces: Box(2): environment 1, dimension 1 is NaN"},
		{func(s *envs.Step) { s.AMPObservations[0] = float32(math.Inf(1)) },
			"AMPObservations: spaces: Box(1): environment 0, dimension 0 is +Inf"},
		{func(s *envs.Step) { s.Rewards[1] = nan }, "Rewards: environment 1 is NaN"},
		{func(s *envs.Step) { s.Rewards = s.Rewards[:1] }, "have 1, 2 and 2 values; each must have 2"},
		{func(s *envs.Step) { s.FinalObservations = make([]float32, 4) }, "must be nil when no episode ended"},
		{ended(func(s *envs.Step) { s.FinalObservations = nil }),
			"FinalObservations has 0 values where episodes ended; it must have 4"},
		{ended(func(s *envs.Step) { s.FinalObservations[3] = nan }), "FinalObservations: the row of environment 1"},
		{func(s *envs.Step) { s.FinalUnknown = make([]bool, 1) }, "FinalUnknown has 1 values; it must have 2"},
		{func(s *envs.Step) { s.FinalUnknown = []bool{true, false} }, "FinalUnknown: environment 0 is neither"},
		{func(s *envs.Step) { s.Invalid = []bool{false, true} },
			"Invalid: environment 1 only reset, and has the reward 2"},
		{ended(func(s *envs.Step) { s.Invalid, s.Rewards = []bool{true, false}, make([]float32, 2) }),
			"Invalid: environment 0 only reset, 1 steps into"},
		{ended(func(s *envs.Step) { s.Episodes[0].Length++ }), "after 2 steps"},
		{ended(func(s *envs.Step) { s.Episodes = nil }),
			"Episodes: environment 1 is terminated or truncated, but its episode is not listed"},
		{ended(func(s *envs.Step) { s.Episodes[0].Return = math.NaN() }), "has the return NaN"},
		{ended(func(s *envs.Step) { s.Episodes = append(s.Episodes, s.Episodes[0]) }), "must be in order"},
		{ended(func(s *envs.Step) {
			s.Truncated[s.Episodes[0].Env] = false
			s.FinalObservations, s.FinalStates = nil, nil
		}),
			"is neither terminated nor truncated"},
	} {
		must.Refuse(t, envs.Check(counters(t, c.hurt), 20, 4), "envs: ", c.want)
	}
	lax := counters(t, nil)
	lax.lax = true
	must.Refuse(t, envs.Check(lax, 20, 4), "accepted 1 action values")
	calls := 0
	unset := counters(t, func(s *envs.Step) { calls++; s.Observations[0] = float32(calls) })
	must.Refuse(t, envs.Check(unset, 20, 4), "different observations the second time")
	must.Refuse(t, envs.Check(nil, 1, 0), "envs: ")
	c := must.Get(envs.Checked(counters(t, nil)))(t)
	must.Get(c.Reset(0))(t)
	must.Refused(c.Step([]float32{0, 2}))(t, "envs: actions: ", "environment 1, dimension 0 is 2")
}

// shell wraps an environment and has nothing of its own.
type shell struct{ envs.Env }

func (s shell) Unwrap() envs.Env { return s.Env }

// drawn draws an environment, and hides what else it can do.
type drawn struct {
	envs.Env
	supports bool
}

func (d *drawn) Render(int) (image.Image, error) { return image.White, nil }
func (d *drawn) Supports(any) bool               { return d.supports }

func TestAs(t *testing.T) {
	env := envs.Env(shell{shell{&drawn{supports: true}}})
	if _, ok := envs.As[envs.Renderer](env); !ok {
		t.Error("the renderer inside two wrappers was not found")
	}
	if _, ok := envs.As[envs.Renderer](shell{&drawn{}}); ok {
		t.Error("found a renderer that says that it does not work")
	}
	checked := must.Get(envs.Checked(&drawn{counters(t, nil), true}))(t)
	if _, ok := envs.As[envs.Renderer](checked); !ok {
		t.Error("a Checker hides the renderer inside")
	}
	if _, ok := envs.As[envs.Stateful](checked); ok {
		t.Error("a Checker claims to be stateful around an environment that is not")
	}
}

// stale shows other observations than those to act on.
type stale struct{ *batch }

func (stale) Observe() (*envs.Step, error) {
	return &envs.Step{Observations: make([]float32, 4), States: make([]float32, 2)}, nil
}

// Check plays on from a restored state, and finds what MarshalState leaves out, changes, or does not show.
func TestCheckPlaysRestore(t *testing.T) {
	faulty := func(fault string) envs.Env {
		return two(t, nil, func(i int) envs.Single { return &counter{length: 9 - i, fault: fault} })
	}
	must.Do(t, envs.Check(faulty(""), 20, 4))
	for want, env := range map[string]envs.Env{
		"after RestoreState, with the same actions, FinalObservations of environment ":  faulty("forget"),
		"MarshalState changes the environment: 1 steps after it, with the same actions": faulty("save"),
		"Observe returns other Observations of environment 0":                           stale{counters(t, nil)},
	} {
		must.Refuse(t, envs.Check(env, 20, 4), want)
	}
}
