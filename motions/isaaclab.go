package motions

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// parseIsaacLab reads a motion file of Isaac Lab. It holds fps, dof_names (D), body_names (B) and, over N frames,
// dof_positions and dof_velocities (N, D), body_positions, body_linear_velocities and body_angular_velocities (N, B, 3)
// and body_rotations (N, B, 4; w first).
//
// The columns are the D degrees of freedom (hinges, by their names), then "body/x", "body/y", "body/z" for each body,
// then "body/rotation" for each body. The clip does not loop.
//
// Isaac Lab's own clips came through a tool that doubled their frames and that writes the three joints of a body as one
// exponential map. They are repaired, and [Clip.Repairs] says how:
//
//   - Frames that repeat the frame before, in a regular pattern, are left out.
//   - Joints of the humanoid that hold exponential maps, as the bodies' rotations show, become angles of hinges.
//   - Velocities that are not those of the positions become central differences.
//   - The humanoid is put on the floor if its feet are under it.
//
// A file without these faults keeps its numbers, also its own velocities.
func parseIsaacLab(r *npzReader, name string) (*Clip, error) {
	m := isaacFrames{name: name, step: r.step("fps"), dofs: r.words("dof_names"), bodies: r.words("body_names")}
	d, b := len(m.dofs), len(m.bodies)
	n := len(r.numbers("dof_positions", -1, d)) / max(1, d)
	m.positions = joinRows(n, r.numbers("dof_positions", n, d), r.numbers("body_positions", n, b, 3),
		r.numbers("body_rotations", n, b, 4))
	m.velocities = joinRows(n, r.numbers("dof_velocities", n, d), r.numbers("body_linear_velocities", n, b, 3),
		r.numbers("body_angular_velocities", n, b, 3))
	if r.err != nil {
		return nil, r.err
	}
	c, err := m.clip() // before frames are left out, so that errors have the file's frame numbers
	if err != nil {
		return nil, err
	}
	m.dropRepeats()
	human := HumanoidSkeleton()
	isHuman := isIsaacHumanoid(c.description, human)
	if isHuman {
		m.convertMaps(c.description, human)
	}
	if err := m.checkVelocities(); err != nil {
		return nil, err
	}
	if c, err = m.clip(); err != nil || !isHuman {
		return c, err
	}
	return m.settle(c, human)
}

// joinRows joins row k of several arrays of n rows, for every k.
func joinRows(n int, arrays ...[]float64) [][]float64 {
	rows := make([][]float64, n)
	for k := range rows {
		for _, a := range arrays {
			w := len(a) / n
			rows[k] = append(rows[k], a[k*w:(k+1)*w]...)
		}
	}
	return rows
}

// isaacFrames are the rows of a file while they are repaired.
type isaacFrames struct {
	name                  string
	dofs, bodies          []string
	positions, velocities [][]float64 // nil velocities: central differences
	step                  float64
	repairs               []string
}

func (m *isaacFrames) note(format string, args ...any) {
	m.repairs = append(m.repairs, fmt.Sprintf(format, args...))
}

// clip makes a clip of the frames.
func (m *isaacFrames) clip() (*Clip, error) {
	d := &Description{}
	for _, name := range m.dofs {
		d.Columns = append(d.Columns, Column{name, Hinge})
	}
	d.addBodies(m.bodies)
	c, err := newClip(ClipConfig{Name: m.name, Description: d, Frames: m.positions, Velocities: m.velocities,
		Durations: evenly(len(m.positions), m.step)})
	if err == nil {
		c.repairs = m.repairs
	}
	return c, err
}

