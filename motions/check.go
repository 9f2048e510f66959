package motions

import (
	"math"
	"strings"
)

// FloorLimit is how many metres a foot may be under the floor: [Check] reports what is deeper, and [Humanoid] lifts it.
const FloorLimit = 0.015

// The other limits of Check.
const (
	limitFloat  = 0.05               // metres that the lower foot may always be above it
	limitSlide  = 0.5                // m/s, the mean speed of feet that stand
	limitJump   = 10.0               // rad/s (or m/s, of positions) that a step needs to be a jump at all,
	limitSpike  = 4.0                // and how many times faster than the steps beside it
	limitGimbal = 80 * math.Pi / 180 // the middle hinge of three
	limitJoint  = 2 * math.Pi / 180  // beyond a joint's limits
	limitTurned = 0.02               // rad between a body's rotation and that of its joints
	limitPlaced = 0.02               // metres between a body's place and that of its joints
)

// Check says what is wrong with a clip: frames that only repeat others, velocities that are not the positions', single
// steps far faster than those beside them, a loop whose end does not meet its beginning; and for a clip with a
// [Skeleton], and for DeepMimic's and Isaac Lab's humanoid, feet more than 1.5 cm under the floor or never on it, feet
// that slide, three hinges near gimbal lock, joints beyond their limits, and bodies that are not where their joints put
// them. [Report.Write] prints it, and package picture draws it.
//
// The clip is checked as it is. What reading it has repaired already stands in Repairs.
func Check(c *Clip) *Report {
	r := &Report{Name: c.name, Frames: c.n, Duration: c.Duration(), Loop: c.loop.String(), Columns: c.w, Repairs: c.Repairs(), clip: c,
		Faults: []Fault{}, Joints: len(c.Joints()), Bodies: len(c.bodies)}
	if c.n > 1 {
		r.Rate = float64(c.n-1) / c.times[c.n-1]
	}
	r.frames(c)
	on := c
	if c.skeleton == nil {
		on = r.bodies(c)
	}
	if on == nil {
		return r
	}
	r.clip = on
	s := on.skeleton
	r.Skeleton, r.Joints, r.Bodies = s.Name, len(s.Joints()), len(s.Bodies)
	r.root(on)
	r.feet(on)
	r.hinges(on)
	return r
}

// frames checks what needs no skeleton.
func (r *Report) frames(c *Clip) {
	if every, _ := doubled(c.rows()); every > 1 {
		r.fault("doubled frames", -1, float64(every), 1, "only one frame in %d moves; the others repeat the one before, so velocities are 0 and %d times too large in turn",
			every, every)
	}
	if c.n < 3 {
		return
	}
	differences := c.differences()
	off, size, worst := 0.0, 0.0, 0
	most := 0.0
	for i, v := range differences {
		d := c.velocities[i] - v
		off, size = off+d*d, size+v*v
		if math.Abs(d) > most {
			most, worst = math.Abs(d), i
		}
	}
	if off > velocityLimit*velocityLimit*size && off > 1e-12 {
		r.fault("velocities", worst/c.v, math.Sqrt(off/max(size, 1e-12)), velocityLimit, "velocities are not those of the positions, by %.0f %% of these; the worst is %s of frame %d, %.3g where neighbouring frames give %.3g",
			100*math.Sqrt(off/max(size, 1e-12)), c.velocityName(worst%c.v), worst/c.v, c.velocities[worst], differences[worst])
	}
	r.jumps(c)
}

// velocityName names the column of the velocity at index i.
func (c *Clip) velocityName(i int) string {
	at := 0
	for _, col := range c.description.Columns {
		if at += col.Kind.VelocityWidth(); i < at {
			return col.Name
		}
	}
	return ""
}

// speeds returns, for each step from one frame to the next and each column, how fast it is.
func (c *Clip) speeds() [][]float64 {
	slope := make([]float64, c.v)
	out := make([][]float64, c.n-1)
	for k := range out {
		c.slope(k, slope)
		v := 0
		for _, col := range c.description.Columns {
			sum := 0.0
			for range col.Kind.VelocityWidth() {
				sum += slope[v] * slope[v]
				v++
			}
			out[k] = append(out[k], math.Sqrt(sum))
		}
	}
	return out
}

// moves reports whether a column is a joint or a place; others may be anything, velocities for instance.
func (c *Clip) moves(col Column) bool {
	return c.described && (col.Kind != Linear || c.skeleton != nil || strings.HasSuffix(col.Name, "/z"))
}

// jumps finds single steps far faster than those on both sides.
func (r *Report) jumps(c *Clip) {
	speeds := c.speeds()
	columns := c.description.Columns
	fastest := make([]float64, len(columns))
	frame, column, worst := 0, 0, 0.0
	count := 0
	for k, step := range speeds {
		for i, v := range step {
			fastest[i] = max(fastest[i], v)
			if columns[i].Kind == Hinge || columns[i].Kind == Rotation {
				r.Fastest = max(r.Fastest, v)
			}
			if k == 0 || k == len(speeds)-1 || v <= limitJump || !c.moves(columns[i]) {
				continue
			}
			if v > limitSpike*(speeds[k-1][i]+speeds[k+1][i])/2 {
				count++
				if v > worst {
					frame, column, worst = k, i, v
				}
			}
		}
	}
	if count > 0 {
		r.fault("jump", frame, worst, limitJump, "steps far faster than those beside them: %d; the worst is %s between frames %d and %d, at %.1f rad/s or m/s",
			count, columns[column].Name, frame, frame+1, worst)
	}
	r.seam(c, fastest)
}

// seam finds ends of a loop that do not meet: they are further apart than any step, by column, is long.
func (r *Report) seam(c *Clip, fastest []float64) {
	if c.loop != LoopWrap || c.times[c.n] > c.times[c.n-1] || !c.described {
		return
	}
	at, worst, gap := 0, 0.0, 0.0 // how many steps of the fastest kind the ends are apart
	columns := c.description.Columns
	p := 0
	for i, col := range columns {
		apart := 0.0
		switch {
		case col.Kind == Rotation && c.turn != nil && col.Name == rootRotation:
		case col.Kind == Rotation:
			apart = quatOf(c.Frame(0)[p:]).angleTo(quatOf(c.Frame(c.n - 1)[p:]))
		case col.Kind != Travel:
			apart = math.Abs(c.Frame(0)[p] - c.Frame(c.n - 1)[p])
		}
		if over := apart - 0.02; over > 0 {
			if steps := over / max(fastest[i]*c.times[1], 1e-9); steps > worst {
				at, worst, gap = i, steps, apart
			}
		}
		p += col.Kind.Width()
	}
	if worst > 1 {
		r.fault("seam", c.n-1, worst, 1, "the loop's last frame is not its first: %s is %.3g rad (or m) away, %.1f times its largest step", columns[at].Name,
			gap, worst)
	}
}
