package mujoco

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/motions"
)

// rowsAStep is the number of rows of reference features per control step. Several rows a step show the clip at phases
// between control steps, at which a policy's steps may also fall.
const rowsAStep = 8

// reference is a clip with tables computed for the model, at equally spaced times. Tables make resets, rewards and
// draws of AMP observations cheap: none of them needs forward kinematics of the clip.
type reference struct {
	clip *motions.Clip
	// rows is the number of rows of features and keys.
	rows int
	// spacing is the time between rows in seconds.
	spacing float64
	// width is that of a row of features.
	width int
	// features (rows, width) are reference AMP observations: History moments, one control step apart. The first moment
	// is at the row's time.
	features []float32
	// keys (rows, keys, 3) are the key bodies' positions in metres at the row's time, relative to the root, in its
	// heading frame.
	keys    []float64
	numKeys int
	// bodies (control steps, bodies, 3) are the positions of all bodies except the world, in the same frame. Only
	// Measure has them.
	bodies []float64
	// poses are the hinges' angles in radians, about one row per control step.
	poses [][]float64
}

// wraps reports whether the clip is a cycle that starts again at its end.
func (r *reference) wraps() bool { return r.clip.Loop() == motions.LoopWrap }

// time returns the time in seconds of a row's first moment.
func (r *reference) time(row int) float64 { return float64(row) * r.spacing }

// at writes the clip's state at time t in the model's coordinates. It equals [motions.Clip.State], but needs no
// skeleton.
func (r *reference) at(t float64, m moment) {
	r.clip.At(t, m.qpos, m.qvel)
	// A clip's angular velocity is in the world, a free joint's in its own frame.
	angular := rotation.Of(m.qpos[3:]).Conj().Rotate([3]float64(m.qvel[3:]))
	copy(m.qvel[3:], angular[:])
}

// key writes the position of key body k at time t, relative to the root, in its heading frame. It is for clips that
// wrap, as a clock requires.
func (r *reference) key(t float64, k int, out *[3]float64) {
	interpolate(out, r.keys, 3*r.numKeys, 3*k, t/r.spacing, true)
}

// interpolate writes three columns of a table, from column at on, at a fractional row. Each row has width values. If
// wraps is true, the first row follows the last one. Otherwise rows outside the table equal the first or the last.
func interpolate(out *[3]float64, table []float64, width, at int, row float64, wraps bool) {
	first := math.Floor(row)
	f, rows := row-first, len(table)/width
	a := int(first)
	b := a + 1
	if wraps {
		a = (a%rows + rows) % rows
		b = (a + 1) % rows
	} else {
		a, b = max(0, min(rows-1, a)), max(0, min(rows-1, b))
	}
	p, q := table[width*a+at:], table[width*b+at:]
	for i := range out {
		out[i] = p[i] + f*(q[i]-p[i])
	}
}

// readMotions checks the clips, makes their tables and derives the settings that depend on them: the middle of each
// hinge's targets, the scale of actions and, if no command is configured, the clips' mean speed. Init calls it.
func (c *characterTask) readMotions(m *Model) error {
	pose, err := NewBatch(m, 1, 1)
	if err != nil {
		return err
	}
	defer func() { _ = pose.Close() }() // tables hold copies of its numbers
	names := m.Names(Joint)[1:]
	low := slices.Repeat([]float64{math.Inf(1)}, len(names))
	high := slices.Repeat([]float64{math.Inf(-1)}, len(names))
	speed, total := 0.0, 0.0
	for _, clip := range c.cfg.Motions {
		if err := checkColumns(clip, names); err != nil {
			return err
		}
		for k := range clip.NumFrames() {
			for i, v := range clip.Frame(k)[rootPositions:] {
				low[i], high[i] = min(low[i], v), max(high[i], v)
			}
		}
		r, err := c.tabulate(clip, pose)
		if err != nil {
			return err
		}
		if c.cfg.Measure {
			if err := r.place(pose, c.dt); err != nil {
				return err
			}
		}
		c.refs = append(c.refs, r)
		total += clip.Weight()
		speed += clip.Weight() * meanSpeed(clip)
		c.weights = append(c.weights, total)
	}
	for i := range names {
		c.middle = append(c.middle, (low[i]+high[i])/2)
		unit := 1.0
		if a := c.cfg.Body.Actuators; a != nil {
			unit = a[i].ActionScale
		} else if c.refs != nil {
			unit = (high[i]-low[i])/2 + 0.2
		}
		c.scale = append(c.scale, c.cfg.ActionScale*unit)
	}
	if pose := c.cfg.Body.DefaultPose; pose != nil {
		c.middle = pose
	}
	if c.refs == nil {
		return nil
	}
	for i := range c.refs {
		clip, height := c.refs[i].clip, 0.0
		for k := range clip.NumFrames() {
			height += clip.Frame(k)[2] / float64(clip.NumFrames())
		}
		c.standing += clip.Weight() / total * height
	}
	if c.cfg.Recovery.Share > 0 {
		if c.floored, err = c.fall(m); err != nil {
			return err
		}
	}
	if d := &c.cfg.Command; *d == (CommandConfig{}) {
		d.MinSpeed, d.MaxSpeed = speed/total, speed/total
	}
	return nil
}

