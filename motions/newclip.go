package motions

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// ClipConfig is what a clip is made of.
type ClipConfig struct {
	// Name names the clip in errors and tables.
	Name string
	Loop Loop
	// Weight is the clip's share when one of several clips is drawn. Zero means 1.
	Weight float64
	// Frames holds one row of positions a frame, all of the same width.
	Frames [][]float64
	// Durations holds, for each frame, the seconds until the next frame. The last duration may be zero: the last frame
	// then is the clip's end. If the last duration is positive and the clip wraps, a closing stretch leads from the
	// last frame back to the first and continues to travel at the clip's mean speed.
	Durations []float64
	// Description says what the columns are. Nil: the columns are unknown.
	Description *Description
	// Skeleton is what the rows move. It brings its own columns and excludes Description. The clip keeps a copy.
	Skeleton *Skeleton
	// Velocities holds one row of velocities a frame. Nil: central differences, one-sided at the ends of a clip that
	// does not wrap.
	Velocities [][]float64
}

// NewClip makes a clip from numbers. It fails if there are no frames, rows differ in width, a number is not finite, a
// duration is not positive, a quaternion is zero, or the description does not fit.
func NewClip(cfg ClipConfig) (*Clip, error) {
	c, err := newClip(cfg)
	return c, named(cfg.Name, err)
}

func newClip(cfg ClipConfig) (*Clip, error) {
	n := len(cfg.Frames)
	if n == 0 {
		return nil, errors.New("there are no frames")
	}
	w := len(cfg.Frames[0])
	if w == 0 {
		return nil, errors.New("frame 0 is empty")
	}
	if cfg.Loop > LoopWrap {
		return nil, fmt.Errorf("unknown loop mode %d", cfg.Loop)
	}
	weight := cmp.Or(cfg.Weight, 1)
	if !(weight > 0) || math.IsInf(weight, 0) {
		return nil, fmt.Errorf("the weight must be positive and finite, and is %g", cfg.Weight)
	}
	d := rawDescription(w)
	if cfg.Skeleton != nil {
		if cfg.Description != nil {
			return nil, errors.New("a clip has a Skeleton or a Description, not both")
		}
		if err := cfg.Skeleton.check(); err != nil {
			return nil, err
		}
		cfg.Skeleton = cfg.Skeleton.clone()
		cfg.Description = cfg.Skeleton.description()
	}
	if cfg.Description != nil {
		d = cfg.Description.clone()
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("description: %w", err)
		}
		if d.Width() != w {
			return nil, fmt.Errorf("frame 0 has %d values, the description %d", w, d.Width())
		}
	}
	c := &Clip{name: cfg.Name, loop: cfg.Loop, weight: weight, description: d, described: cfg.Description != nil, n: n,
		w: w, v: d.VelocityWidth(), skeleton: cfg.Skeleton}
	if err := setTimes(c, cfg.Durations); err != nil {
		return nil, err
	}
	if err := setPositions(c, cfg.Frames); err != nil {
		return nil, err
	}
	setTravel(c)
	if cfg.Velocities != nil {
		if len(cfg.Velocities) != n {
			return nil, fmt.Errorf("there are %d frames and %d rows of velocities", n, len(cfg.Velocities))
		}
		var err error
		c.velocities, err = join(cfg.Velocities, c.v, "velocities", func(i int) string {
			return fmt.Sprintf("velocity %d", i)
		})
		return c, err
	}
	c.velocities = differences(c)
	if i := slices.IndexFunc(c.velocities, infinite); i >= 0 {
		return nil, fmt.Errorf("frame %d: the change to its neighbours is too large to be a velocity", i/c.v)
	}
	return c, nil
}

func setTimes(c *Clip, durations []float64) error {
	if len(durations) != c.n {
		return fmt.Errorf("there are %d frames and %d durations", c.n, len(durations))
	}
	c.times = make([]float64, c.n+1)
	for k, d := range durations {
		last := k == c.n-1 && k > 0
		if infinite(d) || d < 0 || (d == 0 && !last) {
			return fmt.Errorf("frame %d: duration must be positive and finite, and is %g", k, d)
		}
		if last && c.loop != LoopWrap {
			d = 0
		}
		c.times[k+1] = c.times[k] + d
	}
	if math.IsInf(c.times[c.n], 0) {
		return errors.New("the durations add up to more than can be represented")
	}
	return nil
}

