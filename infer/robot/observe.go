package robot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/rotation"
)

// view holds the inputs of terms in a step of the controller.
type view struct {
	sensors *Sensors
	robot   *envs.Robot
	q       rotation.Quat
	gravity [3]float64
	// action is the last action, time the time in the reference clip in seconds.
	action []float32
	time   float64
	// command is limited to the ranges of training.
	command []float64
}

// term writes a part of an observation. estimates are the values that it needs from the caller.
type term func(v *view, estimates []float64, out []float32)

// write converts numbers, and returns the rest of out.
func write(out []float32, values ...float64) []float32 {
	for i, x := range values {
		out[i] = float32(x)
	}
	return out[len(values):]
}

// measured are the terms that need no estimate.
var measured = map[string]term{
	"base_ang_vel":      func(v *view, _ []float64, out []float32) { write(out, v.sensors.AngularVelocity[:]...) },
	"projected_gravity": func(v *view, _ []float64, out []float32) { write(out, v.gravity[:]...) },
	"joint_pos": func(v *view, _ []float64, out []float32) {
		for i := range v.robot.Joints {
			out[i] = float32(v.sensors.Position[i] - v.robot.Joints[i].Zero)
		}
	},
	"joint_vel": func(v *view, _ []float64, out []float32) { write(out, v.sensors.Velocity...) },
	"actions":   func(v *view, _ []float64, out []float32) { copy(out, v.action) },
	"command":   func(v *view, _ []float64, out []float32) { write(out, v.command...) },
	"zeros":     func(_ *view, _ []float64, out []float32) { clear(out) },
	"phase": func(v *view, _ []float64, out []float32) {
		sin, cos := math.Sincos(2 * math.Pi * v.time / v.robot.Reference.Duration)
		write(out, sin, cos)
	},
}

// given copies estimates.
func given(_ *view, estimates []float64, out []float32) { write(out, estimates...) }

// features writes the features of mujoco.Character. Its estimates are height, base_lin_vel, key_positions.
func features(v *view, estimates []float64, out []float32) {
	out = write(out, estimates[0])
	for _, vector := range [][3]float64{{1, 0, 0}, {0, 0, 1}, [3]float64(estimates[1:4]), v.sensors.AngularVelocity} {
		vector = headed(v.q, vector)
		out = write(out, vector[:]...)
	}
	out = write(out, v.sensors.Position...)
	out = write(out, v.sensors.Velocity...)
	write(out, estimates[4:]...)
}

// sizes returns the numbers of values of the terms whose size follows from the robot.
func sizes(r *envs.Robot) map[string]int {
	n, keys := len(r.Joints), len(r.Keys)
	return map[string]int{"base_ang_vel": 3, "projected_gravity": 3, "joint_pos": n, "joint_vel": n, "actions": n,
		"command": len(r.Commands), "phase": 2, "base_lin_vel": 3, "height": 1,
		"features": 13 + 2*n + 3*keys}
}

// part is a term with its range in the observation (at to end) and in the estimates (first to last).
type part struct {
	write       term
	at, end     int
	first, last int
}

// read turns the description of an observation into parts, and collects the estimates that they need.
func read(r *envs.Robot) (parts []part, estimates []envs.RobotTerm, err error) {
	at, first, known := 0, 0, sizes(r)
	for _, t := range r.Observation {
		if n, ok := known[t.Name]; ok && n != t.Size {
			return nil, nil, fmt.Errorf("robot: the term %s has %d values; of this robot it has %d", t.Name, t.Size, n)
		}
		p := part{write: measured[t.Name], at: at, end: at + t.Size, first: first, last: first}
		need := func(name string, size int) {
			estimates = append(estimates, envs.RobotTerm{Name: name, Size: size})
			p.last += size
		}
		switch {
		case t.Name == "phase" && r.Reference == nil:
			return nil, nil, fmt.Errorf("robot: the policy observes a phase, and its file has no clip")
		case t.Name == "features":
			p.write = features
			need("height", 1)
			need("base_lin_vel", 3)
			if len(r.Keys) > 0 {
				need("key_positions", 3*len(r.Keys))
			}
		case p.write == nil:
			p.write = given
			need(t.Name, t.Size)
		}
		at, first = p.end, p.last
		parts = append(parts, p)
	}
	return parts, estimates, nil
}

// refuse returns an error unless the caller supplies all estimates, and no others.
func refuse(estimates []envs.RobotTerm, supplied []string) error {
	var used []string
	for _, t := range estimates {
		used = append(used, t.Name)
	}
	for _, name := range supplied {
		if !slices.Contains(used, name) {
			return fmt.Errorf("robot: Config.Estimates has %s, which the policy does not need; it needs %q", name, used)
		}
	}
	slices.Sort(used)
	missing := slices.DeleteFunc(slices.Compact(used), func(s string) bool { return slices.Contains(supplied, s) })
	if len(missing) > 0 {
		return fmt.Errorf("robot: the policy observes %s, which encoders and an IMU do not measure; train it without, "+
			"by the setting observations, or supply estimates and name them in Config.Estimates",
			strings.Join(missing, ", "))
	}
	return nil
}
