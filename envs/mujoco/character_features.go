package mujoco

import "math"

// features is the number of features of a moment, see [Character]: the root's, angle and velocity of each hinge, and
// three coordinates of each key body.
func (c *characterTask) features() int { return rootFeatures + 2*(c.nq-rootPositions) + 3*len(c.keys) }

// style is the number of values that an AMP observation has for one moment. Without Difference they are the last ones
// of the features, because HideRoot drops the root's, which come first. With Difference they are differences.
func (c *characterTask) style() int {
	n, root := c.features(), rootFeatures
	if c.cfg.Difference {
		n, root = n+rootDifferences-rootFeatures, rootDifferences
	}
	if c.cfg.HideRoot {
		n -= root
	}
	return n
}

// observation is the width of an observation. Observe writes the parts in the same order: features, clock, task.
func (c *characterTask) observation() int {
	n := c.features()
	if c.cfg.Clock {
		n += 2 // sine and cosine of the phase
	}
	switch c.cfg.Task {
	case Track:
		n += 5 // the clip's root (3), sine and cosine of the angle to its heading
	case Command, Velocity:
		n += 3 // direction (2) and speed, or a velocity
	}
	return n
}

// parts describes an observation, as Observe writes it.
func (c *characterTask) parts() (all []part) {
	hinges := c.nq - rootPositions
	features := []part{{"height", 1}, {"projected_gravity", 6}, {"base_lin_vel", 3}, {"base_ang_vel", 3},
		{"joint_pos", hinges}, {"joint_vel", hinges}, {"key_pos", 3 * len(c.keys)}}
	for _, t := range c.observed {
		if t.name == "features" {
			all = append(all, features...)
		} else {
			all = append(all, part{t.name, t.size})
		}
	}
	if c.observed != nil {
		return all
	}
	if all = features; c.cfg.Clock {
		all = append(all, part{"phase", 2})
	}
	switch c.cfg.Task {
	case Track:
		all = append(all, part{"reference", 5})
	case Command, Velocity:
		all = append(all, part{"command", 3})
	}
	return all
}

// writeFeatures writes the features of a moment into out, see [Character]. xpos (bodies, 3) must be computed from qpos.
// Observations and the reference tables of clips both use it, so that a discriminator compares like with like.
func (c *characterTask) writeFeatures(qpos, qvel, xpos []float64, out []float32) {
	q := qpos[3:7]
	frame := facing(q)
	// vector writes a world vector in the heading frame.
	vector := func(at int, x, y, z float64) {
		x, y = frame.turn(x, y)
		out[at], out[at+1], out[at+2] = float32(x), float32(y), float32(z)
	}
	out[0] = float32(qpos[2])
	x, y, z := rotate(q, 1, 0, 0)
	vector(1, x, y, z)
	x, y, z = rotate(q, 0, 0, 1)
	vector(4, x, y, z)
	vector(7, qvel[0], qvel[1], qvel[2])
	// A free joint's angular velocity is in the body's own frame: turn it into the world first.
	x, y, z = rotate(q, qvel[3], qvel[4], qvel[5])
	vector(10, x, y, z)
	at := rootFeatures
	for _, v := range qpos[rootPositions:] {
		out[at] = float32(v)
		at++
	}
	for _, v := range qvel[rootVelocities:] {
		out[at] = float32(v)
		at++
	}
	for _, body := range c.keys {
		p := xpos[3*body : 3*body+3]
		vector(at, p[0]-qpos[0], p[1]-qpos[1], p[2]-qpos[2])
		at += 3
	}
}

// heading returns the direction of a rotation's x axis: an angle in radians about the vertical, 0 along the world's x.
// q is a unit quaternion, w first.
func heading(q []float64) float64 {
	return math.Atan2(2*(q[1]*q[2]+q[0]*q[3]), 1-2*(q[2]*q[2]+q[3]*q[3]))
}

// headingFrame is the world turned about the vertical by a heading, whose sine and cosine it holds.
type headingFrame struct{ sin, cos float64 }

// facing returns the heading frame of a rotation.
func facing(q []float64) headingFrame {
	sin, cos := math.Sincos(heading(q))
	return headingFrame{sin, cos}
}

// turn returns a horizontal vector of the world in the frame's coordinates.
func (f headingFrame) turn(x, y float64) (ahead, left float64) {
	return f.cos*x + f.sin*y, f.cos*y - f.sin*x
}

// rotate rotates a vector by a unit quaternion, w first.
func rotate(q []float64, x, y, z float64) (float64, float64, float64) {
	w, a, b, c := q[0], q[1], q[2], q[3]
	tx, ty, tz := 2*(b*z-c*y), 2*(c*x-a*z), 2*(a*y-b*x)
	return x + w*tx + b*tz - c*ty, y + w*ty + c*tx - a*tz, z + w*tz + a*ty - b*tx
}

// angleBetween returns the angle in radians, in [0, π], of the rotation between two unit quaternions.
func angleBetween(a, b []float64) float64 {
	dot := a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]
	return 2 * math.Acos(min(1, math.Abs(dot)))
}
