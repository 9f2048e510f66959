package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// RewardScale multiplies every reward by a constant. The returns of finished episodes are not scaled, so runs with
// different scales can be compared.
type RewardScale struct {
	inner
	// scale is float32 like the rewards (N) and those of the seats (N, K), which are the scaled copies in step.
	scale          float32
	step           envs.Step
	rewards, seats []float32
}

// NewRewardScale returns env with its rewards multiplied by scale, which must be finite and not 0.
func NewRewardScale(env envs.Env, scale float64) (*RewardScale, error) {
	if env == nil {
		return nil, errors.New("wrappers: NewRewardScale needs an environment, got nil")
	}
	// A scale that is finite in float64 may be 0 or infinite in float32.
	f := float32(scale)
	if f-f != 0 || f == 0 {
		return nil, fmt.Errorf("wrappers: reward scale is %g; it must be finite in float32 and not 0", scale)
	}
	return &RewardScale{inner: inner{env}, scale: f, rewards: make([]float32, env.NumEnvs()),
		seats: env.Spaces().MakeSeatStep(env.NumEnvs()).Rewards}, nil
}

// Step steps the environment inside and scales its rewards.
func (r *RewardScale) Step(actions []float32) (*envs.Step, error) {
	s, err := r.within.Step(actions)
	if err != nil {
		return nil, err
	}
	for i, x := range s.Rewards {
		r.rewards[i] = x * r.scale
	}
	for i, x := range s.Seats.Rewards {
		r.seats[i] = x * r.scale
	}
	r.step = *s
	// RawRewards keeps the environment's own rewards, for the returns of episodes.
	r.step.Rewards, r.step.RawRewards = r.rewards, s.Raw()
	r.step.Seats.Rewards = r.seats
	return &r.step, nil
}
