package motions

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

const (
	// A contact of a foot counts as standing if it is below standLow metres and slower than standSlow m/s, and as not
	// standing above standingHeight or faster than standFast. Between them the share decreases.
	standLow, standSlow, standFast = 0.015, 0.6, 1.2
	// standWeight is the weight of a standing contact's place, smoothWeight the weight of changes of the correction
	// between frames.
	standWeight, smoothWeight = 60.0, 1.0
)

// stand solves again for the frames of a clip that is on the floor, so that standing contacts do not move and no
// contact is under the floor. lift returns by how much a frame is higher than its goals.
func stand(c *Clip, wants [][]want, lift func(k int) float64, v *solver) (*Clip, error) {
	s := c.skeleton
	if !slices.ContainsFunc(s.Bodies, func(b Body) bool { return len(b.Contacts) > 0 }) {
		return c, nil
	}
	rows, places := framesOf(c), make([][][3]float64, c.n)
	p, before := newPose(s, nil), newPose(s, nil)
	for k := range places {
		p.set(c.Frame(k))
		places[k] = p.soles(nil)
	}
	wraps, period := c.loop == LoopWrap && c.turn == nil && c.n > 2, c.n
	if wraps && !c.closes() {
		period-- // the last frame is the first one
	}
	loops := 1
	if wraps {
		loops = 2 // the second one begins as the first one ends
	}
	last, corrected := rows[0], rows[0] // the frame before, as given and as corrected
	shift := func(row []float64) []float64 {
		row = slices.Clone(row)
		row[0], row[1] = row[0]-c.travel[0], row[1]-c.travel[1]
		return row
	}
	for loop := range loops {
		for k := range period {
			if k == 0 && loop > 0 {
				last, corrected = shift(c.Frame(period-1)), shift(rows[period-1])
			}
			first := k == 0 && loop == 0
			before.set(corrected)
			smooth := follow(c.Frame(k), last, corrected, s)
			copy(v.row, smooth)
			terms := func() {
				v.addPose(wants[k], lift(k))
				v.addApart(apartWeight)
				if !first {
					v.addRow(smooth, smoothWeight, smoothWeight)
				}
				n := 0
				for i, b := range s.Bodies {
					for _, contact := range b.Contacts {
						share := 0.0
						if !first {
							share = c.stands(places, k, n, period, wraps)
						}
						weights := [3]float64{standWeight * share, standWeight * share, standWeight * share}
						if v.point(i, contact.At)[2] < contact.Radius {
							weights[2] = standWeight
						}
						at := before.point(i, contact.At)
						v.addPlace(i, contact.At, [3]float64{at[0], at[1], contact.Radius}, weights)
						n++
					}
				}
			}
			v.solve(terms, 50)
			last, corrected = c.Frame(k), slices.Clone(v.row)
			rows[k] = corrected
		}
	}
	if period < c.n {
		rows[period] = slices.Clone(rows[0])
		rows[period][0], rows[period][1] = rows[0][0]+c.travel[0], rows[0][1]+c.travel[1]
	}
	return c.derive(ClipConfig{Frames: rows})
}

// follow returns a row with the correction of the row before it.
func follow(row, last, corrected []float64, s *Skeleton) []float64 {
	out := slices.Clone(row)
	for at, col := range s.description().each {
		if col.Kind != Rotation {
			out[at.pos] += corrected[at.pos] - last[at.pos]
			continue
		}
		q := rotation.Of(corrected[at.pos:]).Mul(rotation.Of(last[at.pos:]).Conj()).Mul(rotation.Of(row[at.pos:]))
		copy(out[at.pos:at.pos+4], q[:])
	}
	return out
}

// stands returns to what degree contact i of a clip stands in frame k and the frame before, from 0 to 1. places are the
// lowest points of the contacts in all frames.
func (c *Clip) stands(places [][][3]float64, k, i, period int, wraps bool) float64 {
	last, travel := k-1, [2]float64{}
	if last < 0 {
		if !wraps {
			return 0
		}
		last, travel = period-1, [2]float64{c.travel[0], c.travel[1]}
	}
	a, b := places[last][i], places[k][i]
	speed := math.Hypot(b[0]-a[0]+travel[0], b[1]-a[1]+travel[1]) / c.frameDuration(last)
	high := max(a[2], b[2])
	return unit((standingHeight-high)/(standingHeight-standLow)) * unit((standFast-speed)/(standFast-standSlow))
}
