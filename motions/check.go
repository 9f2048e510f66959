package motions

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// Limits of Check.
const (
	limitFloat = 0.05 // metres of the lower foot above the floor in every frame
	limitSlide = 0.5  // m/s, the mean speed of feet that stand
	limitJump  = 10.0 // rad/s (or m/s, of positions) below which no step is a jump
	limitSpike = 4.0  // times the speed of the steps before and after
)

// Fault is one thing wrong with a clip.
type Fault struct {
	// Kind is "doubled frames", "velocities", "jump", "seam", "floor", "sliding" or "limits".
	Kind string `json:"kind"`
	// Text is a sentence with frames, names and numbers.
	Text string `json:"text"`
	// Frame is the worst frame, or -1 for faults of the whole clip.
	Frame int `json:"frame"`
	// Value is the size of the fault, in the unit of Limit.
	Value float64 `json:"value"`
	// Limit is the largest value of a sound clip.
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
	// Skeleton names the skeleton on which the clip was checked. Without one ("") Check checks only frames and
	// velocities.
	Skeleton string `json:"skeleton,omitempty"`
	Joints   int    `json:"joints"`
	Bodies   int    `json:"bodies"`
	// Speed is the mean speed over the ground in m/s, Heights the root's lowest and greatest height in metres.
	// FeetLowest and FeetHighest are those of the lower foot's sole. Sliding is the mean speed of feet that stand, in
	// m/s. All are 0 without a skeleton; those of feet also without contacts.
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

	hasFeet bool
}

// Check reports what is wrong with a clip: frames that only repeat others, velocities that are not the positions',
// single steps far faster than the steps before and after, and a loop whose end does not meet its beginning. For a clip
// with a [Skeleton], and for DeepMimic's and Isaac Lab's humanoid, it also reports feet more than 1.5 cm under the
// floor or never on it, feet that slide, and joints beyond their limits. [Report.Write] prints the report.
//
// Check does not repair. Faults that were repaired when the clip was read are in Repairs.
func Check(c *Clip) *Report {
	r := &Report{Name: c.name, Frames: c.n, Duration: c.Duration(), Loop: c.loop.String(), Columns: c.w,
		Repairs: c.Repairs(), Faults: []Fault{}}
	if c.n > 1 {
		r.Rate = float64(c.n-1) / c.times[c.n-1]
	}
	r.checkFrames(c)
	if c.skeleton == nil {
		s := HumanoidSkeleton()
		rows := humanoidRows(c, s)
		if rows == nil {
			return r
		}
		on, err := c.derive(ClipConfig{Skeleton: s, Frames: rows})
		if err != nil {
			return r
		}
		c = on
	}
	r.Skeleton, r.Joints, r.Bodies = c.skeleton.Name, len(c.skeleton.Joints()), len(c.skeleton.Bodies)
	r.measureRoot(c)
	r.checkFeet(c)
	r.checkLimits(c)
	return r
}

func (r *Report) add(kind string, frame int, value, limit float64, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{kind, fmt.Sprintf(format, args...), frame, value, limit})
}

// checkFrames checks what needs no skeleton.
func (r *Report) checkFrames(c *Clip) {
	if every, _ := findRepeats(framesOf(c)); every > 1 {
		r.add("doubled frames", -1, float64(every), 1, "only one frame in %d moves; the others repeat the one before, "+
			"so velocities are 0 and %d times too large in turn", every, every)
	}
	if c.n < 3 {
		return
	}
	if off := velocityError(c.velocities, differences(c)); off > velocityLimit {
		r.add("velocities", -1, off, velocityLimit, "velocities are not those of the positions, by %.0f %% of these",
			100*off)
	}
	r.checkSeam(c, r.checkJumps(c))
}

// checkJumps finds single steps far faster than the steps before and after. It returns the fastest speed of each
// column.
func (r *Report) checkJumps(c *Clip) []float64 {
	columns := c.description.Columns
	speeds := make([][]float64, c.n-1) // of each step and column
	fastest := make([]float64, len(columns))
	velocity := make([]float64, c.v)
	for k := range speeds {
		slope(c, k, velocity)
		for at, col := range c.description.each {
			sum := 0.0
			for _, v := range velocity[at.vel : at.vel+col.Kind.VelocityWidth()] {
				sum += v * v
			}
			speed := math.Sqrt(sum)
			speeds[k] = append(speeds[k], speed)
			fastest[at.index] = max(fastest[at.index], speed)
			if col.Kind == Hinge || col.Kind == Rotation {
				r.Fastest = max(r.Fastest, speed)
			}
		}
	}
	frame, column, worst, count := 0, 0, 0.0, 0
	for k := 1; k < len(speeds)-1; k++ {
		for i, v := range speeds[k] {
			col := columns[i]
			// Linear columns may be anything, velocities for instance.
			moves := c.described && (col.Kind != Linear || c.skeleton != nil || strings.HasSuffix(col.Name, "/z"))
			if moves && v > limitJump && v > limitSpike*(speeds[k-1][i]+speeds[k+1][i])/2 {
				count++
				if v > worst {
					frame, column, worst = k, i, v
				}
			}
		}
	}
	if count > 0 {
		r.add("jump", frame, worst, limitJump,
			"steps far faster than those before and after: %d; the worst is %s between frames %d and %d, at %.1f "+
				"rad/s or m/s", count, columns[column].Name, frame, frame+1, worst)
	}
	return fastest
}

