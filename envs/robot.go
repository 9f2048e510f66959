package envs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// RobotDescriber is implemented by environments of one robot, whose policies can drive it.
type RobotDescriber interface {
	// Robot describes the robot. The error says why a policy of this environment cannot drive one.
	Robot() (Robot, error)
}

// Robot is what a program must know besides a policy to drive a robot by it. A run's folder has it as robot.json, and
// an exported policy has it in its metadata. Package infer/robot acts by it.
type Robot struct {
	// Name is a short word for the model.
	Name string `json:"name"`
	// Frequency is the number of control steps per second.
	Frequency float64 `json:"frequency"`
	// ActionClip is the largest absolute action: larger ones are clipped. 0 means none are.
	ActionClip float64 `json:"action_clip,omitempty"`
	// Joints are the joints in the order of the actions, and of the values in the observation.
	Joints []RobotJoint `json:"joints"`
	// Observation are the parts of an observation, in order.
	Observation []RobotTerm `json:"observation"`
	// Commands are the values that an operator gives, in the order of the observation.
	Commands []RobotCommand `json:"commands,omitempty"`
	// Reference is the clip that targets follow or whose phase is observed, nil if there is none.
	Reference *RobotReference `json:"reference,omitempty"`
	// Height is the root's height in metres in the default pose, MinHeight that below which a robot has fallen, and
	// MaxTilt the angle in radians from the vertical above which it has. 0 means that it is not known.
	Height    float64 `json:"height,omitempty"`
	MinHeight float64 `json:"min_height,omitempty"`
	MaxTilt   float64 `json:"max_tilt,omitempty"`
	// Feet are the bodies that may touch the floor, and Keys those whose positions are observed.
	Feet []string `json:"feet,omitempty"`
	Keys []string `json:"keys,omitempty"`
}

