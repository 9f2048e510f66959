package robot

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/gorl-dev/gorl/envs"
)

// Fault is the reason for damping mode.
type Fault struct {
	// Kind is one of the constants of this type. Detail is a sentence with the measured value and the limit.
	Kind   Kind
	Detail string
}

// Error implements error.
func (f *Fault) Error() string { return fmt.Sprintf("robot: %s: %s", f.Kind, f.Detail) }

// Kind is a kind of fault.
type Kind string

// The kinds of faults, in the order of the checks.
const (
	Malformed  Kind = "malformed packet"
	Disordered Kind = "packets out of order"
	Lost       Kind = "packets lost"
	Stale      Kind = "stale input"
	Late       Kind = "late step"
	NotFinite  Kind = "not finite"
	Attitude   Kind = "no attitude"
	Tilted     Kind = "tilted"
	JointLimit Kind = "joint limit"
	Encoder    Kind = "encoder"
	Policy     Kind = "policy"
	Jump       Kind = "target jump"
	Stopped    Kind = "stopped" // by Controller.Stop
)

// Limits are the thresholds of a watchdog. Zero means the default.
type Limits struct {
	// Stale is the largest age of measurements. The default is three control steps.
	Stale time.Duration
	// Late is the largest delay of a control step. The default is two control steps.
	Late time.Duration
	// Lost is the largest number of packets in a row that may be missing, by their sequence numbers. The default is 5.
	Lost int
	// Disordered is the largest number of packets in a row that may be older than one before, for example because the
	// robot's count restarted. Such packets are not used. The default is 3.
	Disordered int
	// Margin is the largest angle in radians by which a joint may exceed its limits. The default is 0.1.
	Margin float64
	// Tilt is the largest angle in radians of the body's z axis from the vertical. The default is the robot's MaxTilt
	// or, without one, 1.
	Tilt float64
	// Start is the largest distance in radians of a joint from the middle of its first targets, which is its default
	// position or the clip's: an encoder with a wrong zero. The default is 0.4.
	Start float64
	// Slip is by how much in radians a position may change otherwise than velocities say, between measurements at most
	// a control step apart: an encoder that slips. The default is 0.2.
	Slip float64
	// Jump is the largest change of a target in radians in a control step. The first targets are compared with the
	// positions. The default is the change by an action of the robot's ActionClip, half of the targets' range, and at
	// least 1: a new command may well move targets by a radian.
	Jump float64
}

// fill replaces zeros by defaults.
func (l *Limits) fill(r *envs.Robot) error {
	step := time.Duration(float64(time.Second) / r.Frequency)
	l.Stale, l.Late = cmp.Or(l.Stale, 3*step), cmp.Or(l.Late, 2*step)
	l.Lost, l.Disordered = cmp.Or(l.Lost, 5), cmp.Or(l.Disordered, 3)
	l.Margin, l.Tilt = cmp.Or(l.Margin, 0.1), cmp.Or(l.Tilt, r.MaxTilt, 1)
	l.Start, l.Slip = cmp.Or(l.Start, 0.4), cmp.Or(l.Slip, 0.2)
	if min(l.Stale, l.Late) < 0 || min(l.Lost, l.Disordered) < 0 ||
		!(min(l.Margin, l.Tilt, l.Start, l.Slip) > 0) || !(l.Jump >= 0) {
		return fmt.Errorf("robot: Limits are %+v; they must not be negative", *l)
	}
	return nil
}

// moment is the input of a watchdog.
type moment struct {
	// malformed is the error of a packet since the last step that could not be read, or nil.
	malformed error
	// disordered counts the latest packets in a row that were older than one before. lost is the largest number of
	// missing packets in a row.
	disordered, lost int
	// age is the age of the measurements, and late the delay of the step.
	age, late time.Duration
	// sensors are the newest measurements.
	sensors *Sensors
	// slip is the largest difference in radians of a joint's change from what its velocities say, slipped the joint.
	slip    float64
	slipped int
	// start (rad) are the middles of the first targets, nil later.
	start []float64
	// policy is the error of the policy.
	policy error
	// targets (rad) are the policy's, nil before it has acted. before are the targets of the previous step.
	targets, before []float64
}

// judge returns the fault of a moment, or nil. It depends on its arguments only.
func (l Limits) judge(r *envs.Robot, m *moment) *Fault {
	fault := func(kind Kind, format string, args ...any) *Fault { return &Fault{kind, fmt.Sprintf(format, args...)} }
	switch {
	case m.malformed != nil:
		return fault(Malformed, "%v", m.malformed)
	case m.disordered > l.Disordered:
		return fault(Disordered, "%d packets in a row are older than one before; the limit is %d. Did the robot's "+
			"program begin anew, or do two send?", m.disordered, l.Disordered)
	case m.lost > l.Lost:
		return fault(Lost, "%d packets in a row are missing; the limit is %d", m.lost, l.Lost)
	case m.age > l.Stale:
		return fault(Stale, "the newest measurements are %v old; the limit is %v", m.age, l.Stale)
	case m.late > l.Late:
		return fault(Late, "the step is %v late; the limit is %v", m.late, l.Late)
	}
	if what, ok := m.sensors.finite(); !ok {
		return fault(NotFinite, "%s is NaN or infinite", what)
	}
	q, ok := m.sensors.unit()
	if !ok {
		return fault(Attitude, "the quaternion %.3g has not the length 1", m.sensors.Quaternion)
	}
	if angle := tilt(q); angle > l.Tilt {
		return fault(Tilted, "the body is %.2f rad from upright; the limit is %.2f", angle, l.Tilt)
	}
	for i, j := range r.Joints {
		if p := m.sensors.Position[i]; j.Low < j.High && (p < j.Low-l.Margin || p > j.High+l.Margin) {
			return fault(JointLimit, "joint %s is at %.3f rad; its limits are %.3f and %.3f, and the margin is %.3f",
				j.Name, p, j.Low, j.High, l.Margin)
		}
	}
	if m.slip > l.Slip {
		return fault(Encoder, "the position of joint %s changes by %.3f rad more than its velocity says; the limit "+
			"is %.3f", r.Joints[m.slipped].Name, m.slip, l.Slip)
	}
	if m.policy != nil {
		return fault(Policy, "%v", m.policy)
	}
	for i, middle := range m.start {
		if d := math.Abs(m.sensors.Position[i] - middle); d > l.Start {
			return fault(Encoder, "joint %s is %.3f rad from where the policy begins; the limit is %.3f. Is the robot "+
				"in its default pose, and the encoder's zero right?", r.Joints[i].Name, d, l.Start)
		}
	}
	for i, target := range m.targets {
		limit := cmp.Or(l.Jump, max(1, r.ActionClip*r.Joints[i].Scale))
		if d := math.Abs(target - m.before[i]); !(d <= limit) {
			return fault(Jump, "the target of joint %s moves by %.3f rad in one step; the limit is %.3f",
				r.Joints[i].Name, d, limit)
		}
	}
	return nil
}
