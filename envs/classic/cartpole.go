package classic

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// CartPole is Gymnasium's CartPole-v1 (Barto, Sutton and Anderson, 1983). A cart on a track is pushed left (action 0)
// or right (1) with 10 N every 0.02 s, and must keep the pole hinged on it upright.
//
// Observation (4): position in m, velocity in m/s, pole angle in rad (0 upright, positive to the right), angular
// velocity in rad/s; each starts uniformly in [-0.05, 0.05). The reward is 1 a step. An episode terminates if
// |position| exceeds 2.4 m or |angle| 12 degrees. The zero value is ready for Reset.
type CartPole struct {
	// x is in m, v in m/s, theta in rad and omega in rad/s.
	x, v, theta, omega float64
}

const (
	// In m/s², kg, m, N and s, as in Gymnasium.
	cartPoleGravity    = 9.8
	cartPoleCartMass   = 1.0
	cartPolePoleMass   = 0.1
	cartPoleHalfLength = 0.5
	cartPoleForce      = 10.0
	cartPoleTimestep   = 0.02
	// Episodes terminate at cartPoleTrack (m) from the middle and at cartPoleTilt (rad), and are truncated after
	// cartPoleLimit steps.
	cartPoleTrack = 2.4
	cartPoleTilt  = 12 * 2 * math.Pi / 360
	cartPoleLimit = 500
	// cartPoleHeader begins a saved state. Its number changes with the format.
	cartPoleHeader = "gorl cartpole 1"
)

// NewCartPole returns a batch of [CartPole] environments whose episodes are truncated after 500 steps.
func NewCartPole(cfg Config) (envs.Env, error) {
	return vectorize("CartPole", cfg, cartPoleLimit, func() envs.Single { return &CartPole{} })
}

// StepDuration is 0.02 s.
func (c *CartPole) StepDuration() float64 { return cartPoleTimestep }

// Spaces are Box(4) of observations and Discrete(2) of actions.
func (c *CartPole) Spaces() spaces.Set {
	inf := float32(math.Inf(1))
	// Gymnasium's limits are twice those at which an episode terminates.
	return spaces.Set{Observation: within(2*cartPoleTrack, inf, 2*cartPoleTilt, inf), Action: spaces.NewDiscrete(2)}
}

// Reset starts an episode near the upright rest.
func (c *CartPole) Reset(rng *rand.Rand, out envs.Row) error {
	for _, s := range c.numbers() {
		*s = rng.Float64()*0.1 - 0.05
	}
	put(out.Observation, c.x, c.v, c.theta, c.omega)
	return nil
}

// Step pushes the cart for one timestep of Euler's method.
func (c *CartPole) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	push, err := discrete(action, 2)
	if err != nil {
		return 0, false, false, err
	}
	force := cartPoleForce
	if push == 0 {
		force = -cartPoleForce
	}
	const total = cartPoleCartMass + cartPolePoleMass
	const poleMoment = cartPolePoleMass * cartPoleHalfLength
	sin, cos := math.Sincos(c.theta)
	// Equations 23 and 24 of Florian, "Correct equations for the dynamics of the cart-pole system", without friction.
	drive := (force + poleMoment*c.omega*c.omega*sin) / total
	alpha := (cartPoleGravity*sin - cos*drive) / (cartPoleHalfLength * (4.0/3.0 - cartPolePoleMass*cos*cos/total))
	a := drive - poleMoment*alpha*cos/total

	// Explicit Euler, as in Gymnasium: the positions move with the velocities of before.
	c.x += cartPoleTimestep * c.v
	c.v += cartPoleTimestep * a
	c.theta += cartPoleTimestep * c.omega
	c.omega += cartPoleTimestep * alpha
	put(out.Observation, c.x, c.v, c.theta, c.omega)
	return 1, math.Abs(c.x) > cartPoleTrack || math.Abs(c.theta) > cartPoleTilt, false, nil
}

// Close does nothing.
func (c *CartPole) Close() error { return nil }

// MarshalState returns the four state variables.
func (c *CartPole) MarshalState() ([]byte, error) { return marshal(cartPoleHeader, c.numbers()...) }

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (c *CartPole) RestoreState(b []byte) error { return restore(cartPoleHeader, b, c.numbers()...) }

// numbers returns pointers to the state variables.
func (c *CartPole) numbers() []*float64 { return []*float64{&c.x, &c.v, &c.theta, &c.omega} }

// Render draws track, cart and pole, 300 × 200 pixels.
func (c *CartPole) Render() (image.Image, error) {
	p := newPicture(300, 200, 60, -2.5, -0.8)
	p.line(-2.5, 0, 2.5, 0, 0.02, color.Black)
	p.box(c.x-0.3, -0.12, c.x+0.3, 0.12, color.RGBA{40, 40, 60, 255})
	sin, cos := math.Sincos(c.theta)
	p.line(c.x, 0.1, c.x+2*cartPoleHalfLength*sin, 0.1+2*cartPoleHalfLength*cos, 0.1, color.RGBA{202, 152, 101, 255})
	p.disc(c.x, 0.1, 0.05, color.RGBA{129, 132, 203, 255})
	return p.image, nil
}
