package wrappers

import (
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// rewarding is embedded by wrappers that change every reward by a formula.
type rewarding struct {
	inner
	// step is what Step returns, with the changed rewards (N) and those of the seats (N, K).
	step           envs.Step
	rewards, seats []float32
}

func newRewarding(env envs.Env) rewarding {
	n := env.NumEnvs()
	return rewarding{inner: inner{env}, rewards: make([]float32, n), seats: env.Spaces().MakeSeatStep(n).Rewards}
}

// change steps the environment inside and returns its step with the rewards that formula writes into out.
func (r *rewarding) change(actions []float32, formula func(out, in []float32)) (*envs.Step, error) {
	s, err := r.within.Step(actions)
	if err != nil {
		return nil, err
	}
	formula(r.rewards, s.Rewards)
	formula(r.seats, s.Seats.Rewards)
	r.step = *s
	// RawRewards keeps the environment's own rewards, for the returns of episodes.
	r.step.Rewards, r.step.RawRewards, r.step.Seats.Rewards = r.rewards, s.Raw(), r.seats
	return &r.step, nil
}

// RewardScale multiplies every reward by a constant. The returns of finished episodes are not scaled, so runs with
// different scales can be compared.
type RewardScale struct {
	rewarding
	scale float32 // like the rewards
}

// NewRewardScale returns env with its rewards multiplied by scale, which must be finite and not 0.
func NewRewardScale(env envs.Env, scale float64) (*RewardScale, error) {
	// A scale that is finite in float64 may be 0 or infinite in float32.
	f := float32(scale)
	if f-f != 0 || f == 0 {
		return nil, fmt.Errorf("wrappers: reward scale is %g; it must be finite in float32 and not 0", scale)
	}
	return &RewardScale{newRewarding(env), f}, nil
}

// Step steps the environment inside and scales its rewards.
func (r *RewardScale) Step(actions []float32) (*envs.Step, error) {
	return r.change(actions, func(out, in []float32) {
		for i, x := range in {
			out[i] = x * r.scale
		}
	})
}
