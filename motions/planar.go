package motions

import (
	"errors"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// Planar projects a clip of DeepMimic's humanoid (y up, 43 values a frame) onto the plane of its travel, for the legs
// of the walker of package mujoco. The result has the nine columns of [Gait]. Pitch, hips, knees and ankles are the
// rotations about the axis across that plane; arms, chest and what leaves the plane are dropped. The pelvis rises and
// falls as the humanoid's, lifted until no foot is below the ground. Planar fails for clips of other skeletons.
func Planar(c *Clip) (*Clip, error) {
	if !isDeepMimicHumanoid(c) {
		return nil, named(c.name, errors.New("this is not DeepMimic's humanoid, of 43 values a frame, "+
			"which is the only skeleton that can be projected onto a plane"))
	}
	at := map[string]int{}
	for place, col := range c.description.each {
		at[col.Name] = place.pos
	}
	first, last := c.Frame(0), c.Frame(c.n-1)
	dx, dz := last[at["root_x"]]-first[at["root_x"]], last[at["root_z"]]-first[at["root_z"]]
	heading := 0.0 // about the upward axis, from x: the direction of travel is x cos − z sin
	if math.Hypot(dx, dz) > 0.1 {
		heading = math.Atan2(-dz, dx)
	}
	sin, cos := math.Sincos(heading)
	back := rotation.Quat{math.Cos(heading / 2), 0, -math.Sin(heading / 2), 0}
	frames, legs := make([][]float64, c.n), make([][]float64, c.n)
	for k := range frames {
		p := c.Frame(k)
		joint := func(name string) rotation.Quat { return rotation.Of(p[at[name]:]) }
		f := make([]float64, 9)
		f[0] = (p[at["root_x"]]-first[at["root_x"]])*cos - (p[at["root_z"]]-first[at["root_z"]])*sin
		f[1] = p[at["root_y"]]
		f[2] = -twist(back.Mul(joint(rootRotation)))
		for leg, side := range []string{"right_", "left_"} {
			f[3+3*leg] = twist(joint(side + "hip"))
			f[4+3*leg] = -p[at[side+"knee"]]
			f[5+3*leg] = twist(joint(side + "ankle"))
		}
		frames[k] = f
		legs[k] = slices.Clone(f)
		legs[k][3] -= f[2] // the angles in the world
		legs[k][6] -= f[2]
	}
	heights, _ := ground(legs)
	lift := math.Inf(-1)
	for k, f := range frames {
		lift = max(lift, heights[k]-f[1])
	}
	for _, f := range frames {
		f[1] += lift
	}
	return NewClip(ClipConfig{Name: c.name, Loop: c.loop, Weight: c.weight, Frames: frames, Durations: durationsOf(c),
		Description: gaitDescription()})
}

// twist returns the part of a rotation about the third axis, in (−π, π].
func twist(q rotation.Quat) float64 {
	return math.Remainder(2*math.Atan2(q[3], q[0]), 2*math.Pi)
}
