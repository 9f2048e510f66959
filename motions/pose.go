package motions

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// pose holds where the bodies of a skeleton are at one row.
type pose struct {
	skeleton             *Skeleton
	positions, rotations []float64
}

// newPose returns a pose at a row. A nil row leaves the pose unset.
func newPose(s *Skeleton, row []float64) *pose {
	n := len(s.Bodies)
	p := &pose{s, make([]float64, 3*n), make([]float64, 4*n)}
	if row != nil {
		p.set(row)
	}
	return p
}

func (p *pose) set(row []float64) { p.skeleton.Forward(row, p.positions, p.rotations) }

func (p *pose) position(i int) [3]float64 { return [3]float64(p.positions[3*i:]) }

func (p *pose) rotation(i int) rotation.Quat { return rotation.Of(p.rotations[4*i:]) }

// point returns where a point of a body's frame is in the world.
func (p *pose) point(body int, at [3]float64) [3]float64 {
	return add(p.position(body), p.rotation(body).Rotate(at))
}

// soles appends the lowest points of all contacts.
func (p *pose) soles(to [][3]float64) [][3]float64 {
	for i, b := range p.skeleton.Bodies {
		for _, c := range b.Contacts {
			at := p.point(i, c.At)
			to = append(to, [3]float64{at[0], at[1], at[2] - c.Radius})
		}
	}
	return to
}

// direction returns the unit vector from body a to body b. It is zero if both are in the same place.
func (p *pose) direction(a, b int) [3]float64 {
	d := sub(p.position(b), p.position(a))
	n := norm(d)
	if n < 1e-9 {
		return [3]float64{}
	}
	return [3]float64{d[0] / n, d[1] / n, d[2] / n}
}

// lowest returns the height of the lowest point of a body's contacts, +Inf for a body without contacts.
func (p *pose) lowest(i int) float64 {
	low := math.Inf(1)
	for _, c := range p.skeleton.Bodies[i].Contacts {
		low = min(low, p.point(i, c.At)[2]-c.Radius)
	}
	return low
}

// rootHeight returns the height of the root above the lowest body or contact.
func (p *pose) rootHeight() float64 {
	low := p.positions[2]
	for i := range p.skeleton.Bodies {
		low = min(low, p.positions[3*i+2], p.lowest(i))
	}
	return p.positions[2] - low
}

// standingHeight is the height in metres up to which FootSliding takes a contact to stand.
const standingHeight = 0.025

// FootSliding returns the mean speed in m/s at which feet slide while they stand, for rows of positions dt seconds
// apart. A step counts if the contact nearest to the floor is at most 2.5 cm high before and after the step; its
// horizontal speed is averaged over these steps. FootSliding is 0 if there are no such steps.
func (s *Skeleton) FootSliding(rows [][]float64, dt float64) float64 {
	return s.sliding(rows, func(int) float64 { return dt })
}

func (s *Skeleton) sliding(rows [][]float64, duration func(k int) float64) float64 {
	p := newPose(s, nil)
	var before, now [][3]float64
	sum, count := 0.0, 0.0
	for k, row := range rows {
		p.set(row)
		if now = p.soles(now[:0]); len(now) == 0 {
			return 0
		}
		if k > 0 {
			low := 0
			for i := range now {
				if now[i][2]+before[i][2] < now[low][2]+before[low][2] {
					low = i
				}
			}
			if max(now[low][2], before[low][2]) <= standingHeight {
				v := math.Hypot(now[low][0]-before[low][0], now[low][1]-before[low][1]) / duration(k-1)
				sum, count = sum+v, count+1
			}
		}
		before, now = now, before
	}
	if count == 0 {
		return 0
	}
	return sum / count
}

func norm(v [3]float64) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func add(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func scale(k float64, v [3]float64) [3]float64 { return [3]float64{k * v[0], k * v[1], k * v[2]} }

// unit returns the number in [0, 1] that is nearest to x.
func unit(x float64) float64 { return max(0, min(1, x)) }
