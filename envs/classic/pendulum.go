package classic

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Pendulum is Gymnasium's Pendulum-v1. A rod of 1 m and 1 kg, hinged at one end, must be swung up and held upright.
// The torque is at most 2 N·m, too weak to lift the rod in one go. The timestep is 0.05 s, gravity 10 m/s².
//
// Observation (3): cosine and sine of the angle (0 upright), angular velocity in rad/s, at most 8 either way. Action
// (1): torque, clipped to [-2, 2]. The reward is -(angle² + 0.1·velocity² + 0.001·torque²) of the state before the
// step. Episodes start with the angle uniform in [-π, π) and the velocity in [-1, 1), and never terminate. The zero
// value is ready for Reset.
type Pendulum struct {
	// theta is in rad, 0 upright, and grows without bound; omega is in rad/s.
	theta, omega float64
}

const (
	// In m/s², kg, m, s, N·m and rad/s, as in Gymnasium.
	pendulumGravity  = 10.0
	pendulumMass     = 1.0
	pendulumLength   = 1.0
	pendulumTimestep = 0.05
	pendulumTorque   = 2.0
	pendulumSpeed    = 8.0
	// pendulumLimit is in steps. pendulumHeader begins a saved state; its number changes with the format.
	pendulumLimit  = 200
	pendulumHeader = "gorl pendulum 1"
)

// NewPendulum returns a batch of [Pendulum] environments whose episodes are truncated after 200 steps.
func NewPendulum(cfg Config) (envs.Env, error) {
	return vectorize("Pendulum", cfg, pendulumLimit, func() envs.Single { return &Pendulum{} })
}

// Spaces are Box(3) of observations and Box(1) of actions.
func (p *Pendulum) Spaces() spaces.Set {
	return spaces.Set{Observation: within(1, 1, pendulumSpeed),
		Action: spaces.NewBox(-pendulumTorque, pendulumTorque, 1)}
}

// StepDuration is 0.05 s.
func (p *Pendulum) StepDuration() float64 { return pendulumTimestep }

// Reset starts an episode at any angle.
func (p *Pendulum) Reset(rng *rand.Rand, out envs.Row) error {
	p.theta = (2*rng.Float64() - 1) * math.Pi
	p.omega = 2*rng.Float64() - 1
	p.observe(out)
	return nil
}

// Step applies the torque for one timestep of the semi-implicit Euler method.
func (p *Pendulum) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	torque, err := continuous(action)
	if err != nil {
		return 0, false, false, err
	}
	torque = clamp(torque, -pendulumTorque, pendulumTorque)
	angle := wrapAngle(p.theta)
	cost := angle*angle + 0.1*p.omega*p.omega + 0.001*torque*torque

	// The moment of inertia of a rod about its end, m·l²/3. Gravity acts at the rod's centre: m·g·(l/2) / (m·l²/3) =
	// 3g/(2l).
	const inertia = pendulumMass * pendulumLength * pendulumLength / 3
	alpha := 3*pendulumGravity/(2*pendulumLength)*math.Sin(p.theta) + torque/inertia
	p.omega = clamp(p.omega+alpha*pendulumTimestep, -pendulumSpeed, pendulumSpeed)
	p.theta += p.omega * pendulumTimestep
	p.observe(out)
	return -cost, false, false, nil
}

// observe writes the observation (3).
func (p *Pendulum) observe(out envs.Row) {
	sin, cos := math.Sincos(p.theta)
	put(out.Observation, cos, sin, p.omega)
}

// Close does nothing.
func (p *Pendulum) Close() error { return nil }

// MarshalState returns the two state variables.
func (p *Pendulum) MarshalState() ([]byte, error) { return marshal(pendulumHeader, &p.theta, &p.omega) }

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (p *Pendulum) RestoreState(b []byte) error {
	return restore(pendulumHeader, b, &p.theta, &p.omega)
}

// Render draws the rod and its hinge, 200 × 200 pixels.
func (p *Pendulum) Render() (image.Image, error) {
	pic := newPicture(200, 200, 80, -1.25, -1.25)
	sin, cos := math.Sincos(p.theta)
	pic.line(0, 0, -pendulumLength*sin, pendulumLength*cos, 0.2, color.RGBA{204, 77, 77, 255})
	pic.disc(0, 0, 0.06, color.Black)
	return pic.image, nil
}
