package main

import (
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// reach is an environment of one's own: a point of mass 1 in a square of 2 m is to be pushed to a goal.
//
// Observation (6): position, velocity, and the way to the goal, in m and m/s. Action (2): force in N, clipped to [−1,
// 1]. The reward is minus the distance to the goal in m; the episode terminates within 5 cm of it.
type reach struct {
	x, v, goal [2]float64
	reached    bool
}

const (
	timeStep = 0.1 // s
	friction = 0.5 // 1/s
	near     = 0.05
)

// Spaces implements envs.Single.
func (r *reach) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(6), Action: spaces.NewBox(-1, 1, 2)}
}

// Reset implements envs.Single. All randomness comes from rng, so that a seed fixes the run.
func (r *reach) Reset(rng *rand.Rand, out envs.Row) error {
	*r = reach{}
	for i := range 2 {
		r.x[i], r.goal[i] = 2*rng.Float64()-1, 2*rng.Float64()-1
	}
	r.observe(out)
	return nil
}

// Step implements envs.Single.
func (r *reach) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	for i := range 2 {
		force := min(max(float64(action[i]), -1), 1)
		r.v[i] += timeStep * (force - friction*r.v[i])
		r.x[i] += timeStep * r.v[i]
	}
	r.observe(out)
	distance := math.Hypot(r.goal[0]-r.x[0], r.goal[1]-r.x[1])
	r.reached = distance < near
	return -distance, r.reached, false, nil
}

func (r *reach) observe(out envs.Row) {
	for i := range 2 {
		out.Observation[i] = float32(r.x[i])
		out.Observation[2+i] = float32(r.v[i])
		out.Observation[4+i] = float32(r.goal[i] - r.x[i])
	}
}

// EpisodeMetrics implements envs.Metered, which is optional: figures of one's own at the end of an episode.
func (r *reach) EpisodeMetrics() map[string]float64 {
	if r.reached {
		return map[string]float64{"reached": 1}
	}
	return map[string]float64{"reached": 0}
}

// Close implements envs.Single.
func (r *reach) Close() error { return nil }
