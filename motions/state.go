package motions

// Skeleton returns what the clip's rows move, as a copy; nil where that is not known, and for clips whose columns are
// not those of a skeleton.
func (c *Clip) Skeleton() *Skeleton {
	if c.skeleton == nil {
		return nil
	}
	return c.skeleton.clone()
}

// State writes the state of a clip with a [Skeleton] at time t as MuJoCo has it: qpos (W values: the root's position
// and rotation, then the joints) and qvel (V values: the root's velocity in the world, its angular velocity in its own
// frame, then the joints' velocities, those of ball joints in the body's frame). It differs from [Clip.At] in the frame
// of angular velocities. Either slice may be nil. State panics where a slice has another length or the clip no
// skeleton. It allocates only where qvel is wanted without qpos.
func (c *Clip) State(t float64, qpos, qvel []float64) {
	if c.skeleton == nil {
		panic("motions: Clip.State: " + nameOr(c.name) + " has no skeleton")
	}
	if qpos == nil {
		qpos = make([]float64, c.w)
	}
	c.At(t, qpos, qvel)
	if qvel == nil {
		return
	}
	p, v := 0, 0
	for _, col := range c.description.Columns {
		if col.Kind == Rotation {
			w := quatOf(qpos[p:]).conj().rotate([3]float64{qvel[v], qvel[v+1], qvel[v+2]})
			copy(qvel[v:v+3], w[:])
		}
		p += col.Kind.Width()
		v += col.Kind.VelocityWidth()
	}
}

// Repairs says what was wrong with the clip's file and was set right when it was read or carried over, a sentence each.
func (c *Clip) Repairs() []string { return append([]string(nil), c.repairs...) }
