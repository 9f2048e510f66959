package envs

import (
	"errors"
	"image"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// counter is two environments whose episodes end after three steps; hurt spoils what they return.
type counter struct {
	t    [2]int
	seed int64
	hurt func(*Step)
	lax  bool // accepts any number of actions
}

func (c *counter) NumEnvs() int { return 2 }

func (c *counter) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(2), State: spaces.Unbounded(1), Action: spaces.NewDiscrete(2),
		AMPObservation: spaces.Unbounded(1)}
}

func (c *counter) observations() []float32 {
	return []float32{float32(c.t[0]), float32(c.seed), float32(c.t[1]), float32(c.seed)}
}

func (c *counter) Reset(seed int64) (*Step, error) {
	c.t = [2]int{0, 1}
	if seed >= 0 {
		c.seed = seed
	}
	return &Step{Observations: c.observations(), States: make([]float32, 2)}, nil
}

func (c *counter) Step(actions []float32) (*Step, error) {
	if len(actions) != 2 && !c.lax {
		return nil, errors.New("counter: wrong number of actions")
	}
	s := &Step{States: make([]float32, 2), Rewards: []float32{1, 2}, Terminated: make([]bool, 2),
		Truncated: make([]bool, 2), AMPObservations: make([]float32, 2)}
	for i := range c.t {
		c.t[i]++
		if c.t[i] < 3 {
			continue
		}
		s.Truncated[i] = true
		s.FinalObservations, s.FinalStates = c.observations(), make([]float32, 2)
		length := 3
		if i == 1 && c.seed >= 0 {
			length, c.seed = 2, -c.seed-1 // the second one's first episode is a step shorter
		}
		s.Episodes = append(s.Episodes, Episode{Env: i, Return: 1, Length: length})
	}
	for i := range c.t {
		if s.Truncated[i] {
			c.t[i] = 0
		}
	}
	s.Observations = c.observations()
	if c.hurt != nil {
		c.hurt(s)
	}
	return s, nil
}

func (c *counter) Close() error { return nil }

func TestCheckFinds(t *testing.T) {
	nan := float32(math.NaN())
	ended := func(f func(*Step)) func(*Step) {
		return func(s *Step) {
			if len(s.Episodes) > 0 {
				f(s)
			}
		}
	}
	for _, c := range []struct {
		hurt func(*Step)
		want string
	}{
		{func(s *Step) { s.Rewards[len(s.Rewards)] = 1 },
			"envs: the environment (*envs.counter) panicked: runtime error: index out of range [2] with length 2 " +
				"at envs.TestCheckFinds (checker_test.go:"},
		{func(s *Step) { s.Observations[3] = nan }, "Observations: spaces: Box(2): environment 1, dimension 1 is NaN"},
		{func(s *Step) { s.Observations = s.Observations[:3] }, "Observations: spaces: Box(2): got 3 values, want 4"},
		{func(s *Step) { s.States = nil }, "States: spaces: Box(1): got 0 values"},
		{func(s *Step) { s.AMPObservations[0] = float32(math.Inf(1)) },
			"AMPObservations: spaces: Box(1): environment 0, dimension 0 is +Inf"},
		{func(s *Step) { s.Rewards[1] = nan }, "Rewards: environment 1 is NaN"},
		{func(s *Step) { s.Rewards = s.Rewards[:1] }, "have 1, 2 and 2 values; each must have 2"},
		{func(s *Step) { s.Terminated = nil }, "have 2, 0 and 2 values"},
		{func(s *Step) { s.FinalObservations = make([]float32, 4) }, "must be nil when no episode ended"},
		{ended(func(s *Step) { s.FinalObservations = nil }),
			"FinalObservations has 0 values where episodes ended; it must have 4"},
		{ended(func(s *Step) { s.FinalStates = s.FinalStates[:1] }), "FinalStates has 1 values"},
		{ended(func(s *Step) { s.FinalObservations[3] = nan }), "FinalObservations: the row of environment 1"},
		{func(s *Step) { s.FinalUnknown = make([]bool, 1) }, "FinalUnknown has 1 values; it must have 2"},
		{func(s *Step) { s.Invalid = make([]bool, 3) }, "Invalid has 3 values; it must have 2"},
		{func(s *Step) { s.FinalUnknown = []bool{true, false} }, "FinalUnknown: environment 0 is neither"},
		{func(s *Step) { s.Invalid = []bool{false, true} }, "Invalid: environment 1 only reset, and has the reward 2"},
		{ended(func(s *Step) { s.Invalid, s.Rewards = []bool{true, false}, make([]float32, 2) }),
			"Invalid: environment 0 only reset, 1 steps into"},
		{ended(func(s *Step) { s.Episodes[0].Env = 2 }), "environment 2 is not one of 2"},
		{ended(func(s *Step) { s.Episodes[0].Length++ }), "after 2 steps"},
		{ended(func(s *Step) { s.Episodes = nil }),
			"Episodes: environment 1 is terminated or truncated, but its episode is not listed"},
		{ended(func(s *Step) { s.Episodes[0].Return = math.NaN() }), "has the return NaN"},
		{ended(func(s *Step) { s.Episodes = append(s.Episodes, s.Episodes[0]) }), "must be in order"},
		{ended(func(s *Step) { s.Truncated[s.Episodes[0].Env] = false; s.FinalObservations, s.FinalStates = nil, nil }),
			"is neither terminated nor truncated"},
	} {
		if err := Check(&counter{hurt: c.hurt}, 20, 4); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "envs: ") {
			t.Errorf("error %v, want it to contain %q", err, c.want)
		}
	}
	must.Fail(t, Check(&counter{lax: true}, 20, 4), "accepted 1 action values")
	calls := 0
	if err := Check(&counter{hurt: func(s *Step) { calls++; s.Observations[0] = float32(calls) }}, 20, 4); err == nil ||
		!strings.Contains(err.Error(), "different observations the second time") {
		t.Errorf("an environment that does not reset: %v", err)
	}
}