// checkSeam finds ends of a loop that are further apart than the longest step of a column.
func (r *Report) checkSeam(c *Clip, fastest []float64) {
	if c.loop != LoopWrap || c.closes() || !c.described {
		return
	}
	name, worst, gap := "", 0.0, 0.0 // the gap in longest steps, and as it is
	for at, col := range c.description.each {
		a, b := c.Frame(0)[at.pos:], c.Frame(c.n - 1)[at.pos:]
		apart := 0.0
		switch {
		case col.Kind == Rotation && c.turn != nil && col.Name == rootRotation:
		case col.Kind == Rotation:
			apart = rotation.Of(a).AngleTo(rotation.Of(b))
		case col.Kind != Travel:
			apart = math.Abs(a[0] - b[0])
		}
		if over := apart - 0.02; over > 0 {
			if steps := over / max(fastest[at.index]*c.times[1], 1e-9); steps > worst {
				name, worst, gap = col.Name, steps, apart
			}
		}
	}
	if worst > 1 {
		r.add("seam", c.n-1, worst, 1, "the loop's last frame is not its first: %s is %.3g rad (or m) away, %.1f "+
			"times its largest step", name, gap, worst)
	}
}

func (r *Report) measureRoot(c *Clip) {
	r.Heights = [2]float64{c.Frame(0)[2], c.Frame(0)[2]}
	for k := range c.n {
		z := c.Frame(k)[2]
		r.Heights = [2]float64{min(r.Heights[0], z), max(r.Heights[1], z)}
	}
	if d := c.times[c.n-1]; d > 0 {
		a, b := c.Frame(0), c.Frame(c.n-1)
		r.Speed = math.Hypot(b[0]-a[0], b[1]-a[1]) / d
	}
}

func (r *Report) checkFeet(c *Clip) {
	heights, _ := bodyHeights(c)
	if heights == nil {
		return
	}
	r.hasFeet = true
	worst, under := 0, 0
	for k, h := range heights {
		if h < heights[worst] {
			worst = k
		}
		if h < -floorLimit {
			under++
		}
	}
	r.FeetLowest, r.FeetHighest = heights[worst], slices.Max(heights)
	low := 100 * r.FeetLowest
	const remedy = "; Clip.OnFloor and Humanoid put it on the floor"
	switch {
	case under > 0:
		r.add("floor", worst, -r.FeetLowest, floorLimit, "feet are under the floor in %d of %d frames, deepest by "+
			"%.1f cm in frame %d"+remedy, under, c.n, -low, worst)
	case r.FeetLowest > limitFloat:
		r.add("floor", worst, r.FeetLowest, limitFloat, "feet are never nearer to the floor than %.1f cm (frame %d)"+
			remedy, low, worst)
	}
	if r.Sliding = c.skeleton.sliding(framesOf(c), c.frameDuration); r.Sliding > limitSlide {
		r.add("sliding", -1, r.Sliding, limitSlide, "feet that stand slide at %.2f m/s on average", r.Sliding)
	}
}

func (r *Report) checkLimits(c *Clip) {
	worst, frame, joint, count := 0.0, 0, "", 0
	for _, j := range c.skeleton.Joints() {
		if !j.limited() {
			continue
		}
		at, _, _ := c.description.Find(j.Name)
		beyond := false
		for k := range c.n {
			x := c.Frame(k)[at]
			over := max(j.Lower-x, x-j.Upper)
			beyond = beyond || over > limitTolerance
			if over > worst {
				worst, frame, joint = over, k, j.Name
			}
		}
		if beyond {
			count++
		}
	}
	if count > 0 {
		r.add("limits", frame, worst, limitTolerance, "%d joints leave their limits, %s by %.0f° in frame %d", count,
			joint, worst*180/math.Pi, frame)
	}
}

// Write prints the report, a line for each property: two spaces, the property's name, and a text.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("frames", "%d at %.4g a second, %.3f s, loop %s", r.Frames, r.Rate, r.Duration, r.Loop)
	if r.Skeleton != "" {
		line("skeleton", "%s: %d bodies, %d joints", r.Skeleton, r.Bodies, r.Joints)
		line("root", "%.3f to %.3f m high, %.2f m/s over the ground", r.Heights[0], r.Heights[1], r.Speed)
	} else {
		line("columns", "%d; no skeleton is known, so feet and joints were not checked", r.Columns)
	}
	if r.hasFeet {
		line("feet", "the lower sole %.1f to %.1f cm above the floor, sliding at %.2f m/s while it stands",
			math.Round(1000*r.FeetLowest)/10+0, 100*r.FeetHighest, r.Sliding)
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
