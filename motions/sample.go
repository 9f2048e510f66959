package motions

import (
	"math"
	"sort"
)

// locate returns the loop that time t falls into, the frames a and b around it, and how far it is from
// a to b, in [0, 1]. b is 0 on the stretch from the last frame back to the first (closing).
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
		if c.times[c.n-1] < end && c.loop == LoopWrap { // rounding put t on the end of the closing stretch
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

// At writes the positions (W) and velocities (V) at time t, in seconds from the clip's beginning.
// Positions are interpolated linearly, rotations along the shorter arc, velocities linearly. A wrapping
// clip takes any t, negative too, and its travelling columns go on from loop to loop; any other clip
// holds its first or last frame, and there its velocities. Either slice may be nil. At panics where a
// slice has another length. It does not allocate.
func (c *Clip) At(t float64, pos, vel []float64) {
	if (pos != nil && len(pos) != c.w) || (vel != nil && len(vel) != c.v) {
		panic("motions: Clip.At: pos and vel must have the clip's Width and VelocityWidth")
	}
	loop, a, b, f, closing := c.locate(t)
	if pos != nil {
		c.blend(a, b, f, closing, pos)
		if loop != 0 {
			for i, d := range c.travel {
				pos[i] += loop * d
			}
		}
	}
	if vel != nil {
		va, vb := c.FrameVelocity(a), c.FrameVelocity(b)
		for i := range vel {
			vel[i] = va[i] + f*(vb[i]-va[i])
		}
	}
	if c.turn != nil && loop != 0 {
		c.turn.apply(loop, pos, vel)
	}
}

func (c *Clip) blend(a, b int, f float64, closing bool, pos []float64) {
	pa, pb := c.Frame(a), c.Frame(b)
	at := 0
	for _, col := range c.description.Columns {
		if col.Kind == Rotation {
			q := slerp(quatOf(pa[at:]), quatOf(pb[at:]), f)
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