// findRepeats returns the period of the frames in which the motion proceeds and the first such frame. It returns (1, 0)
// if frames do not repeat regularly.
func findRepeats(rows [][]float64) (every, first int) {
	same := make([]bool, len(rows))
	for k := 1; k < len(rows); k++ {
		same[k] = slices.EqualFunc(rows[k], rows[k-1], func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	}
	for every = 2; every <= 4 && len(rows) >= 4*every; every++ {
		for first = range every {
			var repeats, moves, still, moving float64
			for k := 1; k < len(rows); k++ {
				switch onBeat := (k-first)%every == 0; {
				case onBeat && same[k]:
					moves, still = moves+1, still+1
				case onBeat:
					moves++
				case same[k]:
					repeats++
				default:
					repeats, moving = repeats+1, moving+1
				}
			}
			if moving <= 0.02*repeats && still <= 0.5*moves {
				return every, first
			}
		}
	}
	return 1, 0
}

func (m *isaacFrames) dropRepeats() {
	every, first := findRepeats(m.positions)
	if every == 1 {
		return
	}
	all, rate := len(m.positions), 1/m.step
	var positions, velocities [][]float64
	for k := first; k < all; k += every {
		positions, velocities = append(positions, m.positions[k]), append(velocities, m.velocities[k])
	}
	m.positions, m.velocities, m.step = positions, velocities, m.step*float64(every)
	m.note("only one frame in %d moves: %d of %d frames repeated the one before and were left out, "+
		"which leaves %.4g frames a second of the %.4g that the file says", every, all-len(positions), all, 1/m.step,
		rate)
}

// convertMaps turns the three joints of a body into hinge angles if the bodies' rotations show that they hold
// exponential maps.
func (m *isaacFrames) convertMaps(d *Description, s *Skeleton) {
	var maps, hinges, at, found int
	converted := make([][]float64, len(m.positions)) // the rows' joints as hinge angles
	for k, row := range m.positions {
		converted[k] = slices.Clone(row[:len(m.dofs)])
	}
	most := 0.0
	for i := range s.Bodies {
		b, first := &s.Bodies[i], at
		at += len(b.Joints)
		parent, _, hasParent := d.Find(s.Bodies[max(0, b.Parent)].Name + "/rotation")
		child, _, hasChild := d.Find(b.Name + "/rotation")
		if len(b.Joints) != 3 || !hasParent || !hasChild {
			continue
		}
		found++
		asMap, asHinges := 0.0, 0.0 // the mean angles by which either reading misses the bodies' rotations
		var near []float64
		for k, row := range m.positions {
			joints := row[first : first+3]
			q, hinged := rotation.Exp(joints), b.rotation(joints)
			turned := rotation.Of(row[parent:]).Conj().Mul(rotation.Of(row[child:]))
			asMap += turned.AngleTo(q) / float64(len(m.positions))
			asHinges += turned.AngleTo(hinged) / float64(len(m.positions))
			most = max(most, q.AngleTo(hinged))
			b.angles(q, converted[k][first:first+3], near)
			near = converted[k][first : first+3]
		}
		switch {
		case asMap < 0.01 && asHinges > 2*asMap+1e-3:
			maps++
		case asHinges < 0.01 && asMap > 2*asHinges+1e-3:
			hinges++
		}
	}
	if maps <= hinges {
		return
	}
	for k, row := range m.positions {
		copy(row, converted[k])
	}
	m.note("the three numbers of %d joints were exponential maps, as the bodies' rotations show: converted to angles "+
		"of hinges x, y, z; read as such angles they were up to %.2f rad wrong", found, most)
}

// velocityLimit is the largest allowed velocityError. Smoothed velocities stay below it.
const velocityLimit = 0.3

// velocityError returns the root mean square of got − want as a share of want's.
func velocityError(got, want []float64) float64 {
	off, size := 0.0, 0.0
	for i, v := range want {
		off, size = off+(v-got[i])*(v-got[i]), size+v*v
	}
	if off <= 1e-12 {
		return 0
	}
	return math.Sqrt(off / max(size, 1e-12))
}

// checkVelocities drops the velocities if those of the joints or those of the bodies are not the positions'.
func (m *isaacFrames) checkVelocities() error {
	file := m.velocities
	m.velocities = nil
	c, err := m.clip()
	if err != nil {
		return err
	}
	d, names := len(m.dofs), [2]string{"joints", "bodies"}
	var got, want [2][]float64
	for k, row := range file {
		own := c.frameVelocity(k)
		got[0], got[1] = append(got[0], row[:d]...), append(got[1], row[d:]...)
		want[0], want[1] = append(want[0], own[:d]...), append(want[1], own[d:]...)
	}
	for i, of := range names {
		if off := velocityError(got[i], want[i]); off > velocityLimit && c.n > 2 {
			m.note("velocities of %s were not those of the positions, by %.0f %% (root mean squares): all were "+
				"recomputed", of, 100*off)
			return nil
		}
	}
	m.velocities = file
	return nil
}

// settle puts the clip of the humanoid on the floor.
func (m *isaacFrames) settle(c *Clip, s *Skeleton) (*Clip, error) {
	h, err := c.derive(ClipConfig{Skeleton: s, Frames: isaacRows(c)})
	if err != nil {
		return nil, err
	}
	on, err := settle(h)
	if err != nil || on == h {
		return c, err
	}
	for k, row := range m.positions {
		for b := range m.bodies {
			row[len(m.dofs)+3*b+2] += on.Frame(k)[2] - h.Frame(k)[2]
		}
	}
	m.repairs, m.velocities = on.repairs, nil
	return m.clip()
}

// isIsaacHumanoid reports whether the columns are the humanoid's joints followed by bodies, the pelvis among them.
func isIsaacHumanoid(d *Description, s *Skeleton) bool {
	joints := s.Joints()
	if len(d.Columns) <= len(joints) || d.Columns[len(joints)].Kind == Hinge {
		return false
	}
	for i, j := range joints {
		if col := d.Columns[i]; col.Name != j.Name || col.Kind != Hinge {
			return false
		}
	}
	_, _, ok := d.Find("pelvis/rotation")
	return ok
}

// isaacRows returns the humanoid's rows: the pelvis and the joints of Isaac Lab's columns.
func isaacRows(c *Clip) [][]float64 {
	position, _, _ := c.description.Find("pelvis/x")
	rotation, _, _ := c.description.Find("pelvis/rotation")
	rows := make([][]float64, c.n)
	for k := range rows {
		f := c.Frame(k)
		rows[k] = slices.Concat(f[position:position+3], f[rotation:rotation+4], f[:28])
		if k > 0 {
			unwrap(rows[k][7:], rows[k-1][7:])
		}
	}
	return rows
}
