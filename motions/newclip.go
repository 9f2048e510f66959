package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ClipConfig is what a clip is made of.
type ClipConfig struct {
	// Name names the clip in errors and tables.
	Name string
	Loop Loop
	// Weight is the clip's share when a [Library] draws one. Zero means 1.
	Weight float64
	// Frames holds one row of positions a frame, all of the same width.
	Frames [][]float64
	// Durations holds, for each frame, the seconds until the next. The last one may be zero: the last
	// frame then is the clip's end. Where it is positive and the clip wraps, a last stretch leads from
	// the last frame back to the first, travelling on at the clip's mean speed.
	Durations []float64
	// Description says what the columns are. Nil: numbers of which nothing is known.
	Description *Description
	// Skeleton says what the rows move; the columns are then its own and Description stays nil. The clip keeps a copy.
	Skeleton *Skeleton
	// Velocities holds one row of velocities a frame. Nil: central differences, one-sided at the ends
	// of a clip that does not wrap.
	Velocities [][]float64
}

// NewClip makes a clip from numbers. It fails where there are no frames, a row is short, a number is
// not finite, a duration is not positive, a quaternion is zero, or the description does not fit.
func NewClip(cfg ClipConfig) (*Clip, error) {
	c, err := newClip(cfg)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(cfg.Name), err)
	}
	return c, nil
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
	weight := cfg.Weight
	if weight == 0 {
		weight = 1
	}
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
	if err := c.setTimes(cfg.Durations); err != nil {
		return nil, err
	}
	if err := c.setPositions(cfg.Frames); err != nil {
		return nil, err
	}
	c.setTravel()
	if cfg.Velocities == nil {
		c.velocities = c.differences()
		if i := slices.IndexFunc(c.velocities, infinite); i >= 0 {
			return nil, fmt.Errorf("frame %d: the change to its neighbours is too large to be a velocity", i/c.v)
		}
		return c, nil
	}
	return c, c.setVelocities(cfg.Velocities)
}

func nameOr(name string) string {
	if name == "" {
		return "unnamed clip"
	}
	return name
}

func (c *Clip) setTimes(durations []float64) error {
	if len(durations) != c.n {
		return fmt.Errorf("there are %d frames and %d durations", c.n, len(durations))
	}
	c.times = make([]float64, c.n+1)
	for k, d := range durations {
		last := k == c.n-1 && k > 0
		if !finite(d) || d < 0 || (d == 0 && !last) {
			return fmt.Errorf("frame %d: duration must be positive and finite, and is %g", k, d)
		}
		if last && c.loop != LoopWrap {
			d = 0
		}
		c.times[k+1] = c.times[k] + d
	}
	if c.n == 1 {
		c.times[1] = durations[0]
	}
	if math.IsInf(c.times[c.n], 0) {
		return errors.New("the durations add up to more than can be represented")
	}
	return nil
}

func (c *Clip) setPositions(frames [][]float64) error {
	c.positions = make([]float64, 0, c.n*c.w)
	for k, f := range frames {
		if len(f) != c.w {
			return fmt.Errorf("frame %d has %d values, frame 0 has %d", k, len(f), c.w)
		}
		if i := slices.IndexFunc(f, infinite); i >= 0 {
			return fmt.Errorf("frame %d: %s is %g, not a finite number", k, c.description.field(i), f[i])
		}
		c.positions = append(c.positions, f...)
		if err := c.normalise(k); err != nil {
			return err
		}
	}
	c.description.RotationsWLast = false
	return nil
}

// normalise brings the quaternions of frame k to unit length, w first.
func (c *Clip) normalise(k int) error {
	row := c.Frame(k)
	for at, col := range c.description.all {
		if col.Kind != Rotation {
			continue
		}
		q := row[at : at+4]
		if c.description.RotationsWLast {
			q[0], q[1], q[2], q[3] = q[3], q[0], q[1], q[2]
		}
		n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
		if n < 1e-3 {
			return fmt.Errorf("frame %d: %s is a zero quaternion", k, col.Name)
		}
		if n < 0.5 || n > 2 {
			return fmt.Errorf("frame %d: %s has length %.3g, so it is no rotation; check the description of the columns", k,
				col.Name, n)
		}
		for i := range q {
			q[i] /= n
		}
	}
	return nil
}

// setTravel finds what one loop adds to the travelling columns.
func (c *Clip) setTravel() {
	c.travel = make([]float64, c.w)
	if c.loop != LoopWrap || c.times[c.n-1] == 0 {
		return
	}
	stretch := c.times[c.n] / c.times[c.n-1] // the closing stretch goes on at the mean speed
	for at, col := range c.description.all {
		if col.Kind == Travel {
			c.travel[at] = (c.positions[(c.n-1)*c.w+at] - c.positions[at]) * stretch
		}
	}
}

func (c *Clip) setVelocities(rows [][]float64) error {
	if len(rows) != c.n {
		return fmt.Errorf("there are %d frames and %d rows of velocities", c.n, len(rows))
	}
	c.velocities = make([]float64, 0, c.n*c.v)
	for k, r := range rows {
		if len(r) != c.v {
			return fmt.Errorf("frame %d has %d velocities, want %d", k, len(r), c.v)
		}
		if i := slices.IndexFunc(r, infinite); i >= 0 {
			return fmt.Errorf("frame %d: velocity %d is %g, not a finite number", k, i, r[i])
		}
		c.velocities = append(c.velocities, r...)
	}
	return nil
}
