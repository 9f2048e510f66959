package robot

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// Sensors are a robot's measurements at one moment.
type Sensors struct {
	// Sequence is the number of the measurement. It grows by one and may wrap around.
	Sequence uint32
	// Time is the robot's time in nanoseconds.
	Time int64
	// Position and Velocity of the joints are in rad and rad/s, in the order of the robot's description.
	Position, Velocity []float64
	// Quaternion is the rotation from the body's frame to the world's, w first, with z of the world upwards.
	Quaternion [4]float64
	// AngularVelocity is in rad/s, in the body's frame.
	AngularVelocity [3]float64
	// Command are the operator's values. They are limited to the ranges of training.
	Command []float64
	// Estimates are the values of [Controller.Estimates], one after the other.
	Estimates []float64
}

// copyFrom copies values of equal lengths.
func (s *Sensors) copyFrom(t *Sensors) {
	position, velocity, command, estimates := s.Position, s.Velocity, s.Command, s.Estimates
	*s = *t
	s.Position, s.Velocity, s.Command, s.Estimates = position, velocity, command, estimates
	copy(s.Position, t.Position)
	copy(s.Velocity, t.Velocity)
	copy(s.Command, t.Command)
	copy(s.Estimates, t.Estimates)
}

// finite reports whether all values are finite, and names the first that is not.
func (s *Sensors) finite() (what string, ok bool) {
	for _, part := range []struct {
		what   string
		values []float64
	}{{"a joint position", s.Position}, {"a joint velocity", s.Velocity}, {"the quaternion", s.Quaternion[:]},
		{"the angular velocity", s.AngularVelocity[:]}, {"the command", s.Command}, {"an estimate", s.Estimates}} {
		for _, v := range part.values {
			if v-v != 0 {
				return part.what, false
			}
		}
	}
	return "", true
}

// unit returns the quaternion with length 1. ok is false if its length is far from that.
func (s *Sensors) unit() (q rotation.Quat, ok bool) {
	n := 0.0
	for _, v := range s.Quaternion {
		n += v * v
	}
	n = math.Sqrt(n)
	for i, v := range s.Quaternion {
		q[i] = v / n
	}
	return q, n > 0.9 && n < 1.1
}

// gravity returns the direction of gravity in the body's frame.
func gravity(q rotation.Quat) [3]float64 { return q.Conj().Rotate([3]float64{0, 0, -1}) }

// tilt returns the angle in radians between the body's z axis and the vertical.
func tilt(q rotation.Quat) float64 { return math.Acos(max(-1, min(1, -gravity(q)[2]))) }

// headed turns a vector of the body's frame into the heading frame: the world turned about the vertical so that the
// body's x axis points ahead.
func headed(q rotation.Quat, v [3]float64) [3]float64 { return rotation.Facing(q).Turn(q.Rotate(v)) }