func TestCheckRefusesItsArguments(t *testing.T) {
	for _, err := range []error{Check(nil, 1, 0), Check(&counter{}, 0, 0), Check(&counter{}, 1, -1)} {
		if err == nil || !strings.HasPrefix(err.Error(), "envs: ") {
			t.Errorf("error %v", err)
		}
	}
}

func TestCheckerVerifiesActions(t *testing.T) {
	c := must.Get(Checked(&counter{}))(t)
	must.Get(c.Reset(0))(t)
	_, err := c.Step([]float32{0, 2})
	must.Fail(t, err, "environment 1, dimension 0 is 2")
}

// shell wraps an environment and has nothing of its own.
type shell struct{ Env }

func (s shell) Unwrap() Env { return s.Env }

// drawn is a counter that draws itself.
type drawn struct {
	counter
	supports bool
}

func (d *drawn) Render(int) (image.Image, error) { return image.White, nil }
func (d *drawn) Supports(any) bool               { return d.supports }

func TestAs(t *testing.T) {
	env := Env(shell{shell{&drawn{supports: true}}})
	if _, ok := As[Renderer](env); !ok {
		t.Error("the renderer inside two wrappers was not found")
	}
	if d, ok := As[*drawn](env); !ok || d == nil {
		t.Error("the concrete type was not found")
	}
	for name, env := range map[string]Env{"says that it does not work": shell{&drawn{}}, "is nil": nil,
		"is inside an empty wrapper": shell{}} {
		if _, ok := As[Renderer](env); ok {
			t.Errorf("found a renderer that %s", name)
		}
	}
	checked := must.Get(Checked(&drawn{supports: true}))(t)
	if _, ok := As[Renderer](checked); !ok {
		t.Error("a Checker hides the renderer inside")
	}
	if _, ok := As[Stateful](checked); ok {
		t.Error("a Checker claims to be stateful around an environment that is not")
	}
	if _, err := checked.MarshalState(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

func TestCheckerAfterRestoring(t *testing.T) {
	saved := &saved{}
	c := must.Get(Checked(saved))(t)
	if _, ok := As[Stateful](c); !ok {
		t.Fatal("the state inside is hidden")
	}
	must.Get(c.Reset(0))(t)
	state := must.Get(c.MarshalState())(t)
	must.Get(c.Step([]float32{0, 0}))(t)
	must.Do(t, c.RestoreState(state))
	for range 6 { // episodes end, whose lengths the checker cannot know at first
		must.Get(c.Step([]float32{0, 0}))(t)
	}
}

// saved is a counter with a state. forget leaves something out of a saved state, and saving is called by
// MarshalState.
type saved struct {
	counter
	forget func(state []byte)
	saving func(s *saved)
	stale  []float32 // what Observe returns; nil for the present observations
}

func (s *saved) MarshalState() ([]byte, error) {
	state := []byte{byte(s.t[0]), byte(s.t[1]), byte(s.seed)}
	if s.forget != nil {
		s.forget(state)
	}
	if s.saving != nil {
		s.saving(s)
	}
	return state, nil
}

func (s *saved) RestoreState(b []byte) error {
	s.t, s.seed = [2]int{int(b[0]), int(b[1])}, int64(int8(b[2]))
	return nil
}

func (s *saved) Observe() (*Step, error) {
	if s.stale != nil {
		return &Step{Observations: s.stale, States: make([]float32, 2)}, nil
	}
	return &Step{Observations: s.observations(), States: make([]float32, 2)}, nil
}

// Check plays on from a restored state, and finds what MarshalState leaves out, changes, or does not show.
func TestCheckPlaysRestore(t *testing.T) {
	for want, env := range map[string]*saved{
		"": {},
		"1 steps after RestoreState, with the same actions, FinalObservations of environment 0 differs": {forget: func(
			b []byte) {
			b[2] = 1
		}, counter: counter{hurt: func(s *Step) { s.Observations[1], s.Observations[3] = 0, 0 }},
			stale: []float32{2, 0, 0, 0}},
		"MarshalState changes the environment: 1 steps after it, with the same actions": {saving: func(
			s *saved) {
			s.seed++
		}},
		"Observe returns other Observations of environment 0": {stale: make(
			[]float32, 4)},
	} {
		err := Check(env, 20, 4)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
