package motions

import "math"

// limitNearest is how many metres above the floor a foot stands at most.
const limitNearest = 0.025

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