// RobotJoint is a hinge with position control: its torque in N·m is Stiffness·(target − position) − Damping·velocity,
// within ±Effort.
type RobotJoint struct {
	Name string `json:"name"`
	// Default is the position in radians about which targets move: target = Default + Scale·action. Observed positions
	// are relative to Zero. With a clip in Reference.Positions targets move about the clip's position instead.
	Default float64 `json:"default"`
	Scale   float64 `json:"scale"`
	Zero    float64 `json:"zero"`
	// Stiffness is in N·m/rad, Damping in N·m·s/rad, Effort in N·m. An Effort of 0 means no limit.
	Stiffness float64 `json:"stiffness"`
	Damping   float64 `json:"damping"`
	Effort    float64 `json:"effort,omitempty"`
	// Low and High are the limits of the position in radians. Both 0 means none.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// RobotTerm is a part of an observation. Package infer/robot lists the names that it can compute.
type RobotTerm struct {
	Name string `json:"name"`
	// Size is the number of values.
	Size int `json:"size"`
}

// RobotCommand is a value that an operator gives, and its range in training.
type RobotCommand struct {
	Name string  `json:"name"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// RobotReference is a clip that repeats.
type RobotReference struct {
	// Duration is that of a repetition in seconds.
	Duration float64 `json:"duration"`
	// Lead is the time in seconds by which targets are ahead of the observed phase.
	Lead float64 `json:"lead,omitempty"`
	// Positions (rows, joints) are the clip's, about which targets move, in radians. Rows are equally spaced in time
	// from phase 0 on, and the first row follows the last. Between rows positions are interpolated linearly. If there
	// are no rows, only the phase is observed.
	Positions [][]float64 `json:"positions,omitempty"`
	// Compared says that targets move about RobotJoint.Default: the clip is only what the motion is compared with.
	Compared bool `json:"compared,omitempty"`
	// Root (rows + 1, 7) is the clip's root at the times of Positions: its position in metres, and its rotation to the
	// world as a quaternion, w first. The last row is where the next repetition begins, turned about the vertical and
	// moved along the ground. Only policies that observe the term "reference" need it.
	Root [][]float64 `json:"root,omitempty"`
	// Deviation is the distance in metres from the clip at which an episode ends: of the root, and of the Keys relative
	// to the root, each in its own heading frame. 0 means none.
	Deviation float64 `json:"deviation,omitempty"`
}

// At writes the clip's positions at a time in seconds, which may be any finite number.
func (r *RobotReference) At(t float64, positions []float64) {
	rows := float64(len(r.Positions))
	at := math.Mod(t/r.Duration, 1)
	if at < 0 {
		at++
	}
	at *= rows
	first := int(at)
	f := at - float64(first)
	a, b := r.Positions[first%len(r.Positions)], r.Positions[(first+1)%len(r.Positions)]
	for i := range positions {
		positions[i] = a[i] + f*(b[i]-a[i])
	}
}

// Width is the number of values of an observation.
func (r *Robot) Width() int {
	n := 0
	for _, t := range r.Observation {
		n += t.Size
	}
	return n
}

// ReadRobot reads a description as JSON and checks it.
func ReadRobot(in io.Reader) (Robot, error) {
	var r Robot
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return Robot{}, fmt.Errorf("envs: description of a robot: %w", err)
	}
	return r, r.Check()
}

// Check returns an error unless the description is complete, and its numbers are finite and in range.
func (r *Robot) Check() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("envs: description of a robot: %w", err)
	}
	return nil
}

func (r *Robot) check() error {
	switch {
	case !(r.Frequency > 0) || !finite(r.Frequency):
		return fmt.Errorf("frequency is %g Hz; it must be positive and finite", r.Frequency)
	case len(r.Joints) == 0 || len(r.Observation) == 0:
		return fmt.Errorf("there are %d joints, and %d terms of the observation", len(r.Joints), len(r.Observation))
	case !(min(r.ActionClip, r.Height, r.MinHeight, r.MaxTilt) >= 0) || !finite(r.ActionClip, r.Height, r.MinHeight,
		r.MaxTilt):
		return errors.New("action_clip, height, min_height and max_tilt must be finite and not negative")
	}
	names := map[string]bool{}
	for _, j := range r.Joints {
		switch {
		case j.Name == "" || names[j.Name]:
			return fmt.Errorf("the joint name %q is empty or used twice", j.Name)
		case !finite(j.Default, j.Scale, j.Zero, j.Stiffness, j.Damping, j.Effort, j.Low, j.High):
			return fmt.Errorf("joint %s has a number that is not finite", j.Name)
		case min(j.Stiffness, j.Damping, j.Effort) < 0:
			return fmt.Errorf("joint %s: stiffness, damping and effort are %g, %g and %g; they must not be negative",
				j.Name, j.Stiffness, j.Damping, j.Effort)
		case j.Low > j.High:
			return fmt.Errorf("joint %s: its limits are %g and %g, in the wrong order", j.Name, j.Low, j.High)
		}
		names[j.Name] = true
	}
	for _, t := range r.Observation {
		if t.Name == "" || t.Size < 1 || t.Size > 1<<20 {
			return fmt.Errorf("the observation's term %q has %d values", t.Name, t.Size)
		}
	}
	for _, c := range r.Commands {
		if !finite(c.Low, c.High) || c.Low > c.High {
			return fmt.Errorf("the range of command %s is %g to %g", c.Name, c.Low, c.High)
		}
	}
	if r.Reference == nil {
		return nil
	}
	if d := r.Reference.Duration; !(d > 0) || !finite(d, r.Reference.Lead, r.Reference.Deviation) {
		return fmt.Errorf("the reference lasts %g s with a lead of %g s and a deviation of %g m; they must be finite, "+
			"the first positive", d, r.Reference.Lead, r.Reference.Deviation)
	}
	if rows := len(r.Reference.Root); rows > 0 && rows != len(r.Reference.Positions)+1 {
		return fmt.Errorf("the reference's root has %d rows; it needs one more than the %d of its positions", rows,
			len(r.Reference.Positions))
	}
	return cmp.Or(checkTable("root", r.Reference.Root, 7),
		checkTable("positions", r.Reference.Positions, len(r.Joints)))
}

// checkTable returns an error unless each row of a table of the reference has width finite values.
func checkTable(name string, table [][]float64, width int) error {
	for k, row := range table {
		if len(row) != width || !finite(row...) {
			return fmt.Errorf("row %d of the reference's %s has %d values, or one that is not finite; it needs %d", k,
				name, len(row), width)
		}
	}
	return nil
}

// finite reports whether no value is NaN or infinite.
func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 })
}
