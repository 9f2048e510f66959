package motions

import (
	"errors"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

var errNoSkeleton = errors.New("it has no skeleton")

// Cut returns the frames between two times in seconds, both included to a thousandth of a second, as a clip that does
// not loop. It fails if fewer than two frames lie between.
func (c *Clip) Cut(from, to float64) (*Clip, error) {
	cfg := ClipConfig{}
	for k := range c.n {
		if t := c.times[k]; t >= from-1e-3 && t <= to+1e-3 {
			cfg.Frames, cfg.Durations = append(cfg.Frames, c.Frame(k)), append(cfg.Durations, c.frameDuration(k))
		}
	}
	n := len(cfg.Frames)
	if n < 2 {
		return nil, c.fail("between %g and %g s are fewer than two of its frames, which go from 0 to %g s", from, to,
			c.times[c.n-1])
	}
	cfg.Durations[n-1] = 0
	return c.explained(c.derive(cfg))
}

// Closed returns the clip as a clip that wraps and whose last frame is its first. The difference of the two, apart from
// distances travelled, is taken out evenly over the clip. A clip with a closing stretch from its last frame to its
// first is returned as it is. Closed fails for raw clips, and if the root ends turned by more than 22.5° against its
// beginning: such clips turn, and do not close.
func (c *Clip) Closed() (*Clip, error) {
	if !c.described || c.n < 2 {
		return nil, c.fail("only clips of known columns and at least two frames can be closed")
	}
	if c.closes() {
		return c, nil
	}
	cfg := ClipConfig{Loop: LoopWrap, Frames: framesOf(c), Durations: durationsOf(c)}
	cfg.Durations[c.n-1] = 0
	first, last := c.Frame(0), c.Frame(c.n-1)
	for k, row := range cfg.Frames {
		f := c.times[k]/c.times[c.n-1] - 0.5 // the middle stays as it is
		for at, col := range c.description.each {
			switch col.Kind {
			case Travel:
			case Rotation:
				a, b := rotation.Of(first[at.pos:]), rotation.Of(last[at.pos:])
				if col.Name == rootRotation && a.AngleTo(b) > math.Pi/8 {
					return nil, c.fail("it ends turned by %.0f° against its beginning, so that it does not close",
						a.AngleTo(b)*180/math.Pi)
				}
				v := b.Conj().Mul(a).Log() // last · exp(v) = first
				q := rotation.Of(row[at.pos:]).Mul(rotation.Exp([]float64{f * v[0], f * v[1], f * v[2]}))
				copy(row[at.pos:at.pos+4], q[:])
			default:
				row[at.pos] -= f * (last[at.pos] - first[at.pos])
			}
		}
	}
	return c.explained(c.derive(cfg))
}

// BestLoop returns the part of the clip, between least and most seconds long, whose ends are most alike, closed by
// [Clip.Closed]. It compares joints, the root's height and tilt, and velocities. gap is how far apart the ends were:
// the root mean square over joints, in radians. BestLoop fails if the clip is shorter than least, and for raw clips.
func (c *Clip) BestLoop(least, most float64) (loop *Clip, gap float64, err error) {
	if !c.described {
		return nil, 0, c.fail("only clips of known columns can be searched for loops")
	}
	best, from, to := math.Inf(1), 0, 0
	for a := range c.n {
		for b := a + 1; b < c.n; b++ {
			length := c.times[b] - c.times[a]
			if length < least-1e-9 || length > most+1e-9 {
				continue
			}
			joints, other := compareFrames(c, a, b)
			if d := joints + other; d < best {
				best, gap, from, to = d, math.Sqrt(joints), a, b
			}
		}
	}
	if to == 0 {
		return nil, 0, c.fail("it lasts %g s, and has no part between %g and %g s long", c.times[c.n-1], least, most)
	}
	cut, err := c.Cut(c.times[from], c.times[to])
	if err != nil {
		return nil, 0, err
	}
	loop, err = cut.Closed()
	return loop, gap, err
}

// loopTime is the time in seconds that turns a difference of velocities into one of positions.
const loopTime = 0.1

// compareFrames returns the mean square difference of two frames over joints in rad², and that of the other quantities
// that should not jump.
func compareFrames(c *Clip, a, b int) (joints, other float64) {
	p, q := c.Frame(a), c.Frame(b)
	vp, vq := c.frameVelocity(a), c.frameVelocity(b)
	n := 0.0
	for at, col := range c.description.each {
		x, y := p[at.pos], q[at.pos]
		switch {
		case col.Kind == Hinge:
			joints += (x - y) * (x - y)
			dv := vp[at.vel] - vq[at.vel]
			other += loopTime * loopTime * dv * dv / float64(len(c.description.Columns))
			n++
		case col.Kind == Rotation && col.Name == rootRotation: // the tilt: heights of its axes
			up := [3]float64{0, 0, 1}
			x, y := rotation.Of(p[at.pos:]).Conj().Rotate(up), rotation.Of(q[at.pos:]).Conj().Rotate(up)
			other += squaredDistance(x[:], y[:])
		case col.Kind == Rotation:
			angle := rotation.Of(p[at.pos:]).AngleTo(rotation.Of(q[at.pos:]))
			joints += angle * angle
			n++
		case col.Kind == Linear:
			other += (x - y) * (x - y)
		}
	}
	return joints / max(1, n), other
}

// On returns a clip without a skeleton, such as rows of numbers, on a skeleton: the root's position (3) and rotation,
// then the skeleton's joints in their order, whose names the clip need not know. It fails if the columns are others.
func (c *Clip) On(s *Skeleton) (*Clip, error) {
	if err := s.check(); err != nil {
		return nil, named(c.name, err)
	}
	want, have := s.description().Columns, c.description.Columns
	alike := func(a, b Column) bool { return a.Kind == b.Kind }
	if c.skeleton != nil || !slices.EqualFunc(have, want, alike) {
		return nil, c.fail("its columns are not the root's and %d joints of %s", len(s.Joints()), s.Name)
	}
	return c.explained(c.derive(ClipConfig{Skeleton: s, Frames: framesOf(c)}))
}
