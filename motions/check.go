package motions

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// FloorLimit is how many metres a foot may be under the floor for [Check].
const FloorLimit = 0.015

// The other limits of Check.
const (
	limitFloat   = 0.05               // metres that the lower foot may always be above it
	limitSlide   = 0.5                // m/s, the mean speed of feet that stand
	limitJump    = 10.0               // rad/s (or m/s, of positions) that a step needs to be a jump at all,
	limitSpike   = 4.0                // and how many times faster than the steps beside it
	limitGimbal  = 80 * math.Pi / 180 // the middle hinge of three
	limitJoint   = 2 * math.Pi / 180  // beyond a joint's limits
	limitTurned  = 0.02               // rad between a body's rotation and that of its joints
	limitPlaced  = 0.02               // metres between a body's place and that of its joints
	limitNearest = 0.025              // metres above the floor up to which a foot stands
)

// Fault is one thing wrong with a clip.
type Fault struct {
	// Kind is "doubled frames", "velocities", "jump", "seam", "floor", "sliding", "gimbal", "limits" or "bodies".
	Kind string `json:"kind"`
	// Text says it in a sentence, with frames, names and numbers.
	Text string `json:"text"`
	// Frame is the worst frame; -1 for faults of the whole clip.
	Frame int `json:"frame"`
	// Value is how bad it is, in the unit that Limit has: what Text says.
	Value float64 `json:"value"`
	// Limit is what a sound clip stays below.
	Limit float64 `json:"limit"`
}

// Report is what [Check] finds.
type Report struct {
	Name     string  `json:"name"`
	Frames   int     `json:"frames"`
	Rate     float64 `json:"frames_per_second"`
	Duration float64 `json:"duration"` // seconds
	Loop     string  `json:"loop"`
	Columns  int     `json:"columns"`
	// Skeleton is the one that the clip was checked on; "" where none is known, and only frames and velocities could be
	// checked.
	Skeleton string `json:"skeleton,omitempty"`
	Joints   int    `json:"joints"`
	Bodies   int    `json:"bodies"`
	// Speed is the mean speed over the ground in m/s, Heights the root's lowest and greatest height, FeetLowest and
	// FeetHighest those of the lower foot's sole, in metres. Sliding is the mean speed of feet that stand, in m/s.
	// They are 0 without a skeleton, those of feet also without contacts.
	Speed       float64    `json:"speed"`
	Heights     [2]float64 `json:"root_height"`
	FeetLowest  float64    `json:"feet_lowest"`
	FeetHighest float64    `json:"feet_highest"`
	Sliding     float64    `json:"sliding"`
	// Fastest is the fastest joint's speed in rad/s.
	Fastest float64 `json:"fastest_joint"`
	// Repairs are those of [Clip.Repairs].
	Repairs []string `json:"repairs,omitempty"`
	Faults  []Fault  `json:"faults"`

	clip *Clip // the one that was checked, on its skeleton where there is one
}

// Check says what is wrong with a clip: frames that only repeat others, velocities that are not the positions', single
// steps far faster than those beside them, a loop whose end does not meet its beginning; and for a clip with a
// [Skeleton], and for DeepMimic's and Isaac Lab's humanoid, feet more than 1.5 cm under the floor or never on it, feet
// that slide, three hinges near gimbal lock, joints beyond their limits, and bodies that are not where their joints put
// them. [Report.Write] prints it and [Report.Picture] draws it.
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

func (r *Report) fault(kind string, frame int, value, limit float64, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{Kind: kind, Text: fmt.Sprintf(format, args...), Frame: frame, Value: value, Limit: limit})
}

// Has returns the faults of a kind.
func (r *Report) Has(kind string) []Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f Fault) bool { return f.Kind != kind })
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

