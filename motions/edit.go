package motions

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// remade is the clip with other rows at other times, and velocities of differences.
func (c *Clip) remade(rows [][]float64, durations []float64, loop Loop) (*Clip, error) {
	cfg := ClipConfig{Loop: loop, Frames: rows, Durations: durations}
	switch {
	case c.skeleton != nil:
		cfg.Skeleton = c.skeleton
	case c.described:
		cfg.Description = c.description
	}
	out, err := c.like(cfg)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(c.name), err)
	}
	out.bodies = c.bodies
	return out, nil
}

func (c *Clip) errorf(format string, args ...any) error {
	return fmt.Errorf("motions: %s: %w", nameOr(c.name), fmt.Errorf(format, args...))
}

// Resample returns the clip at a steady number of frames a second, interpolated as [Clip.At] does, with velocities of
// the new frames' differences. The duration stays: the rate of a wrapping clip, and of one whose duration is no whole
// number of frames, is the nearest that fits. The last frame of a wrapping clip is its first, one loop on. It fails
// where the rate is not positive or makes more than a million frames.
func (c *Clip) Resample(rate float64) (*Clip, error) {
	steps := math.Round(c.Duration() * rate)
	if !(rate > 0) || !(steps <= 1e6) {
		return nil, c.errorf("the rate must be positive and make at most a million frames, and is %g a second", rate)
	}
	n := max(1, int(steps))
	var rows [][]float64
	var durations []float64
	for k := range n + 1 {
		row := make([]float64, c.w)
		c.At(c.Duration()*float64(k)/float64(n), row, nil)
		rows, durations = append(rows, row), append(durations, c.Duration()/float64(n))
	}
	durations[n] = 0
	return c.remade(rows, durations, c.loop)
}

// Cut returns the frames between two times in seconds, both included to a thousandth of a second, as a clip that does
// not loop. It fails where fewer than two frames lie between.
func (c *Clip) Cut(from, to float64) (*Clip, error) {
	first, last := -1, -1
	for k := range c.n {
		if t := c.times[k]; t >= from-1e-3 && t <= to+1e-3 {
			if first < 0 {
				first = k
			}
			last = k
		}
	}
	if first < 0 || last == first {
		return nil, c.errorf("between %g and %g s are fewer than two of its frames, which go from 0 to %g s", from, to, c.times[c.n-1])
	}
	rows := c.rows()[first : last+1]
	var durations []float64
	for k := first; k <= last; k++ {
		durations = append(durations, c.FrameDuration(k))
	}
	durations[len(durations)-1] = 0
	return c.remade(rows, durations, LoopNone)
}

// Closed returns the clip as one that wraps and whose last frame is its first: what the two differ by, distances
// travelled aside, is taken out evenly over the clip. A clip whose last frame leads back to its first by a stretch of
// its own is closed already. It fails for clips of unknown columns, and where the root ends turned by more than a
// quarter of a right angle against its beginning: such clips turn, and do not close.
func (c *Clip) Closed() (*Clip, error) {
	if !c.described || c.n < 2 {
		return nil, c.errorf("only clips of known columns and at least two frames can be closed")
	}
	if c.loop == LoopWrap && c.times[c.n] > c.times[c.n-1] {
		return c, nil
	}
	rows, durations := c.rows(), c.durations()
	durations[c.n-1] = 0
	first, last := c.Frame(0), c.Frame(c.n-1)
	for k, row := range rows {
		f := c.times[k]/c.times[c.n-1] - 0.5 // so that the middle stays as it is
		for at, col := range c.description.all {
			switch col.Kind {
			case Travel:
			case Rotation:
				a, b := quatOf(first[at:]), quatOf(last[at:])
				gap := b.conj().mul(a) // last · gap = first
				if col.Name == rootRotation && a.angleTo(b) > math.Pi/8 {
					return nil, c.errorf("it ends turned by %.0f° against its beginning, so that it does not close", a.angleTo(b)*180/math.Pi)
				}
				v := rotationVector(quat{1, 0, 0, 0}, gap)
				q := quatOf(row[at:]).mul(exponential([]float64{f * v[0], f * v[1], f * v[2]}))
				copy(row[at:at+4], q[:])
			default:
				row[at] -= f * (last[at] - first[at])
			}
		}
	}
	return c.remade(rows, durations, LoopWrap)
}

