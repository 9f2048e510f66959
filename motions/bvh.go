package motions

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// BVHConfig says what a BVH file does not.
type BVHConfig struct {
	// Scale is how many metres a unit of length of the file is: 0.01 for centimetres. Zero: the one of metres,
	// centimetres, millimetres, inches and CMU's units (0.0564 m) that makes the skeleton nearest to a person's size,
	// which [Clip.Repairs] names.
	Scale float64
	// Up is the axis of the file that points up: "y" (also ""), with the zero pose facing z, or "z", facing −y.
	Up string
	// Skip is how many frames at the beginning are left out: 1 for files that begin with a T-pose.
	Skip int
}

// LoadBVH reads the BVH file at path with [ReadBVH]. The clip is named after the file.
func LoadBVH(path string, cfg BVHConfig) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return bvhClip(data, name, cfg) })
}

// ReadBVH reads motion capture in Biovision's text format: a skeleton (HIERARCHY) and frames (MOTION). The clip is on a
// [Skeleton] of its own, turned to z up and x forward and in metres: a body for each joint and each end site (named
// after its parent, with "/end"), and a ball joint, named as in the file, for each joint that turns. Rotation channels
// may come in any order and number, for each joint another; their product is taken in the order in which they are
// listed. Only the root travels: positions of other joints are ignored, and [Clip.Repairs] says so. Bodies with "foot"
// or "toe" in their names touch the floor at their origin. The clip does not loop. A frame time that is a rounded 1/n
// is taken as that.
//
// The name is the clip's, and errors begin with it; they name the line.
func ReadBVH(r io.Reader, name string, cfg BVHConfig) (*Clip, error) {
	return readWith(r, name, func(data []byte, name string) (*Clip, error) { return bvhClip(data, name, cfg) })
}

func (cfg *BVHConfig) check() error {
	if cfg.Up != "" && cfg.Up != "y" && cfg.Up != "z" {
		return fmt.Errorf(`BVHConfig.Up must be "y" or "z", and is %q`, cfg.Up)
	}
	if cfg.Scale < 0 || !finite(cfg.Scale) || cfg.Skip < 0 {
		return fmt.Errorf("BVHConfig.Scale and Skip must be finite and not negative, and are %g and %d", cfg.Scale, cfg.Skip)
	}
	return nil
}

func bvhClip(data []byte, name string, cfg BVHConfig) (*Clip, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	if !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // the ends of lines of old Macs
	}
	s := &bvhScanner{lines: strings.Split(text, "\n")}
	joints, err := s.hierarchy()
	if err != nil {
		return nil, err
	}
	frames, step, note, err := s.motion(joints)
	if err != nil {
		return nil, err
	}
	if cfg.Skip >= len(frames) {
		return nil, fmt.Errorf("BVHConfig.Skip is %d, and there are %d frames", cfg.Skip, len(frames))
	}
	m := bvhMotion{joints: joints, frames: frames[cfg.Skip:], step: step, cfg: cfg}
	if note != "" {
		m.notes = append(m.notes, note)
	}
	return m.clip(name)
}

// bvhMotion makes a clip of what a file says.
type bvhMotion struct {
	joints []bvhJoint
	frames [][]float64
	step   float64
	cfg    BVHConfig
	notes  []string
}

// turn takes a vector of the file to z up and x forward.
func (m *bvhMotion) turn(v [3]float64) [3]float64 {
	if m.cfg.Up == "z" {
		return [3]float64{-v[1], v[0], v[2]}
	}
	return [3]float64{v[2], v[0], v[1]}
}

func (m *bvhMotion) clip(name string) (*Clip, error) {
	scale := m.cfg.Scale
	if scale == 0 {
		scale = m.units()
	}
	skeleton := &Skeleton{Name: name}
	if name == "" {
		skeleton.Name = "bvh"
	}
	for i, j := range m.joints {
		o := m.turn(j.offset)
		b := Body{Name: j.name, Parent: j.parent, Offset: [3]float64{scale * o[0], scale * o[1], scale * o[2]}}
		if i > 0 && slices.ContainsFunc(j.channels, func(c bvhChannel) bool { return c.rotation }) {
			b.Joints = []Joint{{Name: j.name, Kind: Rotation}}
		}
		if lower := strings.ToLower(j.name); i > 0 && (strings.Contains(lower, "foot") || strings.Contains(lower, "toe")) {
			b.Contacts = []Contact{{}}
		}
		skeleton.Bodies = append(skeleton.Bodies, b)
	}
	cfg := ClipConfig{Name: name, Skeleton: skeleton}
	moved := map[string]float64{} // joints that move against their parents, by how many metres
	for _, f := range m.frames {
		cfg.Frames = append(cfg.Frames, m.row(f, scale, moved))
		cfg.Durations = append(cfg.Durations, m.step)
	}
	if len(moved) > 0 {
		most := 0.0
		for _, d := range moved {
			most = max(most, d)
		}
		m.notes = append(m.notes, fmt.Sprintf("%d joints move against their parents, by up to %.3g m, which was ignored: bones keep their lengths",
			len(moved), most))
	}
	c, err := newClip(cfg)
	if err == nil {
		c.repairs = m.notes
	}
	return c, err
}

// row makes a row of the skeleton of a frame.
func (m *bvhMotion) row(frame []float64, scale float64, moved map[string]float64) []float64 {
	var row []float64
	for i, j := range m.joints {
		place, q := j.offset, quat{1, 0, 0, 0}
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
			q = q.mul(turnAbout(m.turn(axis), x*math.Pi/180))
		}
		if i == 0 {
			p := m.turn(place)
			row = append(row, scale*p[0], scale*p[1], scale*p[2], q[0], q[1], q[2], q[3])
			continue
		}
		if turns {
			row = append(row, q[:]...)
		}
		d := [3]float64{place[0] - j.offset[0], place[1] - j.offset[1], place[2] - j.offset[2]}
		if away := scale * norm(d); away > 1e-3 {
			moved[j.name] = max(moved[j.name], away)
		}
	}
	return row
}

// units guesses how long a unit is, from the two longest ways from the root to ends, which in a person are a leg and an
// arm: about 2.2 m.
func (m *bvhMotion) units() float64 {
	depth := make([]float64, len(m.joints))
	longest := map[int]float64{} // by the root's child
	branch := make([]int, len(m.joints))
	for i, j := range m.joints {
		if i == 0 {
			continue
		}
		depth[i] = depth[j.parent] + norm(j.offset)
		branch[i] = branch[j.parent]
		if j.parent == 0 {
			branch[i] = i
		}
		longest[branch[i]] = max(longest[branch[i]], depth[i])
	}
	var ways []float64
	for _, way := range longest {
		ways = append(ways, way)
	}
	slices.Sort(ways)
	size := 0.0
	for _, way := range ways[max(0, len(ways)-2):] {
		size += way
	}
	if !(size > 0) || math.IsInf(size, 0) {
		return 1
	}
	best, unit := math.Inf(1), 1.0
	word := ""
	for _, u := range []struct {
		word string
		size float64
	}{{"metres", 1}, {"centimetres", 0.01}, {"millimetres", 0.001}, {"inches", 0.0254}, {"CMU's units of 0.0564 m", 0.0254 / 0.45}} {
		if off := math.Abs(math.Log(size * u.size / 2.2)); off < best {
			best, unit, word = off, u.size, u.word
		}
	}
	m.notes = append(m.notes, fmt.Sprintf("the file does not say what its unit of length is; %s were taken, as they make the skeleton nearest to a person's size (%.2f m from a foot over the root to a hand); set BVHConfig.Scale for another",
		word, size*unit))
	return unit
}
