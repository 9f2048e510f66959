package mujoco

import "github.com/gorl-dev/gorl/internal/rotation"

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

// whole returns the parts of the complete observation, as observe writes them.
func (c *characterTask) whole() []part {
	all := []part{{"features", c.features()}}
	if c.cfg.Clock {
		all = append(all, part{"phase", 2}) // sine and cosine
	}
	switch c.cfg.Task {
	case Track:
		all = append(all, part{"reference", 5}) // the clip's root (3), sine and cosine of the angle to its heading
	case Command, Velocity:
		all = append(all, part{"command", 3}) // direction (2) and speed, or a velocity
	}
	return all
}

// shown returns the parts of the policy's observation.
func (c *characterTask) shown() (all []part) {
	for _, t := range c.observed {
		all = append(all, t.part)
	}
	if all == nil {
		return c.whole()
	}
	return all
}

// parts returns the parts of the policy's observation, with the features one by one.
func (c *characterTask) parts() (all []part) {
	hinges := c.nq - rootPositions
	for _, p := range c.shown() {
		if p.name != "features" {
			all = append(all, p)
			continue
		}
		all = append(all, part{"height", 1}, part{"projected_gravity", 6}, part{"base_lin_vel", 3},
			part{"base_ang_vel", 3}, part{"joint_pos", hinges}, part{"joint_vel", hinges},
			part{"key_pos", 3 * len(c.keys)})
	}
	return all
}

// widthOf returns the number of values of all parts.
func widthOf(parts []part) (n int) {
	for _, p := range parts {
		n += p.width
	}
	return n
}

// writeFeatures writes the features of a moment into out, see [Character]. xpos (bodies, 3) must be computed from qpos.
// Observations and the reference tables of clips both use it, so that a discriminator compares like with like.
func (c *characterTask) writeFeatures(qpos, qvel, xpos []float64, out []float32) {
	q := rotation.Of(qpos[3:])
	frame := rotation.Facing(q)
	out[0] = float32(qpos[2])
	out = put(out[1:], frame.Turn(q.Rotate([3]float64{1, 0, 0})))
	out = put(out, frame.Turn(q.Rotate([3]float64{0, 0, 1})))
	out = put(out, frame.Turn([3]float64(qvel)))
	// A free joint's angular velocity is in the body's own frame: turn it into the world first.
	out = put(out, frame.Turn(q.Rotate([3]float64(qvel[3:]))))
	out = convert(out, qpos[rootPositions:])
	out = convert(out, qvel[rootVelocities:])
	for _, body := range c.keys {
		out = put(out, fromRoot(frame, qpos, xpos, body))
	}
}

// put writes a vector and returns the rest of out.
func put(out []float32, v [3]float64) []float32 {
	out[0], out[1], out[2] = float32(v[0]), float32(v[1]), float32(v[2])
	return out[3:]
}

// convert writes numbers of another type and returns the rest of out.
func convert[T, V float32 | float64](out []T, values []V) []T {
	for i, v := range values {
		out[i] = T(v)
	}
	return out[len(values):]
}

// fromRoot returns the position of a body relative to the root, in the root's heading frame.
func fromRoot(frame rotation.Frame, qpos, xpos []float64, body int) [3]float64 {
	p := xpos[3*body : 3*body+3]
	return frame.Turn([3]float64{p[0] - qpos[0], p[1] - qpos[1], p[2] - qpos[2]})
}

// heading returns the heading of the root: an angle in radians about the vertical, 0 along the world's x.
func heading(qpos []float64) float64 { return rotation.Of(qpos[3:]).Heading() }
