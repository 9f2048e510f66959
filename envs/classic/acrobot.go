package classic

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Acrobot is Gymnasium's Acrobot-v1 with the equations of Sutton and Barto's book. Of two links that hang from a bar
// only the joint between them is driven. The task is to swing the lower tip one link's length above the bar.
//
// Observation (6): cosine and sine of the first link's angle (0 hanging) and of the second's relative to it, then
// both velocities in rad/s. Action: 0, 1, 2 for a torque of -1, 0, 1 N·m over 0.2 s. The reward is -1 a step and 0
// for the one that terminates with the tip above the line. All four state variables start uniformly in [-0.1, 0.1).
// The zero value is ready for Reset.
type Acrobot struct {
	state acrobotState
}

// acrobotState holds the two angles in radians, in [-π, π), and the two velocities in rad/s. The second link is
// relative to the first.
type acrobotState [4]float64

const (
	// In m/s², s and rad/s. acrobotSpeed1 and acrobotSpeed2 limit the velocities, as in Gymnasium.
	acrobotGravity  = 9.8
	acrobotTimestep = 0.2
	acrobotSpeed1   = 4 * math.Pi
	acrobotSpeed2   = 9 * math.Pi
	// acrobotLimit is in steps. acrobotHeader begins a saved state; its number changes with the format.
	acrobotLimit  = 500
	acrobotHeader = "gorl acrobot 1"
)

// NewAcrobot returns a batch of [Acrobot] environments whose episodes are truncated after 500 steps.
func NewAcrobot(cfg Config) (envs.Env, error) {
	return vectorize("Acrobot", cfg, acrobotLimit, func() envs.Single { return &Acrobot{} })
}

// Spaces are Box(6) of observations and Discrete(3) of actions.
func (a *Acrobot) Spaces() spaces.Set {
	return spaces.Set{Observation: within(1, 1, 1, 1, acrobotSpeed1, acrobotSpeed2), Action: spaces.NewDiscrete(3)}
}

// StepDuration is 0.2 s.
func (a *Acrobot) StepDuration() float64 { return acrobotTimestep }

// Reset starts an episode with both links nearly at rest.
func (a *Acrobot) Reset(rng *rand.Rand, out envs.Row) error {
	for i := range a.state {
		a.state[i] = rng.Float64()*0.2 - 0.1
	}
	a.observe(out)
	return nil
}

// Step applies the torque for one step of the fourth-order Runge-Kutta method.
func (a *Acrobot) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	choice, err := discrete(action, 3)
	if err != nil {
		return 0, false, false, err
	}
	torque := float64(choice - 1)
	s, h := a.state, acrobotTimestep
	k1 := s.derivative(torque)
	k2 := s.plus(k1, h/2).derivative(torque)
	k3 := s.plus(k2, h/2).derivative(torque)
	k4 := s.plus(k3, h).derivative(torque)
	for i := range s {
		s[i] += h / 6 * (k1[i] + 2*k2[i] + 2*k3[i] + k4[i])
	}
	s[0], s[1] = wrapAngle(s[0]), wrapAngle(s[1])
	s[2] = clamp(s[2], -acrobotSpeed1, acrobotSpeed1)
	s[3] = clamp(s[3], -acrobotSpeed2, acrobotSpeed2)
	a.state = s
	a.observe(out)
	// The left side is the height of the tip above the bar in m; a link is 1 m long.
	if -math.Cos(s[0])-math.Cos(s[0]+s[1]) > 1 {
		return 0, true, false, nil
	}
	return -1, false, false, nil
}

// plus returns s + h·d, for the stages of the Runge-Kutta method.
func (s acrobotState) plus(d acrobotState, h float64) acrobotState {
	for i := range s {
		s[i] += h * d[i]
	}
	return s
}

// derivative returns the rate of change of s under a torque in N·m, by the equations of motion in Sutton and Barto
// (section 11.3 of the first edition). Both links have mass 1 kg and length 1 m, their centres half-way, and a moment
// of inertia of 1 kg·m² about them.
func (s acrobotState) derivative(torque float64) acrobotState {
	const centre, inertia = 0.5, 1.0
	theta1, theta2, omega1, omega2 := s[0], s[1], s[2], s[3]
	sin2, cos2 := math.Sincos(theta2)
	d1 := centre*centre + 1 + centre*centre + 2*centre*cos2 + 2*inertia
	d2 := centre*centre + centre*cos2 + inertia
	// cos(θ - π/2) = sin θ: the weights' moments about the bar and about the joint.
	phi2 := centre * acrobotGravity * math.Sin(theta1+theta2)
	phi1 := -centre*omega2*omega2*sin2 - 2*centre*omega2*omega1*sin2 + (centre+1)*acrobotGravity*math.Sin(theta1) + phi2
	alpha2 := (torque + d2/d1*phi1 - centre*omega1*omega1*sin2 - phi2) / (centre*centre + inertia - d2*d2/d1)
	alpha1 := -(d2*alpha2 + phi1) / d1
	return acrobotState{omega1, omega2, alpha1, alpha2}
}

// observe writes the observation (6).
func (a *Acrobot) observe(out envs.Row) {
	sin1, cos1 := math.Sincos(a.state[0])
	sin2, cos2 := math.Sincos(a.state[1])
	put(out.Observation, cos1, sin1, cos2, sin2, a.state[2], a.state[3])
}

// Close does nothing.
func (a *Acrobot) Close() error { return nil }

// MarshalState returns the four state variables.
func (a *Acrobot) MarshalState() ([]byte, error) { return marshal(acrobotHeader, a.numbers()...) }

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (a *Acrobot) RestoreState(b []byte) error { return restore(acrobotHeader, b, a.numbers()...) }

// numbers returns pointers to the state variables.
func (a *Acrobot) numbers() []*float64 {
	return []*float64{&a.state[0], &a.state[1], &a.state[2], &a.state[3]}
}

// Render draws both links and the line to reach, 200 × 200 pixels.
func (a *Acrobot) Render() (image.Image, error) {
	p := newPicture(200, 200, 45, -2.2, -2.2)
	p.line(-2.2, 1, 2.2, 1, 0.03, color.Black)
	link := color.RGBA{0, 150, 150, 255}
	x1, y1 := math.Sin(a.state[0]), -math.Cos(a.state[0])
	x2, y2 := x1+math.Sin(a.state[0]+a.state[1]), y1-math.Cos(a.state[0]+a.state[1])
	p.line(0, 0, x1, y1, 0.18, link)
	p.line(x1, y1, x2, y2, 0.18, link)
	p.disc(0, 0, 0.1, color.RGBA{180, 180, 0, 255})
	p.disc(x1, y1, 0.1, color.RGBA{180, 180, 0, 255})
	return p.image, nil
}
