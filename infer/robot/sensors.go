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
	s.Sequence, s.Time = t.Sequence, t.Time
	to := s.parts()
	for i, from := range t.parts() {
		copy(to[i], from)
	}
}

// parts returns the numbers in the order of a packet, named as in partNames.
func (s *Sensors) parts() [6][]float64 {
	return [6][]float64{s.Position, s.Velocity, s.Quaternion[:], s.AngularVelocity[:], s.Command, s.Estimates}
}

var partNames = [6]string{"a joint position", "a joint velocity", "the quaternion", "the angular velocity",
	"the command", "an estimate"}

// finite reports whether all values are finite, and names the first that is not.
func (s *Sensors) finite() (what string, ok bool) {
	for i, part := range s.parts() {
		for _, v := range part {
			if v-v != 0 {
				return partNames[i], false
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
