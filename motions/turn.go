package motions

import "math"

// turn carries a clip that ends facing another way than it began (left and right turns) from loop to
// loop: each loop begins where the last one ended and in the direction it ended.
type turn struct {
	angle float64    // what one loop adds to the heading, about the vertical
	shift [2]float64 // loop n+1 = rotate(loop n, angle) + shift, on the ground
}

// setTurn makes a wrapping clip that ends with its last frame and whose first columns are a root position (x, y on the
// ground, z up) and a root rotation carry its heading on. Clips of other shapes stay as they are.
func (c *Clip) setTurn() {
	cols := c.description.Columns
	if c.loop != LoopWrap || c.n < 2 || c.times[c.n] > c.times[c.n-1] || len(cols) < 4 || cols[0].Kind != Travel ||
		cols[1].Kind != Travel || cols[2].Kind != Linear || cols[3].Kind != Rotation {
		return
	}
	first, last := c.Frame(0), c.Frame(c.n-1)
	q := quatOf(last[3:]).mul(quatOf(first[3:]).conj())
	angle := 2 * math.Atan2(q[3], q[0]) // the twist about the vertical
	if math.Abs(math.Remainder(angle, 2*math.Pi)) < 1e-9 {
		return
	}
	t := &turn{angle: angle}
	s, k := math.Sincos(angle)
	t.shift = [2]float64{last[0] - k*first[0] + s*first[1], last[1] - s*first[0] - k*first[1]}
	c.travel[0], c.travel[1] = 0, 0 // the turn moves the root instead
	c.turn = t
	c.velocities = c.differences()
}

// apply moves positions and velocities of the first loop to the given one.
func (t *turn) apply(loop float64, pos, vel []float64) {
	s, k := math.Sincos(loop * t.angle)
	if pos != nil {
		bx, by := t.sum(loop, s, k)
		x, y := pos[0], pos[1]
		pos[0], pos[1] = k*x-s*y+bx, s*x+k*y+by
		hs, hk := math.Sincos(loop * t.angle / 2)
		q := quat{hk, 0, 0, hs}.mul(quatOf(pos[3:]))
		copy(pos[3:7], q[:])
	}
	if vel != nil {
		for _, v := range [][]float64{vel[0:2], vel[3:5]} { // of the root and about it
			v[0], v[1] = k*v[0]-s*v[1], s*v[0]+k*v[1]
		}
	}
}

// sum is Σ rotate(shift, i·angle) for i < loop, in closed form: (1 − Rⁿ)(1 − R)⁻¹ shift.
func (t *turn) sum(loop, s, k float64) (x, y float64) {
	s1, k1 := math.Sincos(t.angle)
	det := (1-k1)*(1-k1) + s1*s1
	cx := ((1-k1)*t.shift[0] - s1*t.shift[1]) / det // the centre of the turn
	cy := (s1*t.shift[0] + (1-k1)*t.shift[1]) / det
	return cx - k*cx + s*cy, cy - s*cx - k*cy
}
