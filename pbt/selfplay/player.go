package selfplay

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/spaces"
)

// Player plays a seat. Any number of goroutines may call Act at once.
type Player interface {
	// Act writes an action for an observation. mask is empty if the seat has no action masks. hidden is the recurrent
	// state, HiddenSize values: zeros at the beginning of an episode. Act overwrites it. All randomness is from rng.
	Act(rng *rand.Rand, observation, mask, hidden, action []float32) error
	// HiddenSize returns the number of values of the recurrent state: 0 for players without memory.
	HiddenSize() int
}

// PlayerFunc is a Player without memory that calls a function, such as a scripted one.
type PlayerFunc func(rng *rand.Rand, observation, mask, action []float32) error

// Act calls the function.
func (f PlayerFunc) Act(rng *rand.Rand, observation, mask, _, action []float32) error {
	return f(rng, observation, mask, action)
}

// HiddenSize returns 0.
func (PlayerFunc) HiddenSize() int { return 0 }

// Random returns a player that draws its actions uniformly from those that a seat of these spaces allows.
func Random(seat spaces.Set) Player {
	return PlayerFunc(func(rng *rand.Rand, _, mask, action []float32) error {
		seat.SampleActions(rng, action, mask)
		return nil
	})
}

// NewPlayer returns a player that acts by a policy. If deterministic is true or the policy has memory, the player takes
// the most probable action, or the mean. Otherwise it samples, as the agent does in training.
func NewPlayer(policy *infer.Policy, deterministic bool) Player {
	return player{policy, deterministic || policy.HiddenSize() > 0}
}

type player struct {
	policy        *infer.Policy
	deterministic bool
}

// Act computes an action by the policy.
func (p player) Act(rng *rand.Rand, observation, mask, hidden, action []float32) error {
	if p.deterministic {
		return p.policy.ActMasked(observation, mask, hidden, action)
	}
	return p.policy.SampleMasked(observation, mask, action, rng)
}

// HiddenSize returns the policy's.
func (p player) HiddenSize() int { return p.policy.HiddenSize() }

// fits returns an error unless a policy has the observation, action and action mask spaces of a seat.
func fits(policy *infer.Policy, seat spaces.Set) error {
	have := policy.Spaces()
	for _, x := range []struct {
		name       string
		have, want spaces.Space
	}{{"observation", have.Observation, seat.Observation}, {"action", have.Action, seat.Action},
		{"action mask", have.ActionMask, seat.ActionMask}} {
		if x.have.Width() != x.want.Width() || x.name == "action" && !x.have.Equal(x.want) {
			return fmt.Errorf("selfplay: the policy has the %s space %v, and the seat %v; wrappers that change "+
				"spaces, such as rescale_action, cannot be used with self-play", x.name, x.have, x.want)
		}
	}
	return nil
}