// BestLoop returns the part of the clip, between least and most seconds long, whose ends are most alike in joints, in
// the root's height and tilt and in the velocities of all of these, closed by [Clip.Closed], and how far apart the ends
// were: the root mean square over joints, in radians. It fails where the clip is shorter than least, or its columns are
// not known.
func (c *Clip) BestLoop(least, most float64) (loop *Clip, gap float64, err error) {
	if !c.described {
		return nil, 0, c.errorf("only clips of known columns can be searched for loops")
	}
	best, from, to := math.Inf(1), 0, 0
	for a := range c.n {
		for b := a + 1; b < c.n; b++ {
			length := c.times[b] - c.times[a]
			if length < least-1e-9 || length > most+1e-9 {
				continue
			}
			joints, other := c.apart(a, b)
			if d := joints + other; d < best {
				best, gap, from, to = d, math.Sqrt(joints), a, b
			}
		}
	}
	if to == 0 {
		return nil, 0, c.errorf("it lasts %g s, and has no part between %g and %g s long", c.times[c.n-1], least, most)
	}
	cut, err := c.Cut(c.times[from], c.times[to])
	if err != nil {
		return nil, 0, err
	}
	loop, err = cut.Closed()
	return loop, gap, err
}

// loopTime turns velocities into distances for the comparison of frames: the time over which a difference of velocities
// would show.
const loopTime = 0.1

// apart is how different two frames are: the mean square over joints in rad², and that of what else should not jump.
func (c *Clip) apart(a, b int) (joints, other float64) {
	p, q := c.Frame(a), c.Frame(b)
	vp, vq := c.FrameVelocity(a), c.FrameVelocity(b)
	n := 0.0
	at, v := 0, 0
	for _, col := range c.description.Columns {
		switch {
		case col.Kind == Hinge:
			joints += (p[at] - q[at]) * (p[at] - q[at])
			n++
		case col.Kind == Rotation && col.Name == rootRotation: // the tilt: heights of its axes
			up := [3]float64{0, 0, 1}
			x, y := quatOf(p[at:]).conj().rotate(up), quatOf(q[at:]).conj().rotate(up)
			other += distance(x[:], y[:])
		case col.Kind == Rotation:
			angle := quatOf(p[at:]).angleTo(quatOf(q[at:]))
			joints += angle * angle
			n++
		case col.Kind == Linear:
			other += (p[at] - q[at]) * (p[at] - q[at])
		}
		if col.Kind == Hinge {
			other += loopTime * loopTime * (vp[v] - vq[v]) * (vp[v] - vq[v]) / float64(len(c.description.Columns))
		}
		at += col.Kind.Width()
		v += col.Kind.VelocityWidth()
	}
	return joints / max(1, n), other
}

var errNoSkeleton = errors.New("it has no skeleton")

// Forwards returns a clip with a skeleton moved and turned about z so that it begins at x = y = 0 and goes along x; one
// that stays where it is (less than 0.1 m) faces x in its first frame.
func (c *Clip) Forwards() (*Clip, error) {
	if c.skeleton == nil {
		return nil, c.errorf("%w", errNoSkeleton)
	}
	first, last := c.Frame(0), c.Frame(c.n-1)
	dx, dy := last[0]-first[0], last[1]-first[1]
	heading := math.Atan2(dy, dx)
	if math.Hypot(dx, dy) < 0.1 {
		heading = quatOf(first[3:]).heading()
	}
	back := turnAbout([3]float64{0, 0, 1}, -heading)
	rows := c.rows()
	for _, row := range rows {
		p := back.rotate([3]float64{row[0] - first[0], row[1] - first[1], row[2]})
		q := back.mul(quatOf(row[3:]))
		copy(row, p[:])
		copy(row[3:], q[:])
	}
	return c.remade(rows, c.durations(), c.loop)
}

