package mujoco

import "math"

// rootDifferences is the number of differences of the root: position, rotation, linear and angular velocity, 3 each.
const rootDifferences = 12

// writeDifference writes the AMP observation with CharacterConfig.Difference into out: the clip at this moment minus
// the character. Act has written the clip into the environment's scratch. Perfect tracking gives zeros, which is what
// ADD's discriminator takes as real.
func (c *characterTask) writeDifference(s *State, out []float32) {
	now, mem := &c.scratch[s.Env], c.memory(s)
	here, there := facing(s.QPos[3:7]), facing(now.qpos[3:7])
	if !c.cfg.HideRoot {
		// vector writes a world vector in the clip's heading frame.
		vector := func(at int, x, y, z float64) {
			x, y = there.turn(x, y)
			out[at], out[at+1], out[at+2] = float32(x), float32(y), float32(z)
		}
		vector(0, now.qpos[0]-s.QPos[0], now.qpos[1]-s.QPos[1], now.qpos[2]-s.QPos[2])
		x, y, z := rotationVector(s.QPos[3:7], now.qpos[3:7])
		vector(3, x, y, z)
		vector(6, now.qvel[0]-s.QVel[0], now.qvel[1]-s.QVel[1], now.qvel[2]-s.QVel[2])
		// A free joint's angular velocity is in the body's own frame: compare both in the world.
		x, y, z = rotate(now.qpos[3:7], now.qvel[3], now.qvel[4], now.qvel[5])
		a, b, d := rotate(s.QPos[3:7], s.QVel[3], s.QVel[4], s.QVel[5])
		vector(9, x-a, y-b, z-d)
		out = out[rootDifferences:]
	}
	hinges := c.nq - rootPositions
	for i := range hinges {
		out[i] = float32(now.qpos[rootPositions+i] - s.QPos[rootPositions+i])
		out[hinges+i] = float32(now.qvel[rootVelocities+i] - s.QVel[rootVelocities+i])
	}
	out = out[2*hinges:]
	// Key bodies are relative to their roots, each in its own heading frame, so that errors of the root do not add.
	var p [3]float64
	clip := c.reference(mem)
	for k, body := range c.keys {
		clip.key(mem[memoryTime], k, &p)
		x, y := here.turn(s.XPos[3*body]-s.QPos[0], s.XPos[3*body+1]-s.QPos[1])
		z := s.XPos[3*body+2] - s.QPos[2]
		out[3*k], out[3*k+1], out[3*k+2] = float32(p[0]-x), float32(p[1]-y), float32(p[2]-z)
	}
}

// rotationVector returns the rotation in the world that leads from one unit quaternion (w first) to another, the
// shorter way. The result is the axis times the angle in radians.
func rotationVector(from, to []float64) (x, y, z float64) {
	w := to[0]*from[0] + to[1]*from[1] + to[2]*from[2] + to[3]*from[3]
	x = to[1]*from[0] - to[0]*from[1] - to[2]*from[3] + to[3]*from[2]
	y = to[2]*from[0] - to[0]*from[2] - to[3]*from[1] + to[1]*from[3]
	z = to[3]*from[0] - to[0]*from[3] - to[1]*from[2] + to[2]*from[1]
	sin := math.Sqrt(x*x + y*y + z*z)
	scale := 2.0 // the limit for small angles
	if sin > 1e-12 {
		scale = 2 * math.Atan2(sin, math.Abs(w)) / sin
	}
	if w < 0 {
		scale = -scale
	}
	return scale * x, scale * y, scale * z
}
