package main

import (
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/spaces"
)

// pushSettings are what a file says of the environment Push, and with the comments what a reader has to know of it.
type pushSettings struct {
	catalog.Batch `yaml:",inline"`
	// Friction slows the point down, in 1/s.
	Friction float64 `yaml:"friction" config:"min=0"`
	// Steps is the length of an episode, each of 0.1 s.
	Steps int `yaml:"steps" config:"min=1"`
}

// push is an environment of one's own: a point of mass 1 on a line is to be pushed to the origin.
//
// Observation (2): position and velocity, in m and m/s. Action (1): force in N, clipped to [−1, 1]. The reward is
// minus the distance in m.
type push struct {
	pushSettings
	x, v float64
	step int
}

// Spaces implements envs.Single.
func (p *push) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1)}
}

// Reset implements envs.Single.
func (p *push) Reset(rng *rand.Rand, out envs.Row) error {
	p.x, p.v, p.step = 2*rng.Float64()-1, 0, 0
	p.observe(out)
	return nil
}

// Step implements envs.Single.
func (p *push) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	force := min(max(float64(action[0]), -1), 1)
	p.v += 0.1 * (force - p.Friction*p.v)
	p.x += 0.1 * p.v
	p.step++
	p.observe(out)
	return -math.Abs(p.x), false, p.step == p.Steps, nil
}

func (p *push) observe(out envs.Row) {
	out.Observation[0], out.Observation[1] = float32(p.x), float32(p.v)
}

// Close implements envs.Single.
func (p *push) Close() error { return nil }
