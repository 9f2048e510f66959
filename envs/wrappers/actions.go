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
type ClipAction struct{ acting }

// acting is embedded by wrappers that change actions.
type acting struct {
	inner
	// set are the spaces of the wrapper.
	set spaces.Set
	// actions (N, A) is the changed copy. The caller's slice is only read.
	actions []float32
}

// newActing returns an acting with the given action space.
func newActing(env envs.Env, action spaces.Space) acting {
	a := acting{inner{env}, env.Spaces(), make([]float32, env.NumEnvs()*action.Width())}
	a.set.Action = action
	return a
}

// Spaces are those of the environment inside, with the wrapper's limits of actions.
func (a *acting) Spaces() spaces.Set { return a.set }

// change checks the actions and steps the environment inside with what formula makes of each. i is its column.
func (a *acting) change(actions []float32, formula func(i int, x float32) float32) (*envs.Step, error) {
	if err := a.set.Action.Check(actions, a.NumEnvs()); err != nil {
		return nil, fmt.Errorf("wrappers: actions: %w", err)
	}
	w := a.set.Action.Width()
	for i, x := range actions {
		a.actions[i] = formula(i%w, x)
	}
	return a.within.Step(a.actions)
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
	return &ClipAction{newActing(env, space)}, nil
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

// Step clips the actions and steps the environment inside.
func (c *ClipAction) Step(actions []float32) (*envs.Step, error) {
	low, high := c.set.Action.Low, c.set.Action.High
	return c.change(actions, func(i int, x float32) float32 {
		if low != nil {
			x = max(x, low[i])
		}
		if high != nil {
			x = min(x, high[i])
		}
		return x
	})
}

// RescaleAction maps actions from [-1, 1] linearly to the limits of a Box. Actions outside [-1, 1] become the nearer
// limit. NaN and infinite actions are an error.
type RescaleAction struct {
	acting
	// low and high (A) are the limits inside.
	low, high []float32
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
	return &RescaleAction{newActing(env, spaces.NewBox(-1, 1, space.Shape...)), space.Low, space.High}, nil
}

// Step maps the actions and steps the environment inside.
func (r *RescaleAction) Step(actions []float32) (*envs.Step, error) {
	return r.change(actions, func(i int, x float32) float32 {
		// The computation is in float64: wide limits do not overflow, and ±1 map to the limits exactly.
		u := (math.Max(-1, math.Min(1, float64(x))) + 1) / 2
		return float32(float64(r.low[i])*(1-u) + float64(r.high[i])*u)
	})
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
