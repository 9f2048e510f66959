package motions

// What a report shows over time.

// Clip returns the clip that was checked, on the skeleton that it was checked on.
func (r *Report) Clip() *Clip { return r.clip }

// Soles returns the names of the feet, and the height of each one's sole in every frame, in metres; nothing where the
// clip has no skeleton.
func (r *Report) Soles() (names []string, heights [][]float64) {
	feet, heights := r.clip.soles()
	for _, i := range feet {
		names = append(names, r.clip.skeleton.Bodies[i].Name)
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
