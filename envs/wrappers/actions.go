package wrappers

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// ClipAction clips actions to the limits of a Box before the environment gets them. The action space keeps its limits
// (Gymnasium's wrapper drops them), because agents use them to explore at random. NaN and infinite actions are an
// error.
type ClipAction struct {
	inner
	// set are the spaces of the wrapper: those inside with the limits that clip.
	set spaces.Set
	// actions (N, A) is the clipped copy. The caller's slice is only read.
	actions []float32
}

// NewClipAction returns env with its actions clipped. The action space must be a Box. A dimension without a limit is
// not clipped.
func NewClipAction(env envs.Env) (*ClipAction, error) {
	return newClipAction(env, "NewClipAction")
}

// newClipAction clips to the limits that the action space has. who is the constructor's name, for errors.
func newClipAction(env envs.Env, who string) (*ClipAction, error) {
	space, err := boxOf(env, who, "action")
	if err != nil {
		return nil, err
	}
	c := &ClipAction{inner: inner{env}, set: env.Spaces(), actions: make([]float32, env.NumEnvs()*space.Width())}
	c.set.Action = space
	return c, nil
}

// NewClipActionTo returns env with its actions clipped to [low, high] and to the limits of its action space, a Box.
// One of low and high may be infinite. It gives limits to simulators whose action spaces have none.
func NewClipActionTo(env envs.Env, low, high float64) (*ClipAction, error) {
	const who = "NewClipActionTo"
	l, err := newLimits(who, low, high)
	if err != nil {
		return nil, err
	}
	c, err := newClipAction(env, who)
	if err != nil {
		return nil, err
	}
	space := c.set.Action
	limited, _ := l.box(space)
	// The Box that box returns has the default type; that of the actions does not change.
	limited.DType = space.DType
	for i := range limited.Low {
		// The two ranges may not overlap in this dimension.
		if limited.Low[i] >= limited.High[i] {
			return nil, fmt.Errorf("wrappers: %s: %v leaves nothing of the action space %v in dimension %d", who,
				[]float64{low, high}, space, i)
		}
	}
	c.set.Action = limited
	return c, nil
}

// Spaces are those of the environment inside, with the limits of actions.
func (c *ClipAction) Spaces() spaces.Set { return c.set }

// Step clips the actions and steps the environment inside.
func (c *ClipAction) Step(actions []float32) (*envs.Step, error) {
	space := c.set.Action
	if err := space.Check(actions, c.NumEnvs()); err != nil {
		return nil, fmt.Errorf("wrappers: actions: %w", err)
	}
	w := space.Width()
	for i, a := range actions {
		if space.Low != nil {
			a = max(a, space.Low[i%w])
		}
		if space.High != nil {
			a = min(a, space.High[i%w])
		}
		c.actions[i] = a
	}
	return c.within.Step(c.actions)
}

// RescaleAction maps actions from [-1, 1] linearly to the limits of a Box. Actions outside [-1, 1] become the nearer
// limit. NaN and infinite actions are an error.
type RescaleAction struct {
	inner
	// set are the spaces of the wrapper, with actions in [-1, 1].
	set spaces.Set
	// low and high (A) are the limits inside, actions (N, A) what is passed on.
	low, high []float32
	actions   []float32
}

// NewRescaleAction returns env with the action space Box(-1, 1). The action space of env must be a Box with finite
// limits.
func NewRescaleAction(env envs.Env) (*RescaleAction, error) {
	space, err := boxOf(env, "NewRescaleAction", "action")
	if err != nil {
		return nil, err
	}
	if !space.Bounded() {
		return nil, fmt.Errorf("wrappers: NewRescaleAction needs finite limits, the action space %v has %v to %v",
			space, space.Low, space.High)
	}
	r := &RescaleAction{inner: inner{env}, set: env.Spaces(), low: space.Low, high: space.High,
		actions: make([]float32, env.NumEnvs()*space.Width())}
	r.set.Action = spaces.NewBox(-1, 1, space.Shape...)
	return r, nil
}

// Spaces are those of the environment inside with actions in [-1, 1].
func (r *RescaleAction) Spaces() spaces.Set { return r.set }

// Step maps the actions and steps the environment inside.
func (r *RescaleAction) Step(actions []float32) (*envs.Step, error) {
	if err := r.set.Action.Check(actions, r.NumEnvs()); err != nil {
		return nil, fmt.Errorf("wrappers: actions: %w", err)
	}
	w := len(r.low)
	for i, a := range actions {
		// The computation is in float64: wide limits do not overflow, and ±1 map to the limits exactly.
		u := (math.Max(-1, math.Min(1, float64(a))) + 1) / 2
		r.actions[i] = float32(float64(r.low[i%w])*(1-u) + float64(r.high[i%w])*u)
	}
	return r.within.Step(r.actions)
}

// boxOf returns env's action or observation space, as of ("action" or "observation") says. It returns an error if the
// space is not a valid Box. who is the constructor's name.
func boxOf(env envs.Env, who, of string) (spaces.Space, error) {
	space := env.Spaces().Action
	if of == "observation" {
		space = env.Spaces().Observation
	}
	if err := space.Validate(); err != nil {
		return space, fmt.Errorf("wrappers: %s: %s space: %w", who, of, err)
	}
	if space.Kind != spaces.Box {
		return space, fmt.Errorf("wrappers: %s needs a Box of %ss, the %s space is %v", who, of, of, space)
	}
	return space, nil
}
