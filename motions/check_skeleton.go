package motions

import (
	"math"
	"slices"
)

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
