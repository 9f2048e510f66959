package mujoco

import "github.com/gorl-dev/gorl/internal/rotation"

// rootDifferences is the number of differences of the root: position, rotation, linear and angular velocity, 3 each.
const rootDifferences = 12

// writeDifference writes the AMP observation with CharacterConfig.Difference into out: the clip at this moment minus
// the character. Act has written the clip into the environment's scratch. Perfect tracking gives zeros, which is what
// ADD's discriminator takes as real.
func (c *characterTask) writeDifference(s *State, out []float32) {
	now, mem := &c.scratch[s.Env], c.memory(s)
	q, clips := rotation.Of(s.QPos[3:]), rotation.Of(now.qpos[3:])
	frame := rotation.Facing(q)
	if !c.cfg.HideRoot {
		there := rotation.Facing(clips)
		// difference writes a difference of world vectors in the clip's heading frame.
		difference := func(a, b [3]float64) {
			out = put(out, there.Turn([3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]}))
		}
		difference([3]float64(now.qpos), [3]float64(s.QPos))
		difference(rotation.Vector(q, clips), [3]float64{})
		difference([3]float64(now.qvel), [3]float64(s.QVel))
		// A free joint's angular velocity is in the body's own frame: compare both in the world.
		difference(clips.Rotate([3]float64(now.qvel[3:])), q.Rotate([3]float64(s.QVel[3:])))
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
		v := fromRoot(frame, s.QPos, s.XPos, body)
		out = put(out, [3]float64{p[0] - v[0], p[1] - v[1], p[2] - v[2]})
	}
}