// checkColumns returns an error unless a clip has the columns of the root and then the hinges in the given order.
func checkColumns(clip *motions.Clip, hinges []string) error {
	columns := clip.Description().Columns
	var have []string
	fits := len(columns) == 4+len(hinges)
	for i, col := range columns {
		have = append(have, col.Name)
		fits = fits && (i == 3) == (col.Kind == motions.Rotation) && (i == 3 || col.Kind.Width() == 1) &&
			(i < 4 || col.Name == hinges[i-4])
	}
	if !fits {
		return fmt.Errorf("the clip %q has the columns %q; it needs the root's x, y and z, its rotation, and the "+
			"hinges %q", clip.Name(), have, hinges)
	}
	if !(clip.Duration() > 0) {
		return fmt.Errorf("the clip %q lasts no time; it needs at least two frames", clip.Name())
	}
	return nil
}

// meanSpeed returns the mean horizontal speed of a clip's root in m/s, along its path.
func meanSpeed(clip *motions.Clip) float64 {
	const n = 200
	way, a, b := 0.0, make([]float64, clip.Width()), make([]float64, clip.Width())
	clip.At(0, a, nil)
	for i := range n {
		// Just before the end: at the end itself columns that do not travel are at their start again.
		clip.At(clip.Duration()*float64(i+1)/n*(1-1e-9), b, nil)
		way += math.Hypot(b[0]-a[0], b[1]-a[1])
		a, b = b, a
	}
	return way / clip.Duration()
}

// tabulate makes the tables of a clip. pose is a single simulation whose forward kinematics give the bodies' positions.
// A clip that does not wrap must last as long as the history of an AMP observation.
func (c *characterTask) tabulate(clip *motions.Clip, pose *Batch) (reference, error) {
	f, history := c.style(), float64(c.cfg.History-1)*c.dt
	span := clip.Duration()
	r := reference{clip: clip, width: c.cfg.History * f, numKeys: len(c.keys)}
	if !r.wraps() {
		span -= history // the last row's history ends with the clip
	}
	if span < 0 {
		return reference{}, fmt.Errorf("the clip %q lasts %.3g s; an AMP observation of %d steps needs %.3g s",
			clip.Name(), clip.Duration(), c.cfg.History, history)
	}
	r.rows = max(1, int(math.Round(span/c.dt*rowsAStep)))
	r.spacing = span / float64(r.rows)
	r.features, r.keys = make([]float32, r.rows*r.width), make([]float64, 3*r.rows*r.numKeys)
	all := make([]float32, c.features())
	xpos := floats(pose.data[0].xpos, 3*pose.model.NumBodies())
	for row := range r.rows {
		for k := range c.cfg.History {
			r.at(r.time(row)+float64(k)*c.dt, moment{pose.QPos(0), pose.QVel(0)})
			if err := pose.forward(0, 0, 1); err != nil {
				return reference{}, err
			}
			c.writeFeatures(pose.QPos(0), pose.QVel(0), xpos, all)
			copy(r.features[row*r.width+k*f:row*r.width+(k+1)*f], all[len(all)-f:])
			if k > 0 {
				continue
			}
			convert(r.keys[3*row*r.numKeys:], all[len(all)-3*r.numKeys:])
			if row%rowsAStep == 0 {
				r.poses = append(r.poses, slices.Clone(pose.QPos(0)[rootPositions:]))
			}
		}
	}
	return r, nil
}

// draw returns the index of a clip, drawn by weight.
func (c *characterTask) draw(rng *rand.Rand) int {
	last := len(c.weights) - 1
	x := rng.Float64() * c.weights[last]
	return sort.Search(last, func(k int) bool { return c.weights[k] > x })
}

// drawable returns the error of drawing n rows of reference motion, or n pairs of rows. It is nil if they can be drawn.
func (c *characterTask) drawable(n int) error {
	if c.refs == nil {
		return fmt.Errorf("mujoco: character: there are no clips: %w", errors.ErrUnsupported)
	}
	if c.cfg.Difference {
		return fmt.Errorf("mujoco: character: with Difference AMP observations are compared with zeros, and no "+
			"reference motion: %w", errors.ErrUnsupported)
	}
	if n <= 0 {
		return fmt.Errorf("mujoco: character: %d reference motions; ask for at least one", n)
	}
	return nil
}

// CollectReferenceMotions implements [envs.MotionSource]. Each row is from a clip drawn by weight, at a time drawn
// uniformly.
func (c *characterTask) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if err := c.drawable(n); err != nil {
		return nil, err
	}
	out := make([]float32, 0, n*c.cfg.History*c.style())
	for range n {
		r := &c.refs[c.draw(rng)]
		row := rng.IntN(r.rows)
		out = append(out, r.features[row*r.width:][:r.width]...)
	}
	return out, nil
}

// CollectOverlappingMotions implements [envs.OverlappingMotionSource]. The second row begins 1 to History − 1 control
// steps after the first, or at the last row of a clip that ends earlier.
func (c *characterTask) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	if err := c.drawable(n); err != nil {
		return nil, err
	}
	if c.cfg.History < 2 {
		return nil, errors.New("mujoco: character: AMP observations of 1 control step overlap with no other; set " +
			"History to 2 at least")
	}
	out := make([]float32, 0, n*2*c.cfg.History*c.style())
	for range n {
		r := &c.refs[c.draw(rng)]
		// Rows are tabulated at equal times, about rowsAStep a control step.
		later := int(math.Round(float64(1+rng.IntN(c.cfg.History-1)) * c.dt / r.spacing))
		row := rng.IntN(r.rows)
		second := (row + later) % r.rows
		if !r.wraps() {
			second = min(row+later, r.rows-1)
		}
		out = append(append(out, r.features[row*r.width:][:r.width]...), r.features[second*r.width:][:r.width]...)
	}
	return out, nil
}
