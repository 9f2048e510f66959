package motions

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// isaacFrames are the rows of a file of Isaac Lab while they are repaired: d hinges, then three values a body, then
// four a body.
type isaacFrames struct {
	dofs, bodies          []string
	positions, velocities [][]float64
	step                  float64
	repairs               []string
}

// repaired sets right what Isaac Lab's own clips have wrong. They came through a tool that doubled their frames and
// that writes the joints of a body as one exponential map:
//
//   - Frames that repeat the one before, in a regular pattern, are left out, and the time step is that of the others.
//   - Where three joints NAME_x, NAME_y, NAME_z hold an exponential map, which the bodies' rotations show, they become the
//     angles of three hinges in this order.
//   - Velocities that are not the positions' become their differences.
//   - Isaac Lab's humanoid is put on the floor where its feet are under it.
func (m *isaacFrames) repaired(name string) (*Clip, error) {
	m.undouble()
	m.hinges()
	if err := m.checkVelocities(); err != nil {
		return nil, err
	}
	c, err := m.clip(name, true)
	if err != nil {
		return nil, err
	}
	return m.stand(c)
}

func (m *isaacFrames) note(format string, args ...any) {
	m.repairs = append(m.repairs, fmt.Sprintf(format, args...))
}

// doubled returns every how many frames the motion goes on, and at which frame it first does; (1, 0) where frames
// differ.
func doubled(rows [][]float64) (every, first int) {
	same := make([]bool, len(rows))
	for k := 1; k < len(rows); k++ {
		same[k] = slices.EqualFunc(rows[k], rows[k-1], func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	}
	for every = 2; every <= 4 && len(rows) >= 4*every; every++ {
		for first = range every {
			var repeats, moves, still, moving float64
			for k := 1; k < len(rows); k++ {
				one := 0.0
				if same[k] {
					one = 1
				}
				if (k-first)%every == 0 {
					moves, still = moves+1, still+one
				} else {
					repeats, moving = repeats+1, moving+1-one
				}
			}
			if moving <= 0.02*repeats && still <= 0.5*moves {
				return every, first
			}
		}
	}
	return 1, 0
}

func (m *isaacFrames) undouble() {
	every, first := doubled(m.positions)
	if every == 1 {
		return
	}
	all := len(m.positions)
	var positions, velocities [][]float64
	for k := first; k < all; k += every {
		positions, velocities = append(positions, m.positions[k]), append(velocities, m.velocities[k])
	}
	m.note("only one frame in %d moves: %d of %d frames repeated the one before and were left out, which leaves %.4g frames a second of the %.4g that the file says",
		every, all-len(positions), all, 1/(m.step*float64(every)), 1/m.step)
	m.positions, m.velocities, m.step = positions, velocities, m.step*float64(every)
}

// hinges turns exponential maps into angles.
func (m *isaacFrames) hinges() {
	triples := m.triples()
	maps, angles := 0, 0 // triples that are one or the other
	for _, at := range triples {
		asMap, asHinges := m.fit(at)
		switch {
		case asMap < 0.01 && asHinges > 2*asMap+1e-3:
			maps++
		case asHinges < 0.01 && asMap > 2*asHinges+1e-3:
			angles++
		}
	}
	if maps <= angles {
		return
	}
	most := 0.0
	xyz := Body{Joints: triple("", [6]float64{})}
	for _, at := range triples {
		var near []float64
		for _, row := range m.positions {
			q := exponential(row[at : at+3])
			most = max(most, q.angleTo(hingeRotation(row[at:])))
			xyz.angles(q, row[at:at+3], near)
			near = row[at : at+3]
		}
	}
	m.note("the three numbers of %d joints were exponential maps, as the bodies' rotations show: turned into angles of hinges x, y, z; read as such angles they were up to %.2f rad wrong",
		len(triples), most)
}

// hingeRotation is the rotation of hinges x, y, z.
func hingeRotation(v []float64) quat {
	q := quat{1, 0, 0, 0}
	for i := range 3 {
		var axis [3]float64
		axis[i] = 1
		q = q.mul(turnAbout(axis, v[i]))
	}
	return q
}

// triples returns where joints NAME_x, NAME_y, NAME_z begin.
func (m *isaacFrames) triples() []int {
	var list []int
	for i := 0; i+2 < len(m.dofs); i++ {
		stem, ok := strings.CutSuffix(m.dofs[i], "_x")
		if ok && m.dofs[i+1] == stem+"_y" && m.dofs[i+2] == stem+"_z" {
			list = append(list, i)
		}
	}
	return list
}

// fit returns the mean angle by which the rotation between the two bodies that fit best misses a triple's, read as an
// exponential map and as three hinges.
func (m *isaacFrames) fit(at int) (asMap, asHinges float64) {
	asMap, asHinges = math.Inf(1), math.Inf(1)
	d, b := len(m.dofs), len(m.bodies)
	stride := max(1, len(m.positions)/20)
	for parent := range b {
		for child := range b {
			if parent == child {
				continue
			}
			var wrongMap, wrongHinges, n float64
			for k := 0; k < len(m.positions) && (wrongMap <= n || wrongHinges <= n); k += stride {
				row := m.positions[k]
				rotation := func(i int) quat { return quatOf(row[d+3*b+4*i:]) }
				q := rotation(parent).conj().mul(rotation(child))
				wrongMap += q.angleTo(exponential(row[at : at+3]))
				wrongHinges += q.angleTo(hingeRotation(row[at:]))
				n++
			}
			asMap, asHinges = min(asMap, wrongMap/n), min(asHinges, wrongHinges/n)
		}
	}
	return asMap, asHinges
}

// velocityLimit is how far velocities may be from the positions' differences, as a share of these, both as root mean
// squares over all frames and joints, or bodies. Smoothed velocities stay below it.
const velocityLimit = 0.3

// checkVelocities drops the velocities where they are not those of the joints or of the bodies.
func (m *isaacFrames) checkVelocities() error {
	c, err := m.clip("", false)
	if err != nil || c.n < 3 {
		return err
	}
	d := len(m.dofs)
	for _, part := range []struct {
		of          string
		first, last int
	}{{"joints", 0, d}, {"bodies", d, c.v}} {
		off, size := 0.0, 0.0
		for k, row := range m.velocities {
			for i, v := range c.FrameVelocity(k)[part.first:part.last] {
				off += (v - row[part.first+i]) * (v - row[part.first+i])
				size += v * v
			}
		}
		if off > velocityLimit*velocityLimit*size && off > 1e-12 {
			m.note("velocities of %s were not those of the positions, by %.0f %% (root mean squares): all were computed anew", part.of,
				100*math.Sqrt(off/max(size, 1e-12)))
			m.velocities = nil
			return nil
		}
	}
	return nil
}

// clip makes a clip of the frames, with the file's velocities or the positions' differences.
func (m *isaacFrames) clip(name string, own bool) (*Clip, error) {
	cfg := ClipConfig{Name: name, Description: isaacDescription(m.dofs, m.bodies), Frames: m.positions}
	if own {
		cfg.Velocities = m.velocities
	}
	for range m.positions {
		cfg.Durations = append(cfg.Durations, m.step)
	}
	c, err := newClip(cfg)
	if err == nil {
		c.bodies, c.repairs = m.bodies, m.repairs
	}
	return c, err
}

// stand puts the clip of Isaac Lab's humanoid on the floor.
func (m *isaacFrames) stand(c *Clip) (*Clip, error) {
	s := HumanoidSkeleton()
	if !isIsaacHumanoid(c, s) {
		return c, nil
	}
	h, err := c.with(s, isaacRows(c))
	if err != nil {
		return nil, err
	}
	on, err := h.settled()
	if err != nil || on == h {
		return c, err
	}
	for k, row := range m.positions {
		for b := range m.bodies {
			row[len(m.dofs)+3*b+2] += on.Frame(k)[2] - h.Frame(k)[2]
		}
	}
	m.repairs, m.velocities = on.repairs, nil
	return m.clip(c.name, false)
}
