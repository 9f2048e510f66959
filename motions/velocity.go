package motions

// differences computes the velocities of all frames (n, v) from the slopes on both sides, each weighted
// with the other side's length: second-order accurate for uneven durations too, and for even ones the
// central difference.
func (c *Clip) differences() []float64 {
	out := make([]float64, c.n*c.v)
	if c.n == 1 {
		return out
	}
	segments := c.n - 1
	closed := c.loop == LoopWrap && c.times[c.n] > c.times[c.n-1]
	if closed {
		segments = c.n
	}
	slopes := make([]float64, segments*c.v)
	for k := range segments {
		c.slope(k, slopes[k*c.v:(k+1)*c.v])
	}
	for k := range c.n {
		before, after := k-1, k
		if c.loop == LoopWrap {
			before = (before + segments) % segments
			after %= segments
		} else {
			before, after = max(before, 0), min(after, segments-1)
		}
		hb, ha := c.FrameDuration(before), c.FrameDuration(after)
		sb, sa := slopes[before*c.v:(before+1)*c.v], slopes[after*c.v:(after+1)*c.v]
		if c.turn != nil && (k == 0 || k == c.n-1) { // the neighbour belongs to a loop that faces elsewhere
			other, loop := append([]float64(nil), sb...), -1.0
			if k > 0 {
				other, loop = append(other[:0], sa...), 1
			}
			c.turn.apply(loop, nil, other)
			if k > 0 {
				sa = other
			} else {
				sb = other
			}
		}
		row := out[k*c.v : (k+1)*c.v]
		for i := range row {
			row[i] = (ha*sb[i] + hb*sa[i]) / (ha + hb)
		}
	}
	return out
}

// slope writes the mean velocity from frame k to the next.
func (c *Clip) slope(k int, out []float64) {
	a, b, h := c.Frame(k), c.Frame((k+1)%c.n), c.FrameDuration(k)
	p, v := 0, 0
	for _, col := range c.description.Columns {
		if col.Kind == Rotation {
			w := rotationVector(quatOf(a[p:]), quatOf(b[p:]))
			for i := range w {
				out[v+i] = w[i] / h
			}
			p, v = p+4, v+3
			continue
		}
		d := b[p] - a[p]
		if k == c.n-1 {
			d += c.travel[p]
		}
		out[v] = d / h
		p, v = p+1, v+1
	}
}
