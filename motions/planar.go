package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Planar projects a clip of DeepMimic's humanoid (y up, 43 values a frame) onto the plane of its travel, for the legs
// of cfg: a clip of the nine columns of [Gait]. The walker of package mujoco imitates it. Pitch, hips, knees and ankles
// are the rotations about the axis across that plane; arms, chest and what leaves the plane are dropped. The pelvis
// rises and falls as the humanoid's, lifted so far that no foot is below the ground. Of cfg only the lengths and
// HipHeight count.
//
// It fails where the clip is of another skeleton.
func Planar(c *Clip, cfg GaitConfig) (*Clip, error) {
	out, err := planar(c, cfg)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(c.Name()), err)
	}
	return out, nil
}

// errNotHumanoid is the error of clips that Planar knows no plane of.
var errNotHumanoid = errors.New("this is not DeepMimic's humanoid, of 43 values a frame, which is the only skeleton that can be projected onto a plane")

func planar(c *Clip, cfg GaitConfig) (*Clip, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	at := map[string]int{}
	for first, col := range c.description.all {
		at[col.Name] = first
	}
	if c.Raw() || !slices.Equal(c.description.Columns, humanoid3D().Columns) {
		return nil, errNotHumanoid
	}
	first, last := c.Frame(0), c.Frame(c.n-1)
	dx, dz := last[at["root_x"]]-first[at["root_x"]], last[at["root_z"]]-first[at["root_z"]]
	heading := 0.0 // about the upward axis, from x, so that x cos − z sin is the way
	if math.Hypot(dx, dz) > 0.1 {
		heading = math.Atan2(-dz, dx)
	}
	sin, cos := math.Sincos(heading)
	back := quat{math.Cos(heading / 2), 0, -math.Sin(heading / 2), 0}
	frames, legs := make([][]float64, c.n), make([][]float64, c.n)
	durations := make([]float64, c.n)
	for k := range frames {
		p := c.Frame(k)
		joint := func(name string) quat { return quatOf(p[at[name]:]) }
		f := make([]float64, 9)
		f[0] = (p[at["root_x"]]-first[at["root_x"]])*cos - (p[at["root_z"]]-first[at["root_z"]])*sin
		f[1] = p[at["root_y"]]
		f[2] = -across(back.mul(joint(rootRotation)))
		for leg, side := range []string{"right_", "left_"} {
			f[3+3*leg] = across(joint(side + "hip"))
			f[4+3*leg] = -p[at[side+"knee"]]
			f[5+3*leg] = across(joint(side + "ankle"))
		}
		frames[k], durations[k] = f, c.FrameDuration(k)
		legs[k] = slices.Clone(f)
		legs[k][3] -= f[2] // as they stand in the world
		legs[k][6] -= f[2]
	}
	heights, _ := cfg.ground(legs)
	lift := math.Inf(-1)
	for k, f := range frames {
		lift = max(lift, heights[k]-f[1])
	}
	for _, f := range frames {
		f[1] += lift
	}
	return NewClip(ClipConfig{Name: c.name, Loop: c.loop, Weight: c.weight, Frames: frames, Durations: durations,
		Description: gaitDescription()})
}

// across is a rotation's part about the third axis, in (−π, π].
func across(q quat) float64 {
	a := 2 * math.Atan2(q[3], q[0])
	return math.Remainder(a, 2*math.Pi)
}
