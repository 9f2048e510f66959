package wrappers

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// limits are what values are clipped to; one may be infinite. low is below high.
type limits struct{ low, high float32 }

// newLimits checks the arguments of a constructor, whose name is who. The limits are compared as float32, because two
// float64 numbers may become equal.
func newLimits(who string, low, high float64) (limits, error) {
	l := limits{float32(low), float32(high)}
	if !(l.low < l.high) {
		return l, fmt.Errorf("wrappers: %s: low is %g and high %g; low must be below high", who, low, high)
	}
	return l, nil
}

// clip writes the clipped values into out, which may be values itself. NaN stays NaN, so that a later check still
// finds it.
func (l limits) clip(out, values []float32) {
	for i, x := range values {
		out[i] = min(max(x, l.low), l.high)
	}
}

// box returns a copy of a Box whose limits are clipped too, or of a Dict or Tuple of Boxes. ok is false for other
// spaces, which have no numbers to clip.
func (l limits) box(space spaces.Space) (clipped spaces.Space, ok bool) {
	switch space.Kind {
	case spaces.Box:
		clipped = spaces.Unbounded(space.Shape...)
		copy(clipped.Low, space.Low)
		copy(clipped.High, space.High)
		l.clip(clipped.Low, clipped.Low)
		l.clip(clipped.High, clipped.High)
		return clipped, true
	case spaces.Dict, spaces.Tuple:
		space.Entries = slices.Clone(space.Entries)
		for i := range space.Entries {
			if space.Entries[i].Space, ok = l.box(space.Entries[i].Space); !ok {
				return space, false
			}
		}
		return space, true
	}
	return space, false
}

// ClipObservation clips every observation, final ones too. Recipes put it around [NormalizeObservation]. It does not
// change privileged states.
type ClipObservation struct {
	latest
	limits
}

// NewClipObservation returns env with its observations clipped to [low, high]. One of low and high may be infinite.
// The observation space must be a Box, or a Dict or Tuple of Boxes; its limits are clipped too.
func NewClipObservation(env envs.Env, low, high float64) (*ClipObservation, error) {
	l, err := newLimits("NewClipObservation", low, high)
	if err != nil {
		return nil, err
	}
	set := env.Spaces()
	if err := set.Observation.Validate(); err != nil {
		return nil, fmt.Errorf("wrappers: NewClipObservation: observation space: %w", err)
	}
	clipped, ok := l.box(set.Observation)
	if !ok {
		return nil, fmt.Errorf("wrappers: NewClipObservation needs a Box of observations, the observation space is %v",
			set.Observation)
	}
	set.Observation, set.Seats = clipped, slices.Clone(set.Seats)
	for i := range set.Seats {
		set.Seats[i].Observation, _ = l.box(set.Seats[i].Observation)
	}
	return &ClipObservation{newLatest(env, set), l}, nil
}

// Reset resets the environment inside and clips the first observations.
func (c *ClipObservation) Reset(seed int64) (*envs.Step, error) {
	return c.clipped(c.within.Reset(seed))
}

// Step steps the environment inside and clips its observations.
func (c *ClipObservation) Step(actions []float32) (*envs.Step, error) {
	return c.clipped(c.within.Step(actions))
}

// Observe returns the present observations, clipped.
func (c *ClipObservation) Observe() (*envs.Step, error) {
	return c.clipped(c.present("clip_observation"))
}

// ObservationTransform returns the clipping, which an exported policy repeats.
func (c *ClipObservation) ObservationTransform() envs.ObservationTransform {
	return envs.ObservationTransform{Low: float64(c.low), High: float64(c.high)}
}

// clipped clips a result of the environment inside into the wrapper's own buffers, or passes the error on. The step
// inside stays as it was: other wrappers may hold it.
func (c *ClipObservation) clipped(s *envs.Step, err error) (*envs.Step, error) {
	if err != nil {
		return nil, err
	}
	c.clip(c.finals, s.FinalObservations)
	return c.show(s, c.clip), nil
}

// ClipReward clips every reward. With seats it clips the rewards of each, and the environment's are their sums. The
// returns of finished episodes are sums of the rewards before clipping.
type ClipReward struct {
	rewarding
	limits
}

// NewClipReward returns env with its rewards clipped to low and high. One of them may be infinite.
func NewClipReward(env envs.Env, low, high float64) (*ClipReward, error) {
	l, err := newLimits("NewClipReward", low, high)
	if err != nil {
		return nil, err
	}
	return &ClipReward{newRewarding(env), l}, nil
}

// Step steps the environment inside and clips its rewards.
func (c *ClipReward) Step(actions []float32) (*envs.Step, error) {
	s, err := c.change(actions, c.clip)
	if k := len(c.seats) / len(c.rewards); k > 0 && err == nil {
		clear(c.rewards)
		for i, r := range c.seats {
			c.rewards[i/k] += r
		}
	}
	return s, err
}