func setPositions(c *Clip, frames [][]float64) (err error) {
	if c.positions, err = join(frames, c.w, "values", c.description.nameValue); err != nil {
		return err
	}
	for k := range c.n {
		if err := normalise(c.description, c.Frame(k)); err != nil {
			return fmt.Errorf("frame %d: %w", k, err)
		}
	}
	c.description.RotationsWLast = false
	return nil
}

// join appends rows of a width. All numbers must be finite. name returns what a number is.
func join(rows [][]float64, width int, what string, name func(i int) string) ([]float64, error) {
	all := make([]float64, 0, len(rows)*width)
	for k, row := range rows {
		if len(row) != width {
			return nil, fmt.Errorf("frame %d has %d %s, want %d", k, len(row), what, width)
		}
		if i := slices.IndexFunc(row, infinite); i >= 0 {
			return nil, fmt.Errorf("frame %d: %s is %g, not a finite number", k, name(i), row[i])
		}
		all = append(all, row...)
	}
	return all, nil
}

// normalise scales the quaternions of a row to unit length and puts w first.
func normalise(d *Description, row []float64) error {
	for at, col := range d.each {
		if col.Kind != Rotation {
			continue
		}
		q := row[at.pos : at.pos+4]
		if d.RotationsWLast {
			q[0], q[1], q[2], q[3] = q[3], q[0], q[1], q[2]
		}
		n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
		if n < 1e-3 {
			return fmt.Errorf("%s is a zero quaternion", col.Name)
		}
		if n < 0.5 || n > 2 {
			return fmt.Errorf("%s has length %.3g, so it is no rotation; check the description of the columns",
				col.Name, n)
		}
		for i := range q {
			q[i] /= n
		}
	}
	return nil
}

// setTravel computes what one loop adds to the travelling columns.
func setTravel(c *Clip) {
	c.travel = make([]float64, c.w)
	if c.loop != LoopWrap || c.times[c.n-1] == 0 {
		return
	}
	stretch := c.times[c.n] / c.times[c.n-1] // the closing stretch continues at the mean speed
	for at, col := range c.description.each {
		if col.Kind == Travel {
			c.travel[at.pos] = (c.positions[(c.n-1)*c.w+at.pos] - c.positions[at.pos]) * stretch
		}
	}
}

// infinite reports whether x is an infinity or NaN.
func infinite(x float64) bool { return x-x != 0 }

// closes reports whether the clip has a stretch of its own from the last frame back to the first.
func (c *Clip) closes() bool { return c.loop == LoopWrap && c.times[c.n] > c.times[c.n-1] }

// differences computes the velocities of all frames (n, v) from the slopes on both sides of each frame, each weighted
// with the other side's duration. This is second-order accurate for uneven durations too, and the central difference
// for even ones.
func differences(c *Clip) []float64 {
	out := make([]float64, c.n*c.v)
	if c.n == 1 {
		return out
	}
	segments := c.n - 1
	if c.closes() {
		segments = c.n
	}
	slopes := make([]float64, segments*c.v)
	for k := range segments {
		slope(c, k, slopes[k*c.v:(k+1)*c.v])
	}
	for k := range c.n {
		before, after := k-1, k
		if c.loop == LoopWrap {
			before = (before + segments) % segments
			after %= segments
		} else {
			before, after = max(before, 0), min(after, segments-1)
		}
		hb, ha := c.frameDuration(before), c.frameDuration(after)
		sb, sa := slopes[before*c.v:(before+1)*c.v], slopes[after*c.v:(after+1)*c.v]
		switch { // the neighbour of an end belongs to a loop that faces another way
		case c.turn != nil && k == 0:
			sb = slices.Clone(sb)
			c.turn.apply(-1, nil, sb)
		case c.turn != nil && k == c.n-1:
			sa = slices.Clone(sa)
			c.turn.apply(1, nil, sa)
		}
		row := out[k*c.v : (k+1)*c.v]
		for i := range row {
			row[i] = (ha*sb[i] + hb*sa[i]) / (ha + hb)
		}
	}
	return out
}

// slope writes the mean velocity from frame k to the next.
func slope(c *Clip, k int, out []float64) {
	a, b, h := c.Frame(k), c.Frame((k+1)%c.n), c.frameDuration(k)
	for at, col := range c.description.each {
		if col.Kind == Rotation {
			for i, w := range rotation.Vector(rotation.Of(a[at.pos:]), rotation.Of(b[at.pos:])) {
				out[at.vel+i] = w / h
			}
			continue
		}
		d := b[at.pos] - a[at.pos]
		if k == c.n-1 {
			d += c.travel[at.pos]
		}
		out[at.vel] = d / h
	}
}
