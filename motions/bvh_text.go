package motions

import (
	"fmt"
	"math"
	"slices"
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

// bvhChannel is a number of a frame: a position, or a rotation in degrees, of an axis.
type bvhChannel struct {
	axis     int
	rotation bool
}

// bvhChannels are the channels by their names in lower case.
var bvhChannels = map[string]bvhChannel{"xposition": {0, false}, "yposition": {1, false}, "zposition": {2, false},
	"xrotation": {0, true}, "yrotation": {1, true}, "zrotation": {2, true}}

// maxBVHJoints is the largest number of joints of a file.
const maxBVHJoints = 4096

// bvhReader reads a file word by word. It keeps its first error, after which it reads nothing more.
type bvhReader struct {
	lines  []string
	at     int      // the number of the current line, from 1
	words  []string // the rest of the current line
	err    error
	joints []bvhJoint
	names  map[string]int // how many joints have a name
	open   []int          // the joints whose braces are open
	frames [][]float64
	step   float64
	notes  []string
}

func (r *bvhReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %w", max(1, min(r.at, len(r.lines))), fmt.Errorf(format, args...))
	}
}

// word returns the next word, or "" at the end of the file and after an error.
func (r *bvhReader) word() string {
	for r.err == nil && len(r.words) == 0 && r.at < len(r.lines) {
		r.words = strings.Fields(r.lines[r.at])
		r.at++
	}
	if r.err != nil || len(r.words) == 0 {
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// name returns the rest of the line up to a brace.
func (r *bvhReader) name() string {
	n := 0
	for n < len(r.words) && r.words[n] != "{" {
		n++
	}
	name := strings.Join(r.words[:n], " ")
	r.words = r.words[n:]
	return name
}

func (r *bvhReader) expect(want string) {
	if w := r.word(); !strings.EqualFold(w, want) {
		r.fail("%.30q where %s should be", w, want)
	}
}

func (r *bvhReader) number(what string) float64 {
	w := r.word()
	x, err := strconv.ParseFloat(w, 64)
	if err != nil || infinite(x) {
		r.fail("%s is %.30q; want a finite number", what, w)
	}
	return x
}

// readHierarchy reads the skeleton up to the word MOTION.
func (r *bvhReader) readHierarchy() {
	r.expect("HIERARCHY")
	r.names = map[string]int{}
	for r.err == nil {
		w := strings.ToUpper(r.word())
		if len(r.open) == 0 && slices.Contains([]string{"JOINT", "END", "OFFSET", "CHANNELS", "}"}, w) {
			r.fail("%s outside of the ROOT's braces", w)
			return
		}
		switch w {
		case "ROOT":
			if len(r.joints) > 0 {
				r.fail("a second ROOT; files of several characters are not read")
			}
			fallthrough
		case "JOINT":
			r.begin(r.name(), false)
		case "END":
			r.expect("Site")
			r.name() // some tools name ends
			r.begin(r.current().name+"/end", true)
		case "OFFSET":
			for i := range 3 {
				r.current().offset[i] = r.number("OFFSET")
			}
		case "CHANNELS":
			r.readChannels()
		case "}":
			r.open = r.open[:len(r.open)-1]
		case "MOTION":
			if len(r.open) > 0 || len(r.joints) == 0 {
				r.fail("MOTION before the ROOT's closing }")
			}
			return
		case "":
			r.fail("the file ends before MOTION")
		default:
			r.fail("%.30q where ROOT, JOINT, End Site, OFFSET, CHANNELS, } or MOTION should be", w)
		}
	}
}

// current returns the joint whose brace was opened last.
func (r *bvhReader) current() *bvhJoint { return &r.joints[r.open[len(r.open)-1]] }

// begin opens a joint.
func (r *bvhReader) begin(name string, end bool) {
	if r.err != nil {
		return
	}
	parent := -1
	if len(r.open) > 0 {
		parent = r.open[len(r.open)-1]
	}
	switch {
	case len(r.joints) >= maxBVHJoints:
		r.fail("there are more than %d joints", maxBVHJoints)
	case name == "":
		r.fail("a joint has no name")
	case parent >= 0 && r.joints[parent].end:
		r.fail("an end site has a joint below it")
	}
	if r.names[name]++; r.names[name] > 1 { // tools that export mirrored rigs write names twice
		name = fmt.Sprintf("%s_%d", name, r.names[name])
	}
	r.joints = append(r.joints, bvhJoint{name: name, parent: parent, end: end})
	r.open = append(r.open, len(r.joints)-1)
	r.expect("{")
}

func (r *bvhReader) readChannels() {
	n := r.number("the number of CHANNELS")
	if r.err != nil {
		return
	}
	j := r.current()
	if n != math.Trunc(n) || n < 0 || n > 6 || len(j.channels) > 0 {
		r.fail("%s has %g CHANNELS; want one list of at most 6", j.name, n)
		return
	}
	for range int(n) {
		w := r.word()
		c, ok := bvhChannels[strings.ToLower(w)]
		if !ok {
			r.fail("%s has the channel %.30q; want Xposition, Yposition, Zposition, Xrotation, Yrotation or Zrotation",
				j.name, w)
			return
		}
		if slices.Contains(j.channels, c) {
			r.fail("%s has the channel %s twice", j.name, w)
		}
		j.channels = append(j.channels, c)
	}
}

// readMotion reads the frames.
func (r *bvhReader) readMotion() {
	width := 0
	for _, j := range r.joints {
		width += len(j.channels)
	}
	if width == 0 {
		r.fail("no joint has CHANNELS")
	}
	r.expect("Frames:")
	claimed := r.number("Frames")
	r.expect("Frame")
	r.expect("Time:")
	if r.step = r.number("Frame Time"); r.step <= 0 || len(r.words) > 0 {
		r.fail("Frame Time must be a positive number alone on its line")
	}
	for r.err == nil && r.at < len(r.lines) {
		r.words = strings.Fields(r.lines[r.at])
		r.at++
		switch n := len(r.words); n {
		case 0:
			continue
		default:
			r.fail("frame %d has %d values; the %d joints have %d channels", len(r.frames), n, len(r.joints), width)
		case width:
		}
		frame := make([]float64, width)
		for i := range frame {
			frame[i] = r.number("a value of the frame")
		}
		r.frames = append(r.frames, frame)
	}
	if n := float64(len(r.frames)); n != claimed {
		r.notes = append(r.notes, fmt.Sprintf("the file says %g frames and has %g: those that it has were read",
			claimed, n))
	}
	if rate := math.Round(1 / r.step); rate > 0 && math.Abs(r.step*rate-1) < 1e-3 {
		r.step = 1 / rate
	}
}
