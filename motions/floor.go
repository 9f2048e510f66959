package motions

import (
	"errors"
	"fmt"
	"math"
)

// floorWindow is the time in seconds within which a foot is expected to touch the floor: longer than a jump's flight.
const floorWindow = 1.0

// A foot stands while it is lower than stanceHeight, in metres, over a clip that is on the floor to within some
// centimetres; the floor is then taken to be where it is within stanceWindow seconds.
const (
	stanceHeight = 0.06
	stanceWindow = 0.15
)

// OnFloor returns a clip with a skeleton moved up and down so that its feet stand on the floor (z = 0) and none is
// below it in any frame. First a steady rise or fall of the lower foot over a clip that does not wrap is taken out,
// then the lowest height within a second (within half of the duration of a wrapping clip that is shorter than two),
// smoothed over the same time, is taken off the root's height; then, likewise, what the lower foot is above the floor
// while it stands. Where another body is lower than the feet, as in a roll or a handstand, it counts instead. Flights
// up to a second stay as high as they were; a clip that climbs stairs does not.
//
// It fails for clips without a skeleton, or where no body has contacts.
func (c *Clip) OnFloor() (*Clip, error) {
	out, err := c.onFloor()
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(c.name), err)
	}
	return out, nil
}

func (c *Clip) onFloor() (*Clip, error) {
	heights := c.footHeights()
	if heights == nil {
		return nil, errors.New("there are no feet to stand on: the clip needs a skeleton with contacts")
	}
	for k, other := range c.otherHeights() {
		heights[k] = min(heights[k], other)
	}
	window := floorWindow
	if c.loop == LoopWrap {
		window = min(window, c.Duration()/2)
	}
	level := make([]float64, c.n)
	off := func(by []float64) {
		for k, x := range by {
			level[k] += x
			heights[k] -= x
		}
	}
	if slope, offset := c.line(c.within(heights, window, math.Min)); c.loop != LoopWrap {
		drift := make([]float64, c.n)
		for k := range drift {
			drift[k] = offset + slope*c.times[k]
		}
		off(drift)
	}
	off(c.below(heights, window))
	off(c.below(c.acrossFlights(heights), stanceWindow))
	return c.lowered(level)
}

// below is a smooth curve under values: the least within a window, and of that the mean. It lies nowhere above them.
func (c *Clip) below(values []float64, window float64) []float64 {
	least := c.within(values, window, math.Min)
	ones := make([]float64, c.n)
	for k := range ones {
		ones[k] = 1
	}
	add := func(a, b float64) float64 { return a + b }
	out, counts := c.within(least, window, add), c.within(ones, window, add)
	for k := range out {
		out[k] /= counts[k]
	}
	return out
}

// acrossFlights keeps the heights of frames in which a foot stands, and joins those before and after a flight by a
// straight line; all are as they were where no foot ever stands.
func (c *Clip) acrossFlights(heights []float64) []float64 {
	out := append([]float64(nil), heights...)
	var stands []int
	for k, h := range heights {
		if h < stanceHeight {
			stands = append(stands, k)
		}
	}
	for i, a := range stands {
		b := stands[(i+1)%len(stands)]
		for k := a + 1; k < b; k++ {
			f := (c.times[k] - c.times[a]) / (c.times[b] - c.times[a])
			out[k] = min(heights[k], heights[a]+f*(heights[b]-heights[a]))
		}
	}
	if n := len(stands); n > 0 { // before the first and after the last
		for k := range stands[0] {
			out[k] = heights[stands[0]]
		}
		for k := stands[n-1] + 1; k < c.n; k++ {
			out[k] = heights[stands[n-1]]
		}
	}
	return out
}

// lowered takes a height off the root's in every frame.
func (c *Clip) lowered(by []float64) (*Clip, error) {
	rows := c.rows()
	for k, row := range rows {
		row[2] -= by[k]
	}
	return c.with(c.skeleton, rows)
}

