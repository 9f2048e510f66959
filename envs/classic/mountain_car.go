package classic

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// MountainCar is Gymnasium's MountainCarContinuous-v0 (Moore, 1990): a car in a valley, too weak to drive up the hill,
// must rock back and forth to reach the flag.
//
// Observation (2): position in [-1.2, 0.6] and velocity in [-0.07, 0.07] a step. Action (1): force, clipped to [-1, 1].
// The reward is -0.1·action², of the action before clipping, and 100 more for the step that terminates at position
// 0.45. Episodes start at rest, uniformly in [-0.6, -0.4). The zero value is ready for Reset.
//
// Gymnasium rounds the state to float32 after every step, gorl does not: over an episode they differ by about 1e-6.
type MountainCar struct {
	x, v float64
}

const (
	mountainCarLeft   = -1.2
	mountainCarRight  = 0.6
	mountainCarGoal   = 0.45
	mountainCarSpeed  = 0.07
	mountainCarPower  = 0.0015
	mountainCarWeight = 0.0025
	mountainCarLimit  = 999
	mountainCarHeader = "gorl mountain car 1"
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
	m.x, m.v = rng.Float64()*0.2-0.6, 0
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
	if m.x == mountainCarLeft && m.v < 0 {
		m.v = 0
	}
	put(out.Observation, m.x, m.v)
	if m.x >= mountainCarGoal && m.v >= 0 {
		return reward + 100, true, false, nil
	}
	return reward, false, false, nil
}

// Close does nothing.
func (m *MountainCar) Close() error { return nil }

// MarshalState returns the two state variables.
func (m *MountainCar) MarshalState() ([]byte, error) { return marshal(mountainCarHeader, m.x, m.v) }

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (m *MountainCar) RestoreState(b []byte) error { return restore(mountainCarHeader, b, &m.x, &m.v) }

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
	p.line(mountainCarGoal, height(mountainCarGoal), mountainCarGoal, height(mountainCarGoal)+0.2, 0.012, color.RGBA{200, 160, 0, 255})
	p.disc(m.x, height(m.x)+0.05, 0.05, color.RGBA{40, 70, 160, 255})
	return p.image, nil
}
