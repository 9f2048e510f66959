package mujoco

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// VelocityConfig sets the distribution of the commands of the task [Velocity], like mjlab's and Isaac Lab's velocity
// command. Each component is drawn uniformly.
type VelocityConfig struct {
	// LinearX, LinearY and AngularZ bound the uniformly drawn velocity in m/s forwards and to the left, and the turn to
	// the left in rad/s: [least, greatest].
	//
	// They are in the heading frame.
	LinearX  [2]float64 `yaml:"linear_x"`
	LinearY  [2]float64 `yaml:"linear_y"`
	AngularZ [2]float64 `yaml:"angular_z"`
	// Standing is the share of commands that are all 0.
	Standing float64 `yaml:"standing" config:"min=0,max=1"`
	// Seconds is the time between commands; 0 is one per episode.
	Seconds float64 `yaml:"seconds" config:"min=0"`
}

// draw draws a command into mem. dt is the duration of a control step in seconds.
func (v *VelocityConfig) draw(mem []float64, dt float64) {
	pick := func(r [2]float64) float64 { return r[0] + (r[1]-r[0])*uniform(&mem[memoryRandom]) }
	mem[memoryForward], mem[memoryLeftward], mem[memoryTurn] = pick(v.LinearX), pick(v.LinearY), pick(v.AngularZ)
	if uniform(&mem[memoryRandom]) < v.Standing {
		mem[memoryForward], mem[memoryLeftward], mem[memoryTurn] = 0, 0, 0
	}
	mem[memoryLeft] = math.Round(v.Seconds / dt)
}

// hold converts a command of [Env.SetCommand], a direction in the world and a speed, into velocities: forwards at the
// speed, turning towards the direction within AngularZ.
func (v *VelocityConfig) hold(mem []float64, ahead float64) {
	angle := math.Remainder(mem[memoryDirection]-ahead, 2*math.Pi)
	mem[memoryForward], mem[memoryLeftward] = mem[memorySpeed], 0
	mem[memoryTurn] = max(v.AngularZ[0], min(v.AngularZ[1], 2*angle))
}

// moving returns the root's velocity forwards and to the left in m/s, and its angular velocity about the vertical in
// rad/s.
func moving(s *State) (forward, left, turn float64) {
	q := rotation.Of(s.QPos[3:])
	v := rotation.Facing(q).Turn([3]float64(s.QVel))
	return v[0], v[1], q.Rotate([3]float64(s.QVel[3:]))[2]
}

// velocityReward returns the reward of the task [Velocity]: two terms for following the command, minus penalties.
func (c *characterTask) velocityReward(s *State, t *characterTerms) float64 {
	mem := c.memory(s)
	forward, left, turn := moving(s)
	dx, dy, dw := forward-mem[memoryForward], left-mem[memoryLeftward], turn-mem[memoryTurn]
	reward := t.linear.of(dx*dx+dy*dy) + t.angular.of(dw*dw)
	effort := 0.0
	for _, f := range s.ActuatorForce {
		effort += f * f
	}
	return reward - t.bounce*s.QVel[2]*s.QVel[2] - t.wobble*(s.QVel[3]*s.QVel[3]+s.QVel[4]*s.QVel[4]) -
		t.effort*effort - t.actionRate*mem[memoryChange]
}
