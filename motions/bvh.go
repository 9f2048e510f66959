package motions

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// BVHConfig says what a BVH file does not.
type BVHConfig struct {
	// Scale is the length of the file's unit in metres: 0.01 for centimetres. Zero: the unit that makes the skeleton
	// nearest to a person's size, out of metres, centimetres, millimetres, inches and CMU's unit (0.0564 m).
	// [Clip.Repairs] names the unit.
	Scale float64
	// Up is the axis of the file that points up: "y" (also ""), with the zero pose facing z, or "z", facing −y.
	Up string
}

// LoadBVH reads motion capture in Biovision's text format at path. The clip has a [Skeleton] of its own, turned to z up
// and x forward and in metres. Each joint and each end site is a body; an end site is named after its parent, with
// "/end". Each joint that turns is a ball joint named as in the file. Rotation channels may come in any order and
// number, and are multiplied in the order in which they are listed. Only the root travels: positions of other joints
// are ignored, and [Clip.Repairs] says so. Bodies with "foot" or "toe" in their names touch the floor at their origin.
// The clip does not loop. A frame time that is a rounded 1/n becomes 1/n.
func LoadBVH(path string, cfg BVHConfig) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return parseBVH(data, name, cfg) })
}

func parseBVH(data []byte, name string, cfg BVHConfig) (*Clip, error) {
	if cfg.Up != "" && cfg.Up != "y" && cfg.Up != "z" {
		return nil, fmt.Errorf(`BVHConfig.Up must be "y" or "z", and is %q`, cfg.Up)
	}
	if cfg.Scale < 0 || infinite(cfg.Scale) {
		return nil, fmt.Errorf("BVHConfig.Scale must be finite and not negative, and is %g", cfg.Scale)
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	if !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // line ends of old Macs
	}
	r := &bvhReader{lines: strings.Split(text, "\n")}
	r.readHierarchy()
	r.readMotion()
	if r.err != nil {
		return nil, r.err
	}
	m := bvhMotion{joints: r.joints, scale: cfg.Scale, zUp: cfg.Up == "z", notes: r.notes}
	if m.scale == 0 {
		m.guessScale()
	}
	clip := ClipConfig{Name: name, Skeleton: m.skeleton(name), Durations: evenly(len(r.frames), r.step)}
	for _, f := range r.frames {
		clip.Frames = append(clip.Frames, m.row(f))
	}
	if m.moved > 0 {
		m.notes = append(m.notes, fmt.Sprintf("joints move against their parents, by up to %.3g m, which was ignored: "+
			"bones keep their lengths", m.moved))
	}
	c, err := newClip(clip)
	if err == nil {
		c.repairs = m.notes
	}
	return c, err
}

// bvhMotion converts joints and frames of a file.
type bvhMotion struct {
	joints []bvhJoint
	scale  float64
	zUp    bool
	moved  float64 // the largest distance in metres by which a joint moves against its parent
	notes  []string
}

// convert turns a vector of the file to z up and x forward.
func (m *bvhMotion) convert(v [3]float64) [3]float64 {
	if m.zUp {
		return [3]float64{-v[1], v[0], v[2]}
	}
	return [3]float64{v[2], v[0], v[1]}
}

func (m *bvhMotion) skeleton(name string) *Skeleton {
	s := &Skeleton{Name: name}
	for i, j := range m.joints {
		o := m.convert(j.offset)
		b := Body{Name: j.name, Parent: j.parent, Offset: [3]float64{m.scale * o[0], m.scale * o[1], m.scale * o[2]}}
		if i > 0 && slices.ContainsFunc(j.channels, func(c bvhChannel) bool { return c.rotation }) {
			b.Joints = []Joint{{Name: j.name, Kind: Rotation}}
		}
		if lower := strings.ToLower(j.name); i > 0 &&
			(strings.Contains(lower, "foot") || strings.Contains(lower, "toe")) {
			b.Contacts = []Contact{{}}
		}
		s.Bodies = append(s.Bodies, b)
	}
	return s
}

// row converts a frame to a row of the skeleton.
func (m *bvhMotion) row(frame []float64) []float64 {
	var row []float64
	for i, j := range m.joints {
		place, q := j.offset, rotation.Quat{1, 0, 0, 0}
		turns := false
		for _, c := range j.channels {
			x := frame[0]
			frame = frame[1:]
			if !c.rotation {
				place[c.axis] = x
				continue
			}
			turns = true
			var axis [3]float64
			axis[c.axis] = 1
			q = q.Mul(rotation.About(m.convert(axis), x*math.Pi/180))
		}
		if i == 0 {
			p := m.convert(place)
			row = append(row, m.scale*p[0], m.scale*p[1], m.scale*p[2], q[0], q[1], q[2], q[3])
			continue
		}
		if turns {
			row = append(row, q[:]...)
		}
		d := [3]float64{place[0] - j.offset[0], place[1] - j.offset[1], place[2] - j.offset[2]}
		if away := m.scale * norm(d); away > 1e-3 {
			m.moved = max(m.moved, away)
		}
	}
	return row
}

// guessScale sets the scale by the two longest ways from the root to an end over different children of the root: in a
// person a leg and an arm, together about 2.2 m.
func (m *bvhMotion) guessScale() {
	depth, branch := make([]float64, len(m.joints)), make([]int, len(m.joints))
	longest := make([]float64, len(m.joints)) // by the root's child
	for i, j := range m.joints[1:] {
		i++
		depth[i] = depth[j.parent] + norm(j.offset)
		branch[i] = branch[j.parent]
		if j.parent == 0 {
			branch[i] = i
		}
		longest[branch[i]] = max(longest[branch[i]], depth[i])
	}
	slices.Sort(longest)
	size := 0.0
	for _, way := range longest[max(0, len(longest)-2):] {
		size += way
	}
	m.scale = 1
	if !(size > 0) || math.IsInf(size, 0) {
		return
	}
	best, unit := math.Inf(1), ""
	for _, u := range []struct {
		name   string
		metres float64
	}{
		{"metres", 1}, {"centimetres", 0.01}, {"millimetres", 0.001}, {"inches", 0.0254},
		{"CMU's units of 0.0564 m", 0.0254 / 0.45},
	} {
		if off := math.Abs(math.Log(size * u.metres / 2.2)); off < best {
			best, m.scale, unit = off, u.metres, u.name
		}
	}
	m.notes = append(m.notes, fmt.Sprintf("the file's unit of length is not known; %s make the skeleton nearest to a "+
		"person's size (%.2f m from foot to hand); set BVHConfig.Scale for another", unit, size*m.scale))
}