// Mirror returns a clip with a skeleton as in a mirror, left and right exchanged: y becomes −y. Bodies are paired by
// their names: right_ and left_, Right and Left, R_ and L_, FR and FL, RR and RL; others are their own pair. The
// bodies' frames must be alike left and right, as they are in the skeletons of this package and in BVH files of most
// tools.
func (c *Clip) Mirror() (*Clip, error) {
	s := c.skeleton
	if s == nil {
		return nil, c.errorf("%w", errNoSkeleton)
	}
	begin := make([]int, len(s.Bodies)) // where each body's joints are in a row
	at := 7
	for i, b := range s.Bodies {
		begin[i] = at
		at += b.width()
	}
	pair := make([]int, len(s.Bodies))
	for i, b := range s.Bodies {
		if !b.orthogonal() {
			return nil, c.errorf("the joints of %s are not hinges at right angles", b.Name)
		}
		if pair[i] = s.Body(otherSide(b.Name)); pair[i] < 0 {
			pair[i] = i
		}
		if len(s.Bodies[pair[i]].Joints) != len(b.Joints) {
			return nil, c.errorf("%s and %s have different joints", b.Name, s.Bodies[pair[i]].Name)
		}
	}
	rows := make([][]float64, c.n)
	for k := range rows {
		f := c.Frame(k)
		row := make([]float64, c.w)
		copy(row, []float64{f[0], -f[1], f[2], f[3], -f[4], f[5], -f[6]})
		for i := range s.Bodies {
			b := &s.Bodies[i]
			q := s.Bodies[pair[i]].rotation(f[begin[pair[i]]:])
			width := b.width()
			b.angles(quat{q[0], -q[1], q[2], -q[3]}, row[begin[i]:begin[i]+width], before(rows, k, begin[i], width))
		}
		rows[k] = row
	}
	return c.remade(rows, c.durations(), c.loop)
}

// rotation is the turn of all joints of a body against its parent.
func (b *Body) rotation(values []float64) quat {
	q := quat{1, 0, 0, 0}
	for i := range b.Joints {
		q = q.mul(b.Joints[i].rotation(values))
		values = values[b.Joints[i].Kind.Width():]
	}
	return q
}

// otherSide exchanges the words for right and left in a name.
func otherSide(name string) string {
	for _, w := range [][2]string{{"right", "left"}, {"Right", "Left"}, {"RIGHT", "LEFT"}} {
		if strings.Contains(name, w[0]) {
			return strings.Replace(name, w[0], w[1], 1)
		}
		if strings.Contains(name, w[1]) {
			return strings.Replace(name, w[1], w[0], 1)
		}
	}
	for _, w := range [][2]string{{"FR", "FL"}, {"RR", "RL"}, {"R_", "L_"}, {"r_", "l_"}} {
		for i := range w {
			if rest, ok := strings.CutPrefix(name, w[i]); ok {
				return w[1-i] + rest
			}
		}
	}
	return name
}

// Blend mixes two wrapping clips of the same columns, a steady walk and a run for instance, phase by phase: the share f
// in [0, 1] of b, the rest of a, of positions, of rotations along the shorter arc, and of durations. Both should begin
// at the same moment of their cycle. The result has as many frames as the longer of the two has, and its last frame is
// its first, one loop on.
func Blend(a, b *Clip, f float64) (*Clip, error) {
	if err := sameLayout(a, b); err != nil {
		return nil, fmt.Errorf("motions: %s and %s cannot be blended: %w", nameOr(a.name), nameOr(b.name), err)
	}
	if a.loop != LoopWrap || b.loop != LoopWrap || a.turn != nil || b.turn != nil || !a.described || !(f >= 0 && f <= 1) {
		return nil, fmt.Errorf("motions: %s and %s cannot be blended: want two clips of known columns that wrap and do not turn, and a share between 0 and 1, not %g",
			nameOr(a.name), nameOr(b.name), f)
	}
	n := max(a.n, b.n, 2)
	duration := (1-f)*a.Duration() + f*b.Duration()
	rows, durations := make([][]float64, n), make([]float64, n)
	other := make([]float64, b.w)
	for k := range rows {
		phase := float64(k) / float64(n-1)
		row := make([]float64, a.w)
		a.At(phase*a.Duration(), row, nil)
		b.At(phase*b.Duration(), other, nil)
		for at, col := range a.description.all {
			if col.Kind == Rotation {
				q := slerp(quatOf(row[at:]), quatOf(other[at:]), f)
				copy(row[at:at+4], q[:])
			} else {
				row[at] += f * (other[at] - row[at])
			}
		}
		rows[k], durations[k] = row, duration/float64(n-1)
	}
	durations[n-1] = 0
	return a.remade(rows, durations, LoopWrap)
}
