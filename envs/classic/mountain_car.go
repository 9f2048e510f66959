package classic

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// MountainCar is Gymnasium's MountainCarContinuous-v0 (Moore, 1990): a car in a valley, too weak to drive up the
// hill, must rock back and forth to reach the flag.
//
// Observation (2): position in [-1.2, 0.6] and velocity in [-0.07, 0.07] a step. Action (1): force, clipped to [-1,
// 1]. The reward is -0.1·action², of the action before clipping, and 100 more for the step that terminates at
// position 0.45. Episodes start at rest, uniformly in [-0.6, -0.4). The zero value is ready for Reset.
//
// The goal is hardly ever found by chance, so the reward can be shaped (see [envs.SingleRewardShaper]). The weight
// "height" adds a reward in proportion to the height, from 0 in the valley to 1 on the hill. The weight "velocity"
// adds one in proportion to the speed, 1 at the greatest speed. Both weights are 0 by default. An episode's figure
// "true_objective" is its return without these rewards.
//
// Gymnasium rounds the state to float32 after every step, gorl does not: over an episode they differ by about 1e-6.
type MountainCar struct {
	// x is the position, v the velocity per step; the task has no physical units.
	x, v float64
	// objective is the running episode's return without shaping.
	objective float64
	// height and velocity are the weights of the shaping.
	height, velocity float64
}

const (
	mountainCarLeft  = -1.2
	mountainCarRight = 0.6
	mountainCarGoal  = 0.45
	mountainCarSpeed = 0.07
	// mountainCarPower is the acceleration per step by a force of 1, mountainCarWeight that by gravity on the
	// steepest slope.
	mountainCarPower  = 0.0015
	mountainCarWeight = 0.0025
	// mountainCarLimit is in steps. mountainCarHeader begins a saved state; its number changes with the format.
	mountainCarLimit  = 999
	mountainCarHeader = "gorl mountain car 2"
)

// NewMountainCar returns a batch of [MountainCar] environments whose episodes are truncated after 999 steps.
func NewMountainCar(cfg Config) (envs.Env, error) {
	return vectorize("MountainCar", cfg, mountainCarLimit, func() envs.Single { return &MountainCar{} })
}

// Spaces are Box(2) of observations and Box(1) of actions.
func (m *MountainCar) Spaces() spaces.Set {
	return spaces.Set{
		Observation: spaces.Space{Kind: spaces.Box, Shape: []int{2},
			Low: []float32{mountainCarLeft, -mountainCarSpeed}, High: []float32{mountainCarRight, mountainCarSpeed}},
		Action: spaces.NewBox(-1, 1, 1),
	}
}

// Reset starts an episode at the bottom of the valley.
func (m *MountainCar) Reset(rng *rand.Rand, out envs.Row) error {
	m.x, m.v, m.objective = rng.Float64()*0.2-0.6, 0, 0
	put(out.Observation, m.x, m.v)
	return nil
}

// Step applies the force for one step.
func (m *MountainCar) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	force, err := continuous(action)
	if err != nil {
		return 0, false, false, err
	}
	reward = -0.1 * force * force
	m.v += clamp(force, -1, 1)*mountainCarPower - mountainCarWeight*math.Cos(3*m.x)
	m.v = clamp(m.v, -mountainCarSpeed, mountainCarSpeed)
	m.x = clamp(m.x+m.v, mountainCarLeft, mountainCarRight)
	// The left end is a wall that stops the car.
	if m.x == mountainCarLeft && m.v < 0 {
		m.v = 0
	}
	put(out.Observation, m.x, m.v)
	if m.x >= mountainCarGoal && m.v >= 0 {
		reward, terminated = reward+100, true
	}
	m.objective += reward
	if m.height != 0 {
		reward += m.height * (1 + math.Sin(3*m.x)) / 2
	}
	if m.velocity != 0 {
		reward += m.velocity * math.Abs(m.v) / mountainCarSpeed
	}
	return reward, terminated, false, nil
}

// EpisodeMetrics returns "true_objective", the episode's return without shaping.
func (m *MountainCar) EpisodeMetrics() map[string]float64 {
	return map[string]float64{"true_objective": m.objective}
}

// RewardShaping returns the weights "height" and "velocity".
func (m *MountainCar) RewardShaping() map[string]any {
	return map[string]any{"height": m.height, "velocity": m.velocity}
}

// SetRewardShaping changes the weights, all or (on an error) none.
func (m *MountainCar) SetRewardShaping(values map[string]any) error {
	if err := envs.AssignShaping(values, map[string]*float64{"height": &m.height,
		"velocity": &m.velocity}); err != nil {
		return fmt.Errorf("classic: MountainCar: %w", err)
	}
	return nil
}

// Close does nothing.
func (m *MountainCar) Close() error { return nil }

// MarshalState returns the two state variables and the episode's true objective so far.
func (m *MountainCar) MarshalState() ([]byte, error) {
	return marshal(mountainCarHeader, &m.x, &m.v, &m.objective)
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (m *MountainCar) RestoreState(b []byte) error {
	return restore(mountainCarHeader, b, &m.x, &m.v, &m.objective)
}

// Render draws hills, car and flag, 300 × 200 pixels.
func (m *MountainCar) Render() (image.Image, error) {
	height := func(x float64) float64 { return 0.45*math.Sin(3*x) + 0.55 }
	p := newPicture(300, 200, 160, -1.25, -0.05)
	const parts = 60
	for i := range parts {
		x := mountainCarLeft + (mountainCarRight-mountainCarLeft)*float64(i)/parts
		next := x + (mountainCarRight-mountainCarLeft)/parts
		p.line(x, height(x), next, height(next), 0.012, color.Black)
	}
	p.line(mountainCarGoal, height(mountainCarGoal), mountainCarGoal, height(mountainCarGoal)+0.2, 0.012,
		color.RGBA{200, 160, 0, 255})
	p.disc(m.x, height(m.x)+0.05, 0.05, color.RGBA{40, 70, 160, 255})
	return p.image, nil
}
