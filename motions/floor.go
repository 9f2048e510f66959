package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// floorLimit is the depth in metres up to which a foot may be under the floor.
	floorLimit = 0.015
	// floorWindow is the time in seconds within which a foot is expected to touch the floor: longer than a jump's
	// flight.
	floorWindow = 1.0
	// A foot stands while it is lower than stanceHeight, in metres. The floor is then where the foot is, within
	// stanceWindow seconds.
	stanceHeight = 0.06
	stanceWindow = 0.15
	// bodyRadius is the depth in metres of a body that is no foot below its origin.
	bodyRadius = 0.05
)

// OnFloor returns a clip with a skeleton moved up and down so that its feet stand on the floor (z = 0) and none is
// below the floor in any frame. OnFloor takes off the root's height, in this order: a steady rise or fall of the lower
// foot over a clip that does not wrap; the lowest height within a second (within half the duration of a wrapping clip
// shorter than two seconds), smoothed over the same time; the height of the lower foot while it stands, likewise. If
// another body is lower than the feet, as in a roll or a handstand, that body counts instead. Flights up to a second
// keep their height. A clip that climbs stairs does not.
//
// OnFloor fails for clips without a skeleton, or if no body has contacts.
func (c *Clip) OnFloor() (*Clip, error) {
	return c.explained(onFloor(c))
}

func onFloor(c *Clip) (*Clip, error) {
	heights, others := bodyHeights(c)
	if heights == nil {
		return nil, errors.New("there are no feet to stand on: the clip needs a skeleton with contacts")
	}
	for k, other := range others {
		heights[k] = min(heights[k], other)
	}
	window := floorWindow
	if c.loop == LoopWrap {
		window = min(window, c.Duration()/2)
	}
	near := neighbours(c, window)
	level := make([]float64, c.n)
	takeOff := func(by []float64) {
		for k, x := range by {
			level[k] += x
			heights[k] -= x
		}
	}
	if c.loop != LoopWrap {
		takeOff(trend(c.times[:c.n], lowestWithin(heights, near)))
	}
	takeOff(smoothBelow(heights, near))
	takeOff(smoothBelow(bridgeFlights(c.times, heights), neighbours(c, stanceWindow)))
	return lower(c, level)
}

// bodyHeights returns, for each frame, the height of the lowest point of a foot and of the lowest other body. feet is
// nil if the clip has no feet.
func bodyHeights(c *Clip) (feet, others []float64) {
	if c.skeleton == nil || !slices.ContainsFunc(c.skeleton.Bodies, func(b Body) bool { return len(b.Contacts) > 0 }) {
		return nil, nil
	}
	feet, others = make([]float64, c.n), make([]float64, c.n)
	p := newPose(c.skeleton, nil)
	for k := range c.n {
		p.set(c.Frame(k))
		feet[k], others[k] = math.Inf(1), math.Inf(1)
		for i, b := range c.skeleton.Bodies {
			if len(b.Contacts) == 0 {
				others[k] = min(others[k], p.position(i)[2]-bodyRadius)
			}
			feet[k] = min(feet[k], p.lowest(i))
		}
	}
	return feet, others
}

// neighbours returns, for each frame, the frame and all frames at most half a window away, across the seam of a
// wrapping clip.
func neighbours(c *Clip, window float64) [][]int {
	out := make([][]int, c.n)
	half := window/2 + 1e-9
	for k := range out {
		out[k] = []int{k}
		for _, step := range []int{-1, 1} {
			last, apart := k, 0.0
			for range c.n - 1 {
				i := last + step
				if c.loop == LoopWrap {
					i = (i + c.n) % c.n
				} else if i < 0 || i >= c.n {
					break
				}
				apart += c.frameDuration(min(last, i))
				if (last == 0 && i == c.n-1) || (last == c.n-1 && i == 0) {
					apart += c.frameDuration(c.n-1) - c.frameDuration(0)
				}
				if apart > half {
					break
				}
				out[k] = append(out[k], i)
				last = i
			}
		}
	}
	return out
}

// lowestWithin returns the least of each frame's neighbours.
func lowestWithin(values []float64, near [][]int) []float64 {
	out := make([]float64, len(values))
	for k, list := range near {
		out[k] = values[k]
		for _, i := range list {
			out[k] = min(out[k], values[i])
		}
	}
	return out
}

// smoothBelow returns a smooth curve that lies nowhere above the values: the mean, over each frame's neighbours, of the
// least of their neighbours.
func smoothBelow(values []float64, near [][]int) []float64 {
	least := lowestWithin(values, near)
	out := make([]float64, len(values))
	for k, list := range near {
		for _, i := range list {
			out[k] += least[i]
		}
		out[k] /= float64(len(list))
	}
	return out
}

// trend returns the straight line of least squares through values over times.
func trend(times, values []float64) []float64 {
	if len(values) < 2 {
		return slices.Clone(values)
	}
	offset, slope := stat.LinearRegression(times, values, nil, false)
	out := make([]float64, len(values))
	for k, t := range times {
		out[k] = offset + slope*t
	}
	return out
}

// bridgeFlights keeps the heights of frames in which a foot stands and bridges each flight by a straight line. If no
// foot ever stands it returns the heights.
func bridgeFlights(times, heights []float64) []float64 {
	out := slices.Clone(heights)
	var stands []int
	for k, h := range heights {
		if h < stanceHeight {
			stands = append(stands, k)
		}
	}
	if len(stands) == 0 {
		return out
	}
	for i, b := range stands[1:] {
		a := stands[i]
		for k := a + 1; k < b; k++ {
			f := (times[k] - times[a]) / (times[b] - times[a])
			out[k] = min(heights[k], heights[a]+f*(heights[b]-heights[a]))
		}
	}
	first, last := stands[0], stands[len(stands)-1]
	for k := range out {
		if k < first {
			out[k] = heights[first]
		} else if k > last {
			out[k] = heights[last]
		}
	}
	return out
}

// lower takes a height off the root's in every frame.
func lower(c *Clip, by []float64) (*Clip, error) {
	rows := framesOf(c)
	for k, row := range rows {
		row[2] -= by[k]
	}
	return c.derive(ClipConfig{Frames: rows})
}

// settle puts a clip on the floor if its feet are under the floor or never on it, and notes that in its repairs. It
// returns other clips as they are.
func settle(c *Clip) (*Clip, error) {
	heights, _ := bodyHeights(c)
	if heights == nil {
		return c, nil
	}
	low := slices.Min(heights)
	var out *Clip
	var err error
	var note string
	switch {
	case low < -floorLimit:
		out, err = onFloor(c)
		note = fmt.Sprintf("feet up to %.1f cm under the floor: the root's height follows the lower foot", -100*low)
	case low > floorLimit:
		out, err = lower(c, evenly(c.n, low))
		note = fmt.Sprintf("feet never nearer to the floor than %.1f cm: lowered by that", 100*low)
	default:
		return c, nil
	}
	if err == nil {
		out.repairs = append(out.repairs, note)
	}
	return out, err
}
