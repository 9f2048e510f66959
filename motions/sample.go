package motions

import (
	"math"
	"sort"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// At writes the positions (W) and velocities (V) at time t in seconds. Positions and velocities are interpolated
// linearly, rotations along the shorter arc. A wrapping clip takes any t, also negative, and its travelling columns
// continue from loop to loop. Any other clip holds its first or last frame and that frame's velocities. Either slice
// may be nil. At panics if a slice has another length. It does not allocate.
func (c *Clip) At(t float64, pos, vel []float64) {
	if (pos != nil && len(pos) != c.w) || (vel != nil && len(vel) != c.v) {
		panic("motions: Clip.At: pos and vel must have the clip's Width and VelocityWidth")
	}
	loop, a, b, f, closing := c.locate(t)
	if pos != nil {
		interpolate(c, a, b, f, closing, pos)
		if loop != 0 {
			for i, d := range c.travel {
				pos[i] += loop * d
			}
		}
	}
	if vel != nil {
		va, vb := c.frameVelocity(a), c.frameVelocity(b)
		for i := range vel {
			vel[i] = va[i] + f*(vb[i]-va[i])
		}
	}
	if c.turn != nil && loop != 0 {
		c.turn.apply(loop, pos, vel)
	}
}

// State writes the state of a clip with a [Skeleton] at time t in MuJoCo's form. qpos has W values: the root's position
// and rotation, then the joints. qvel has V values: the root's velocity in the world, its angular velocity in its own
// frame, then the joints' velocities, those of ball joints in the body's frame. Only the frame of angular velocities
// differs from [Clip.At]. Either slice may be nil. State panics if a slice has another length or the clip has no
// skeleton. It allocates only for qvel without qpos.
func (c *Clip) State(t float64, qpos, qvel []float64) {
	if c.skeleton == nil {
		panic("motions: Clip.State: the clip " + c.name + " has no skeleton")
	}
	if qpos == nil {
		qpos = make([]float64, c.w)
	}
	c.At(t, qpos, qvel)
	if qvel == nil {
		return
	}
	for at, col := range c.description.each {
		if col.Kind == Rotation {
			w := rotation.Of(qpos[at.pos:]).Conj().Rotate([3]float64(qvel[at.vel:]))
			copy(qvel[at.vel:at.vel+3], w[:])
		}
	}
}

// locate returns the loop of time t, the frames a and b around t, and the share f in [0, 1] of the way from a to b. On
// the stretch from the last frame back to the first (closing) b is 0.
func (c *Clip) locate(t float64) (loop float64, a, b int, f float64, closing bool) {
	end := c.times[c.n]
	if c.loop == LoopWrap && end > 0 {
		loop = math.Floor(t / end)
		t -= loop * end
	}
	if !(t > 0) { // also NaN
		return loop, 0, 0, 0, false
	}
	if t >= end {
		if c.closes() { // rounding put t on the end of the closing stretch
			return loop, c.n - 1, 0, 1, true
		}
		return loop, c.n - 1, c.n - 1, 0, false
	}
	lo := sort.Search(c.n, func(i int) bool { return c.times[i] > t }) - 1 // times[lo] ≤ t < times[lo+1]
	f = (t - c.times[lo]) / (c.times[lo+1] - c.times[lo])
	if lo == c.n-1 {
		return loop, lo, 0, f, true
	}
	return loop, lo, lo + 1, f, false
}

func interpolate(c *Clip, a, b int, f float64, closing bool, pos []float64) {
	pa, pb := c.Frame(a), c.Frame(b)
	at := 0
	for _, col := range c.description.Columns {
		if col.Kind == Rotation {
			q := rotation.Slerp(rotation.Of(pa[at:]), rotation.Of(pb[at:]), f)
			copy(pos[at:at+4], q[:])
			at += 4
			continue
		}
		to := pb[at]
		if closing {
			to += c.travel[at]
		}
		pos[at] = pa[at] + f*(to-pa[at])
		at++
	}
}

// turn makes each loop of a clip that ends in another direction than it began (left and right turns) begin where, and
// in the direction in which, the previous loop ended.
type turn struct {
	angle float64    // what one loop adds to the heading, about the vertical
	shift [2]float64 // loop n+1 = rotate(loop n, angle) + shift, on the ground
}

// setTurn gives a clip a turn if it wraps, its last frame is its end, and its first columns are a root position (x, y
// on the ground, z up) and a root rotation. Other clips stay as they are.
func setTurn(c *Clip) {
	cols := c.description.Columns
	if c.loop != LoopWrap || c.n < 2 || c.closes() || len(cols) < 4 || cols[0].Kind != Travel ||
		cols[1].Kind != Travel || cols[2].Kind != Linear || cols[3].Kind != Rotation {
		return
	}
	first, last := c.Frame(0), c.Frame(c.n-1)
	q := rotation.Of(last[3:]).Mul(rotation.Of(first[3:]).Conj())
	angle := 2 * math.Atan2(q[3], q[0]) // the twist about the vertical
	if math.Abs(math.Remainder(angle, 2*math.Pi)) < 1e-9 {
		return
	}
	t := &turn{angle: angle}
	s, k := math.Sincos(angle)
	t.shift = [2]float64{last[0] - k*first[0] + s*first[1], last[1] - s*first[0] - k*first[1]}
	c.travel[0], c.travel[1] = 0, 0 // the turn moves the root instead
	c.turn = t
	c.velocities = differences(c)
}

// apply moves positions and velocities of the first loop to the given loop.
func (t *turn) apply(loop float64, pos, vel []float64) {
	s, k := math.Sincos(loop * t.angle)
	if pos != nil {
		bx, by := t.sumShifts(s, k)
		x, y := pos[0], pos[1]
		pos[0], pos[1] = k*x-s*y+bx, s*x+k*y+by
		hs, hk := math.Sincos(loop * t.angle / 2)
		q := rotation.Quat{hk, 0, 0, hs}.Mul(rotation.Of(pos[3:]))
		copy(pos[3:7], q[:])
	}
	if vel != nil {
		for _, v := range [][]float64{vel[0:2], vel[3:5]} { // the root's velocity and angular velocity
			v[0], v[1] = k*v[0]-s*v[1], s*v[0]+k*v[1]
		}
	}
}

// sumShifts returns Σ rotate(shift, i·angle) for i < loop in closed form, (1 − Rⁿ)(1 − R)⁻¹ shift. s and k are sine and
// cosine of Rⁿ.
func (t *turn) sumShifts(s, k float64) (x, y float64) {
	s1, k1 := math.Sincos(t.angle)
	det := (1-k1)*(1-k1) + s1*s1
	cx := ((1-k1)*t.shift[0] - s1*t.shift[1]) / det // the centre of the turn
	cy := (s1*t.shift[0] + (1-k1)*t.shift[1]) / det
	return cx - k*cx + s*cy, cy - s*cx - k*cy
}
