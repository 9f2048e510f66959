package mujoco

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/motions"
)

// rowsAStep is how many rows of reference features begin within a control step.
const rowsAStep = 8

// reference is a clip with what depends on the model: tables of features, at equally spaced times.
type reference struct {
	clip     *motions.Clip
	rows     int
	spacing  float64   // s between rows
	width    int       // of a row
	features []float32 // (rows, width): reference AMP observations
	keys     []float64 // (rows, keys, 3): the key bodies at the beginning of the row
	numKeys  int
	bodies   []float64   // (control steps, bodies, 3), likewise, with Measure
	poses    [][]float64 // the hinges, one row a control step
}

// time is when a row begins.
func (r *reference) time(row int) float64 { return float64(row) * r.spacing }

// at writes the clip's state at a time in the model's coordinates, as [motions.Clip.State] does of clips with a
// skeleton.
func (r *reference) at(t float64, m moment) {
	r.clip.At(t, m.qpos, m.qvel)
	q := m.qpos[3:7]
	// A clip's angular velocity is in the world, a free joint's in its own frame.
	m.qvel[3], m.qvel[4], m.qvel[5] = rotate([]float64{q[0], -q[1], -q[2], -q[3]}, m.qvel[3], m.qvel[4], m.qvel[5])
}

// key writes where key body k is at a time, seen from the root in the heading frame. The clip wraps.
func (r *reference) key(t float64, k int, out *[3]float64) {
	interpolate(out, r.keys, 3*r.numKeys, 3*k, t/r.spacing, true)
}

// interpolate writes three numbers, from column at on, of a table with rows of some width, between two rows. Rows that
// it does not have are those of the next loop where it wraps, and otherwise the first or the last.
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

// readMotions checks the clips and makes their tables, the middles of targets and the scales of actions.
func (c *characterTask) readMotions(m *Model) error {
	pose, err := NewBatch(m, 1, 1)
	if err != nil {
		return err
	}
	defer func() { _ = pose.Close() }() // nothing of it is kept
	names := m.Names(Joint)[1:]
	low, high := make([]float64, len(names)), make([]float64, len(names))
	for i := range names {
		low[i], high[i] = math.Inf(1), math.Inf(-1)
	}
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
		c.scale = append(c.scale, c.cfg.ActionScale*((high[i]-low[i])/2+0.2))
	}
	if d := &c.cfg.Command; *d == (CommandConfig{}) {
		d.MinSpeed, d.MaxSpeed = speed/total, speed/total
	}
	return nil
}

// checkColumns says whether a clip has the root's columns and the hinges named.
func checkColumns(clip *motions.Clip, hinges []string) error {
	columns := clip.Description().Columns
	fits := len(columns) == 4+len(hinges) && columns[3].Kind == motions.Rotation
	for i, name := range hinges {
		fits = fits && columns[4+i].Name == name && columns[4+i].Kind.Width() == 1
	}
	for i := range min(3, len(columns)) {
		fits = fits && columns[i].Kind.Width() == 1
	}
	if !fits {
		var have []string
		for _, col := range columns {
			have = append(have, col.Name)
		}
		return fmt.Errorf("the clip %q has the columns %q; it needs the root's x, y and z, its rotation, and the "+
			"hinges %q",
			clip.Name(), have, hinges)
	}
	if !(clip.Duration() > 0) {
		return fmt.Errorf("the clip %q lasts no time; it needs at least two frames", clip.Name())
	}
	return nil
}

// meanSpeed is the mean horizontal speed of a clip's root in m/s.
func meanSpeed(clip *motions.Clip) float64 {
	const n = 200
	way, a, b := 0.0, make([]float64, clip.Width()), make([]float64, clip.Width())
	clip.At(0, a, nil)
	for i := range n {
		clip.At(clip.Duration()*float64(i+1)/n*(1-1e-9), b, nil)
		way += math.Hypot(b[0]-a[0], b[1]-a[1])
		a, b = b, a
	}
	return way / clip.Duration()
}

// tabulate makes the tables of a clip, with a simulation that says where bodies are.
func (c *characterTask) tabulate(clip *motions.Clip, pose *Batch) (reference, error) {
	f, history := c.style(), float64(c.cfg.History-1)*c.dt
	span := clip.Duration()
	if clip.Loop() != motions.LoopWrap {
		if span -= history; span < 0 {
			return reference{}, fmt.Errorf("the clip %q lasts %.3g s; an AMP observation of %d steps needs %.3g s",
				clip.Name(),
				clip.Duration(), c.cfg.History, history)
		}
	}
	r := reference{clip: clip, rows: max(1, int(math.Round(span/c.dt*rowsAStep))), width: c.cfg.History * f,
		numKeys: len(c.keys)}
	r.spacing = span / float64(r.rows)
	r.features, r.keys = make([]float32, r.rows*r.width), make([]float64, 3*r.rows*r.numKeys)
	all := make([]float32, c.features())
	xpos := floats(pose.data[0].xpos, 3*pose.model.NumBodies())
	for row := range r.rows {
		for k := range c.cfg.History {
			r.at(r.time(row)+float64(k)*c.dt, moment{pose.QPos(0), pose.QVel(0)})
			if err := pose.forward(0, 1); err != nil {
				return reference{}, err
			}
			c.writeFeatures(pose.QPos(0), pose.QVel(0), xpos, all)
			copy(r.features[row*r.width+k*f:row*r.width+(k+1)*f], all[len(all)-f:])
			if k > 0 {
				continue
			}
			for i, v := range all[len(all)-3*r.numKeys:] {
				r.keys[3*row*r.numKeys+i] = float64(v)
			}
			if row%rowsAStep == 0 {
				r.poses = append(r.poses, append([]float64(nil), pose.QPos(0)[rootPositions:]...))
			}
		}
	}
	return r, nil
}

// draw returns the number of a clip, drawn by weight.
func (c *characterTask) draw(rng *rand.Rand) int {
	last := len(c.weights) - 1
	k := 0
	for x := rng.Float64() * c.weights[last]; k < last && c.weights[k] <= x; k++ {
	}
	return k
}

// drawable says why n rows of reference motion, or pairs of them, cannot be drawn.
func (c *characterTask) drawable(n int) error {
	if c.cfg.Difference {
		return fmt.Errorf("mujoco: character: with Difference AMP observations are compared with zeros, and no "+
			"reference "+
			"motion: %w", errors.ErrUnsupported)
	}
	if n <= 0 {
		return fmt.Errorf("mujoco: character: %d reference motions; ask for at least one", n)
	}
	return nil
}

// CollectReferenceMotions draws n rows, of a clip by weight and at a uniform time.
func (c *characterTask) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if err := c.drawable(n); err != nil {
		return nil, err
	}
	out := make([]float32, 0, n*c.cfg.History*c.style())
	for range n {
		r := &c.refs[c.draw(rng)]
		row := rng.IntN(r.rows)
		out = append(out, r.features[row*r.width:(row+1)*r.width]...)
	}
	return out, nil
}

// CollectOverlappingMotions implements [envs.OverlappingMotionSource]: the second row begins 1 to History − 1 control
// steps behind the first, where the clip does not end before.
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
		if r.clip.Loop() != motions.LoopWrap {
			second = min(row+later, r.rows-1)
		}
		out = append(append(out, r.features[row*r.width:][:r.width]...), r.features[second*r.width:][:r.width]...)
	}
	return out, nil
}
