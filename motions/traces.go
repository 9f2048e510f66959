package motions

// What a report shows over time.

// Clip returns the clip that was checked, on the skeleton that it was checked on.
func (r *Report) Clip() *Clip { return r.clip }

// Soles returns the names of the feet, and the height of each one's sole in every frame, in metres; nothing where the
// clip has no skeleton.
func (r *Report) Soles() (names []string, heights [][]float64) {
	s := r.clip.skeleton
	if s == nil {
		return nil, nil
	}
	n := len(s.Bodies)
	positions, rotations := make([]float64, 3*n), make([]float64, 4*n)
	for _, i := range s.feet() {
		values := make([]float64, r.clip.n)
		for k := range values {
			s.Forward(r.clip.Frame(k), positions, rotations)
			values[k] = s.Bodies[i].lowest(positions[3*i:3*i+3], quatOf(rotations[4*i:]))
		}
		names, heights = append(names, s.Bodies[i].Name), append(heights, values)
	}
	return names, heights
}

// Speeds returns the speed of the fastest joint between each frame and the next, in rad/s; nothing for a single frame.
func (r *Report) Speeds() []float64 {
	if r.clip.n < 2 {
		return nil
	}
	var out []float64
	for _, step := range r.clip.speeds() {
		most := 0.0
		for i, col := range r.clip.description.Columns {
			if !r.clip.described || col.Kind == Hinge || col.Kind == Rotation {
				most = max(most, step[i])
			}
		}
		out = append(out, most)
	}
	return out
}