// jumps finds single steps far faster than those on both sides, and ends that do not meet.
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
			beside, n := 0.0, 0.0
			for _, other := range []int{k - 1, k + 1} {
				if other >= 0 && other < len(speeds) {
					beside, n = beside+speeds[other][i], n+1
				}
			}
			if n == 2 && v > limitJump && v > limitSpike*beside/n && c.moves(columns[i]) {
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
	if c.loop != LoopWrap || c.times[c.n] > c.times[c.n-1] || !c.described {
		return
	}
	at, worst, gap := 0, 0.0, 0.0 // how many steps of the fastest kind the ends are apart
	p := 0
	for i, col := range columns {
		apart := 0.0
		switch {
		case col.Kind == Rotation && i > 0 && c.turn != nil && col.Name == rootRotation:
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

// bodies puts a clip of a known humanoid on its skeleton, and holds the bodies that it holds against that. It returns
// nil for other clips.
func (r *Report) bodies(c *Clip) *Clip {
	s := HumanoidSkeleton()
	var rows [][]float64
	switch {
	case isIsaacHumanoid(c, s):
		rows = isaacRows(c)
		r.compareBodies(c, s, rows)
	case c.described && slices.Equal(c.description.Columns, humanoid3D().Columns):
		rows = deepMimicRows(c, s)
	default:
		return nil
	}
	on, err := c.with(s, rows)
	if err != nil { // numbers that no longer make a clip are far from any that could be checked
		return nil
	}
	return on
}

// compareBodies compares the bodies that an Isaac Lab clip holds with those of its joints.
func (r *Report) compareBodies(c *Clip, s *Skeleton, rows [][]float64) {
	n := len(s.Bodies)
	positions, rotations := make([]float64, 3*n), make([]float64, 4*n)
	turned, placed := 0.0, 0.0
	var turnedAt, placedAt [2]int
	for k, row := range rows {
		s.Forward(row, positions, rotations)
		f := c.Frame(k)
		for i := range s.Bodies {
			p, _, ok := c.description.Find(s.Bodies[i].Name + "/x")
			q, _, _ := c.description.Find(s.Bodies[i].Name + "/rotation")
			if !ok {
				continue
			}
			if a := quatOf(rotations[4*i:]).angleTo(quatOf(f[q:])); a > turned {
				turned, turnedAt = a, [2]int{k, i}
			}
			d := math.Sqrt(distance(positions[3*i:3*i+3], f[p:p+3]))
			if d > placed {
				placed, placedAt = d, [2]int{k, i}
			}
		}
	}
	if turned > limitTurned {
		r.fault("bodies", turnedAt[0], turned, limitTurned, "%s of frame %d is turned by %.3f rad from where its joints turn it: are the joints' numbers exponential maps, or in another order?",
			s.Bodies[turnedAt[1]].Name, turnedAt[0], turned)
	}
	if placed > limitPlaced {
		r.fault("bodies", placedAt[0], placed, limitPlaced, "%s of frame %d is %.1f cm from where its joints put it", s.Bodies[placedAt[1]].Name,
			placedAt[0], 100*placed)
	}
}

func (r *Report) root(c *Clip) {
	r.Heights = [2]float64{math.Inf(1), math.Inf(-1)}
	for k := range c.n {
		z := c.Frame(k)[2]
		r.Heights = [2]float64{min(r.Heights[0], z), max(r.Heights[1], z)}
	}
	if d := c.times[c.n-1]; d > 0 {
		a, b := c.Frame(0), c.Frame(c.n-1)
		r.Speed = math.Hypot(b[0]-a[0], b[1]-a[1]) / d
	}
}

func (r *Report) feet(c *Clip) {
	heights := c.footHeights()
	if heights == nil {
		return
	}
	worst, under := 0, 0
	for k, h := range heights {
		if h < heights[worst] {
			worst = k
		}
		if h < -FloorLimit {
			under++
		}
	}
	r.FeetLowest, r.FeetHighest = heights[worst], slices.Max(heights)
	switch {
	case under > 0:
		r.fault("floor", worst, -r.FeetLowest, FloorLimit, "feet are under the floor in %d of %d frames, deepest by %.1f cm in frame %d; Clip.OnFloor and Humanoid put it on the floor",
			under, c.n, -100*r.FeetLowest, worst)
	case r.FeetLowest > limitFloat:
		r.fault("floor", worst, r.FeetLowest, limitFloat, "feet are never nearer to the floor than %.1f cm (frame %d); Clip.OnFloor and Humanoid put it on the floor",
			100*r.FeetLowest, worst)
	}
	frame := 0
	if r.Sliding, frame = c.sliding(); r.Sliding > limitSlide {
		r.fault("sliding", frame, r.Sliding, limitSlide, "feet that stand slide at %.2f m/s on average, fastest at frame %d", r.Sliding, frame)
	}
}

// sliding is [Skeleton.FootSliding] of the clip's frames.
func (c *Clip) sliding() (mean float64, frame int) {
	return c.skeleton.sliding(c.rows(), func(k int) float64 { return c.FrameDuration(k) })
}

// FootSliding is how fast feet slide while they stand, in m/s, for rows of positions dt seconds apart: the mean
// horizontal speed of the contact nearest to the floor over all steps in which it is at most 2.5 cm high before and
// after. It is 0 where no foot stands in two rows one after the other, or no body has contacts.
func (s *Skeleton) FootSliding(rows [][]float64, dt float64) float64 {
	mean, _ := s.sliding(rows, func(int) float64 { return dt })
	return mean
}

// sliding returns also the row at which feet slide fastest.
func (s *Skeleton) sliding(rows [][]float64, duration func(k int) float64) (mean float64, row int) {
	n := len(s.Bodies)
	positions, rotations := make([]float64, 3*n), make([]float64, 4*n)
	feet := s.feet()
	if len(feet) == 0 {
		return 0, 0
	}
	var before, now [][3]float64 // all contacts' lowest points
	sum, count, fastest := 0.0, 0.0, 0.0
	for k := range rows {
		s.Forward(rows[k], positions, rotations)
		now = now[:0]
		for _, i := range feet {
			for _, contact := range s.Bodies[i].Contacts {
				p := quatOf(rotations[4*i:]).rotate(contact.At)
				now = append(now, [3]float64{p[0] + positions[3*i], p[1] + positions[3*i+1], p[2] + positions[3*i+2] - contact.Radius})
			}
		}
		if k > 0 {
			low := 0
			for i := range now {
				if now[i][2]+before[i][2] < now[low][2]+before[low][2] {
					low = i
				}
			}
			if max(now[low][2], before[low][2]) <= limitNearest {
				v := math.Hypot(now[low][0]-before[low][0], now[low][1]-before[low][1]) / duration(k-1)
				sum, count = sum+v, count+1
				if v > fastest {
					fastest, row = v, k-1
				}
			}
		}
		before = append(before[:0], now...)
	}
	if count == 0 {
		return 0, 0
	}
	return sum / count, row
}

func (r *Report) hinges(c *Clip) {
	var beyond, gimbal float64
	var beyondAt, gimbalAt int
	var beyondJoint, gimbalJoint string
	names := map[string]bool{}
	for k := range c.n {
		at := 7
		for _, b := range c.skeleton.Bodies {
			for i, j := range b.Joints {
				x := c.Frame(k)[at]
				at += j.Kind.Width()
				if j.limited() {
					over := max(j.Lower-x, x-j.Upper)
					if over > limitJoint {
						names[j.Name] = true
					}
					if over > beyond {
						beyond, beyondAt, beyondJoint = over, k, j.Name
					}
				}
				if i == 1 && len(b.Joints) == 3 {
					if near := math.Asin(math.Abs(math.Sin(x))); near > gimbal {
						gimbal, gimbalAt, gimbalJoint = near, k, j.Name
					}
				}
			}
		}
	}
	if beyond > limitJoint {
		r.fault("limits", beyondAt, beyond, limitJoint, "%d joints leave their limits, %s by %.0f° in frame %d", len(names), beyondJoint,
			beyond*180/math.Pi, beyondAt)
	}
	if gimbal > limitGimbal {
		r.fault("gimbal", gimbalAt, gimbal, limitGimbal, "%s is %.0f° in frame %d: near 90° the hinges before and after it cannot be told apart, and may jump",
			gimbalJoint, gimbal*180/math.Pi, gimbalAt)
	}
}

// Write prints the report for people, a line for each thing, after two spaces and its name.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("frames", "%d at %.4g a second, %.3f s, loop %s", r.Frames, r.Rate, r.Duration, r.Loop)
	if r.Skeleton != "" {
		line("skeleton", "%s: %d bodies, %d joints", r.Skeleton, r.Bodies, r.Joints)
		line("root", "%.3f to %.3f m high, %.2f m/s over the ground", r.Heights[0], r.Heights[1], r.Speed)
	}
	if r.clip.skeleton != nil && len(r.clip.skeleton.feet()) > 0 {
		line("feet", "the lower sole %.1f to %.1f cm above the floor, sliding at %.2f m/s while it stands", math.Round(1000*r.FeetLowest)/10+0,
			100*r.FeetHighest, r.Sliding)
	}
	if r.Skeleton == "" {
		line("columns", "%d of %d joints and %d bodies; no skeleton is known, so feet, joints and bodies were not checked", r.Columns, r.Joints,
			r.Bodies)
	}
	line("fastest", "%.1f rad/s of a joint", r.Fastest)
	for _, text := range r.Repairs {
		line("repaired", "%s", text)
	}
	for _, f := range r.Faults {
		line("FAULT", "%s: %s", f.Kind, f.Text)
	}
	if len(r.Faults) == 0 {
		line("faults", "none found")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
