package motions

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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

// bvhJoint is a joint or an end site of the file.
type bvhJoint struct {
	name     string
	parent   int
	offset   [3]float64
	channels []bvhChannel
	end      bool
	leaf     bool
}

// bvhChannel is a number of a frame: a position or a rotation in degrees, of an axis.
type bvhChannel struct {
	axis     int
	rotation bool
}

// maxBVHJoints is how many joints a file may have.
const maxBVHJoints = 4096

// bvhScanner splits a file into lines and words.
type bvhScanner struct {
	lines []string
	at    int      // the number of the line that words are of, from 1
	words []string // what is left of it
}

func (s *bvhScanner) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", max(1, min(s.at, len(s.lines))), fmt.Errorf(format, args...))
}

// word returns the next word of the file, "" at its end.
func (s *bvhScanner) word() string {
	for len(s.words) == 0 {
		if s.at >= len(s.lines) {
			return ""
		}
		s.words = strings.Fields(s.lines[s.at])
		s.at++
	}
	w := s.words[0]
	s.words = s.words[1:]
	return w
}

// name takes what is left of the line, up to a brace.
func (s *bvhScanner) name() string {
	n := 0
	for n < len(s.words) && s.words[n] != "{" {
		n++
	}
	text := strings.Join(s.words[:n], " ")
	s.words = s.words[n:]
	return text
}

func (s *bvhScanner) expect(want string) error {
	if w := s.word(); !strings.EqualFold(w, want) {
		return s.fail("%.30q where %s should be", w, want)
	}
	return nil
}

func (s *bvhScanner) number(what string) (float64, error) {
	w := s.word()
	x, err := strconv.ParseFloat(w, 64)
	if err != nil || !finite(x) {
		return 0, s.fail("%s is %.30q; want a finite number", what, w)
	}
	return x, nil
}

