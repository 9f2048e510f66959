package motions

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// bvhJoint is a joint or an end site of the file.
type bvhJoint struct {
	name     string
	parent   int
	offset   [3]float64
	channels []bvhChannel
	end      bool
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
		joints = append(joints, bvhJoint{name: name, parent: parent, end: end})
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