// settled puts the clip on the floor where it is not, and notes that.
func (c *Clip) settled() (*Clip, error) {
	heights := c.footHeights()
	if heights == nil {
		return c, nil
	}
	low := math.Inf(1)
	for _, h := range heights {
		low = min(low, h)
	}
	var out *Clip
	var err error
	note := ""
	switch {
	case low < -FloorLimit:
		out, err = c.onFloor()
		note = fmt.Sprintf("feet up to %.1f cm under the floor: the root's height follows the lower foot", -100*low)
	case low > FloorLimit:
		for k := range heights {
			heights[k] = low
		}
		out, err = c.lowered(heights)
		note = fmt.Sprintf("feet never nearer to the floor than %.1f cm: lowered by that", 100*low)
	default:
		return c, nil
	}
	if err == nil {
		out.repairs = append(out.repairs, note)
	}
	return out, err
}

// soles returns the feet, and how high the lowest point of each is in every frame; nothing where the clip has no
// skeleton.
func (c *Clip) soles() (feet []int, heights [][]float64) {
	if c.skeleton == nil {
		return nil, nil
	}
	feet = c.skeleton.feet()
	for range feet {
		heights = append(heights, make([]float64, c.n))
	}
	n := len(c.skeleton.Bodies)
	positions, rotations := make([]float64, 3*n), make([]float64, 4*n)
	for k := range c.n {
		c.skeleton.Forward(c.Frame(k), positions, rotations)
		for f, i := range feet {
			heights[f][k] = c.skeleton.Bodies[i].lowest(positions[3*i:3*i+3], quatOf(rotations[4*i:]))
		}
	}
	return feet, heights
}

// footHeights returns, for each frame, how high the lowest point of a foot is; nil where there are no feet.
func (c *Clip) footHeights() []float64 {
	_, heights := c.soles()
	if len(heights) == 0 {
		return nil
	}
	lowest := heights[0]
	for _, other := range heights[1:] {
		for k, h := range other {
			lowest[k] = min(lowest[k], h)
		}
	}
	return lowest
}

// bodyRadius is how far below its origin a body that is no foot is taken to reach, in metres.
const bodyRadius = 0.05

// otherHeights returns, for each frame, how high the lowest of the bodies is that are no feet: what a character lies,
// kneels or stands on its hands with.
func (c *Clip) otherHeights() []float64 {
	positions := make([]float64, 3*len(c.skeleton.Bodies))
	out := make([]float64, c.n)
	for k := range out {
		c.skeleton.Forward(c.Frame(k), positions, nil)
		out[k] = math.Inf(1)
		for i, b := range c.skeleton.Bodies {
			if len(b.Contacts) == 0 {
				out[k] = min(out[k], positions[3*i+2]-bodyRadius)
			}
		}
	}
	return out
}

// rows returns a copy of all frames.
func (c *Clip) rows() [][]float64 {
	rows := make([][]float64, c.n)
	for k := range rows {
		rows[k] = append([]float64(nil), c.Frame(k)...)
	}
	return rows
}

// within joins, for each frame, the values of all frames at most half a window away, across the seam of a wrapping
// clip.
func (c *Clip) within(values []float64, window float64, join func(a, b float64) float64) []float64 {
	out := make([]float64, c.n)
	half := window/2 + 1e-9
	for k := range out {
		out[k] = values[k]
		for _, step := range []int{-1, 1} {
			last, apart := k, 0.0
			for range c.n - 1 {
				i := last + step
				if c.loop == LoopWrap {
					i = (i + c.n) % c.n
				} else if i < 0 || i >= c.n {
					break
				}
				apart += c.FrameDuration(min(last, i))
				if (last == 0 && i == c.n-1) || (last == c.n-1 && i == 0) {
					apart += c.FrameDuration(c.n-1) - c.FrameDuration(0)
				}
				if apart > half {
					break
				}
				out[k] = join(out[k], values[i])
				last = i
			}
		}
	}
	return out
}

// line is the straight line of least squares through values over the frames' times.
func (c *Clip) line(values []float64) (slope, offset float64) {
	var st, sv, stt, stv float64
	n := float64(c.n)
	for k, v := range values {
		t := c.times[k]
		st, sv, stt, stv = st+t, sv+v, stt+t*t, stv+t*v
	}
	if d := n*stt - st*st; d > 0 {
		slope = (n*stv - st*sv) / d
	}
	return slope, (sv - slope*st) / n
}