func bvhClip(data []byte, name string, cfg BVHConfig) (*Clip, error) {
	if cfg.Up != "" && cfg.Up != "y" && cfg.Up != "z" {
		return nil, fmt.Errorf(`BVHConfig.Up must be "y" or "z", and is %q`, cfg.Up)
	}
	if cfg.Scale < 0 || !finite(cfg.Scale) || cfg.Skip < 0 {
		return nil, fmt.Errorf("BVHConfig.Scale and Skip must be finite and not negative, and are %g and %d", cfg.Scale, cfg.Skip)
	}
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	s := &bvhScanner{lines: strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")}
	if strings.Contains(text, "\r\n") {
		s.lines = strings.Split(text, "\n")
	}
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

// hierarchy reads the skeleton.
func (s *bvhScanner) hierarchy() ([]bvhJoint, error) {
	if err := s.expect("HIERARCHY"); err != nil {
		return nil, err
	}
	var joints []bvhJoint
	var open []int // the joints whose braces are open
	names := map[string]int{}
	begin := func(name string, end bool) error {
		if len(joints) >= maxBVHJoints {
			return s.fail("there are more than %d joints", maxBVHJoints)
		}
		parent := -1
		if n := len(open); n > 0 {
			parent = open[n-1]
			joints[parent].leaf = false
			if joints[parent].end {
				return s.fail("an end site has a joint below it")
			}
		}
		if name == "" {
			return s.fail("a joint has no name")
		}
		if names[name]++; names[name] > 1 { // tools that export mirrored rigs write names twice
			name = fmt.Sprintf("%s_%d", name, names[name])
		}
		joints = append(joints, bvhJoint{name: name, parent: parent, end: end, leaf: true})
		open = append(open, len(joints)-1)
		return s.expect("{")
	}
	for {
		w := s.word()
		var err error
		switch strings.ToUpper(w) {
		case "ROOT":
			if len(joints) > 0 {
				return nil, s.fail("a second ROOT; files of several characters are not read")
			}
			err = begin(s.name(), false)
		case "JOINT":
			if len(open) == 0 {
				return nil, s.fail("JOINT outside of the ROOT's braces")
			}
			err = begin(s.name(), false)
		case "END":
			if err = s.expect("Site"); err == nil && len(open) == 0 {
				err = s.fail("an End Site outside of the ROOT's braces")
			}
			if err == nil {
				s.name() // some tools name ends
				err = begin(joints[open[len(open)-1]].name+"/end", true)
			}
		case "OFFSET":
			if len(open) == 0 {
				return nil, s.fail("OFFSET outside of the ROOT's braces")
			}
			for i := range 3 {
				if err == nil {
					joints[open[len(open)-1]].offset[i], err = s.number("OFFSET")
				}
			}
		case "CHANNELS":
			if len(open) == 0 {
				return nil, s.fail("CHANNELS outside of the ROOT's braces")
			}
			err = s.channels(&joints[open[len(open)-1]])
		case "}":
			if len(open) == 0 {
				return nil, s.fail("a } that closes nothing")
			}
			open = open[:len(open)-1]
		case "MOTION":
			if len(open) > 0 || len(joints) == 0 {
				return nil, s.fail("MOTION before the ROOT's closing }")
			}
			return joints, nil
		case "":
			return nil, s.fail("the file ends before MOTION")
		default:
			err = s.fail("%.30q where ROOT, JOINT, End Site, OFFSET, CHANNELS, } or MOTION should be", w)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *bvhScanner) channels(j *bvhJoint) error {
	n, err := s.number("the number of CHANNELS")
	if err != nil {
		return err
	}
	if n != math.Trunc(n) || n < 0 || n > 6 || len(j.channels) > 0 {
		return s.fail("%s has %g CHANNELS; want one list of at most 6", j.name, n)
	}
	for range int(n) {
		w := s.word()
		kind := strings.ToLower(w)
		c := bvhChannel{rotation: strings.HasSuffix(kind, "rotation")}
		if kind == "" || (kind[1:] != "rotation" && kind[1:] != "position") || kind[0] < 'x' || kind[0] > 'z' {
			return s.fail("%s has the channel %.30q; want Xposition, Yposition, Zposition, Xrotation, Yrotation or Zrotation", j.name, w)
		}
		c.axis = int(kind[0] - 'x')
		for _, other := range j.channels {
			if other == c {
				return s.fail("%s has the channel %s twice", j.name, w)
			}
		}
		j.channels = append(j.channels, c)
	}
	return nil
}

// motion reads the frames.
func (s *bvhScanner) motion(joints []bvhJoint) (frames [][]float64, step float64, note string, err error) {
	width := 0
	for _, j := range joints {
		width += len(j.channels)
	}
	if width == 0 {
		return nil, 0, "", s.fail("no joint has CHANNELS")
	}
	if err = s.expect("Frames:"); err != nil {
		return nil, 0, "", err
	}
	claimed, err := s.number("Frames")
	if err == nil {
		err = s.expect("Frame")
	}
	if err == nil {
		err = s.expect("Time:")
	}
	if err == nil {
		step, err = s.number("Frame Time")
	}
	if err != nil {
		return nil, 0, "", err
	}
	if step <= 0 || len(s.words) > 0 {
		return nil, 0, "", s.fail("Frame Time must be a positive number alone on its line")
	}
	for s.at < len(s.lines) {
		words := strings.Fields(s.lines[s.at])
		s.at++
		if len(words) == 0 {
			continue
		}
		if len(words) != width {
			return nil, 0, "", s.fail("frame %d has %d values; the %d joints have %d channels", len(frames), len(words), len(joints), width)
		}
		frame := make([]float64, width)
		for i, w := range words {
			x, err := strconv.ParseFloat(w, 64)
			if err != nil || !finite(x) {
				return nil, 0, "", s.fail("frame %d: value %d is %.30q; want a finite number", len(frames), i, w)
			}
			frame[i] = x
		}
		frames = append(frames, frame)
	}
	if len(frames) == 0 {
		return nil, 0, "", errors.New("there are no frames")
	}
	if float64(len(frames)) != claimed {
		note = fmt.Sprintf("the file says %g frames and has %d: those that it has were read", claimed, len(frames))
	}
	if rate := math.Round(1 / step); rate > 0 && math.Abs(step*rate-1) < 1e-3 {
		step = 1 / rate
	}
	return frames, step, note, nil
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
