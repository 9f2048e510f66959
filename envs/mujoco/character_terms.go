package mujoco

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// ObservationTerms are the names for CharacterConfig.Observations. The terms before "height" are what a robot measures
// or knows. They have the names of mjlab and Isaac Lab:
//
//   - "base_lin_vel" (3): the root's linear velocity in m/s, in the root's frame. Robots have to estimate it;
//   - "base_ang_vel" (3): its angular velocity in rad/s, in the root's frame, as a gyroscope measures it;
//   - "projected_gravity" (3): the unit vector downwards, in the root's frame;
//   - "joint_pos" (hinges): angles in rad relative to the body's DefaultPose, or to 0;
//   - "joint_vel" (hinges): velocities in rad/s;
//   - "actions" (hinges): the last actions, 0 at the beginning of an episode;
//   - "command" (3): in the task [Velocity] the commanded velocity forwards and to the left in m/s and the turn in
//     rad/s; in the task [Command] the direction (2, heading frame) and the speed;
//   - "phase" (2): sine and cosine of the clip's phase. It needs a clock;
//   - "reference" (5): in the task [Track] the clip's root relative to the character's (3, heading frame), and sine and
//     cosine of the angle between their headings;
//   - "height" (1): the root's height in m;
//   - "features": all features of [Character].
var ObservationTerms = []string{"base_lin_vel", "base_ang_vel", "projected_gravity", "joint_pos", "joint_vel",
	"actions", "command", "phase", "reference", "height", "features"}

// observedTerm is a part of an observation.
type observedTerm struct {
	part
	// write writes the values for a state. full is the complete observation.
	write func(s *State, full, out []float32)
}

// readTerms makes the terms of CharacterConfig.Observations. The complete observation has some of them as columns.
func (c *characterTask) readTerms() error {
	hinges, known := c.nq-rootPositions, map[string]observedTerm{}
	add := func(name string, width int, write func(s *State, full, out []float32)) {
		known[name] = observedTerm{part{name, width}, write}
	}
	columns := func(name string, width, at int) {
		add(name, width, func(_ *State, full, out []float32) { copy(out, full[at:]) })
	}
	add("base_lin_vel", 3, func(s *State, _, out []float32) { inRoot(s, out, [3]float64(s.QVel)) })
	add("base_ang_vel", 3, func(s *State, _, out []float32) { convert(out, s.QVel[3:rootVelocities]) })
	add("projected_gravity", 3, func(s *State, _, out []float32) { inRoot(s, out, [3]float64{0, 0, -1}) })
	add("joint_pos", hinges, func(s *State, _, out []float32) {
		pose := c.cfg.Body.DefaultPose
		for i := range out {
			if out[i] = float32(s.QPos[rootPositions+i]); pose != nil {
				out[i] = float32(s.QPos[rootPositions+i] - pose[i])
			}
		}
	})
	add("joint_vel", hinges, func(s *State, _, out []float32) { convert(out, s.QVel[rootVelocities:]) })
	add("actions", hinges, func(s *State, _, out []float32) { convert(out, c.acted(s)) })
	columns("height", 1, 0)
	at := 0
	for _, p := range c.whole() {
		columns(p.name, p.width, at)
		at += p.width
	}
	for _, name := range c.cfg.Observations {
		t, ok := known[name]
		if !ok {
			return fmt.Errorf("Observations: there is no term %q in the task %q; of %q, command needs the task %q or "+
				"%q, phase a clock, reference the task %q",
				name, c.cfg.Task, ObservationTerms, Command, Velocity, Track)
		}
		if slices.ContainsFunc(c.observed, func(o observedTerm) bool { return o.name == name }) {
			return fmt.Errorf("Observations: %q is there twice", name)
		}
		c.observed = append(c.observed, t)
	}
	return nil
}

// inRoot writes a vector of the world in the root's frame.
func inRoot(s *State, out []float32, v [3]float64) {
	put(out, rotation.Of(s.QPos[3:]).Conj().Rotate(v))
}

// writeTerms writes the terms of the observation. full is the complete observation of the state space.
func (c *characterTask) writeTerms(s *State, full, out []float32) {
	for i := range c.observed {
		t := &c.observed[i]
		t.write(s, full, out[:t.width])
		out = out[t.width:]
	}
}

// stand writes the default pose at rest into the state, with up to 0.1 rad of noise at each hinge. Episodes without
// clips start with it.
func (c *characterTask) stand(s *State, noise func() float64) {
	b := &c.cfg.Body
	clear(s.QPos[:3])
	s.QPos[2] = b.DefaultHeight
	turn := rotation.About([3]float64{0, 0, 1}, math.Pi*(2*noise()-1))
	copy(s.QPos[3:], turn[:])
	for i, a := range b.DefaultPose {
		s.QPos[rootPositions+i] = a + 0.1*(2*noise()-1)
	}
}
