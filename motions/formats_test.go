package motions

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// legs is a small BVH file: y up, facing z, in centimetres, with another rotation order for each joint, tabs, CRLF and
// an end site in another case.
const legs = "HIERARCHY\r\nROOT Hips\r\n{\r\n\tOFFSET 0 0 0\r\n" +
	"\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\r\n" +
	"\tJOINT RightLeg\r\n\t{\r\n\t\tOFFSET -10 -40 0\r\n\t\tCHANNELS 3 Xrotation Yrotation Zrotation\r\n" +
	"\t\tJOINT RightFoot\r\n\t\t{\r\n\t\t\tOFFSET 0 -40 2\r\n" +
	"\t\t\tCHANNELS 6 Xposition Yposition Zposition Yrotation Zrotation Xrotation\r\n" +
	"\t\t\tend site toes\r\n\t\t\t{\r\n\t\t\t\tOFFSET 0 -5 12\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n" +
	"\tJOINT Spine\r\n\t{\r\n\t\tOFFSET 0 50 0\r\n\t\tCHANNELS 2 Zrotation Xrotation\r\n" +
	"\t\tEnd Site\r\n\t\t{\r\n\t\t\tOFFSET 0 30 0\r\n\t\t}\r\n\t}\r\n}\r\nMOTION\r\nFrames: 3\r\nFrame Time: " +
	"0.0333333\r\n" +
	"1 90 3 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n1 90 4 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n" +
	"1 90 5 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n"

// Bodies stand where matrices in the file's own axes put them.
func TestBVH(t *testing.T) {
	c := must.Get(parseBVH([]byte(legs), "legs", BVHConfig{Scale: 0.01}))(t)
	must.Not(t, math.Abs(c.Duration()-2./30) > 1e-9 || c.NumFrames() != 3 || len(c.Repairs()) != 0,
		"%g s, %d frames, %q", c.Duration(), c.NumFrames(), c.Repairs())
	turn := func(order string, degrees ...float64) [3][3]float64 {
		q := rotation.Quat{1, 0, 0, 0}
		for i, d := range degrees {
			var axis [3]float64
			axis[order[i]-'X'] = 1
			q = q.Mul(rotation.About(axis, d*math.Pi/180))
		}
		return matrix(q)
	}
	apply := func(v [3]float64, matrices ...[3][3]float64) [3]float64 {
		for i := len(matrices) - 1; i >= 0; i-- {
			m := matrices[i]
			v = [3]float64{dot(m[0], v), dot(m[1], v), dot(m[2], v)}
		}
		return v
	}
	add := func(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
	hips, leg, foot, spine := turn("ZYX", 10, 20, 30), turn("XYZ", 40, 50, 60), turn("YZX", 70, 80, -90), turn("ZX", 15,
		-25)
	root := [3]float64{1, 90, 4}
	knee := add(root, apply([3]float64{-10, -40, 0}, hips))
	ankle := add(knee, apply([3]float64{0, -40, 2}, hips, leg))
	toes := add(ankle, apply([3]float64{0, -5, 12}, hips, leg, foot))
	back := add(root, apply([3]float64{0, 50, 0}, hips))
	head := add(back, apply([3]float64{0, 30, 0}, hips, spine))
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(c.Frame(1), positions, nil)
	for i, want := range [][3]float64{root, knee, ankle, toes, back, head} {
		near(t, s.Bodies[i].Name, positions[3*i:3*i+3], want[2]/100, want[0]/100, want[1]/100)
	}
	must.Not(t, s.Bodies[3].Name != "RightFoot/end" || len(s.Bodies[3].Contacts) != 1 || len(s.Bodies[1].Contacts) != 0,
		"%+v", s.Bodies)
}

// What is guessed or left out stands in the repairs.
func TestBVHNotes(t *testing.T) {
	turned := must.Get(parseBVH([]byte(legs), "legs", BVHConfig{Scale: 1, Up: "z"}))(t)
	near(t, "z up", turned.Frame(0)[:3], -90, 1, 3)
	for want, replace := range map[string][2]string{
		"by up to 0.05 m":           {"0 -40 2 70", "0 -45 2 70"},
		"says 300 frames and has 3": {"Frames: 3", "Frames: 300"},
	} {
		text := []byte(strings.Replace(legs, replace[0], replace[1], 1))
		r := must.Get(parseBVH(text, "legs", BVHConfig{Scale: 0.01}))(t).Repairs()
		must.Not(t, len(r) != 1 || !strings.Contains(r[0], want), "%q, want %s", r, want)
	}
	for factor, want := range map[float64]string{1000: "millimetres", 1: " metres", 17.7: "CMU"} {
		text := legs
		for _, o := range []string{"-10 -40 0", "0 -40 2\r", "0 -5 12", "0 50 0", "0 30 0"} {
			var v [3]float64
			fmt.Sscan(o, &v[0], &v[1], &v[2])
			scaled := fmt.Sprintf("OFFSET %g %g %g\r", v[0]*factor/100, v[1]*factor/100, v[2]*factor/100)
			text = strings.Replace(text, "OFFSET "+o, scaled, 1)
		}
		r := must.Get(parseBVH([]byte(text), "legs", BVHConfig{}))(t).Repairs()
		must.Not(t, !strings.Contains(r[0], want), "%g units a metre: %q", factor, r)
	}
}

// amassArrays is a person who stands upright, turned left by a quarter, with the left knee bent by 1 rad.
func amassArrays() []*npz.Array {
	const n = 4
	poses, trans := make([]float64, n*156), make([]float64, n*3)
	for k := range n {
		// y up becomes z up, then half a turn about z (SMPL faces −y then), to face y: a quarter left of x.
		up := rotation.About([3]float64{0, 0, 1}, math.Pi).Mul(rotation.About([3]float64{1, 0, 0}, math.Pi/2))
		v := up.Log()
		copy(poses[k*156:], v[:])
		poses[k*156+3*4] = 1 // left knee, about SMPL's x: the shin goes back
		trans[3*k+1], trans[3*k+2] = 0.1*float64(k), 0.9
	}
	return []*npz.Array{npz.New("poses", poses, n, 156), npz.New("trans", trans, n, 3),
		npz.New("mocap_framerate", []float64{120}), npz.NewBytes("gender", "|S6", []byte("female"))}
}

func TestAMASS(t *testing.T) {
	c := must.Get(parse(npzOf(t, amassArrays()...), "person"))(t)
	must.Not(t, math.Abs(c.Duration()-3./120) > 1e-9 || len(c.Skeleton().Joints()) != 21, "%g s, %v", c.Duration(),
		c.Description())
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(c.Frame(1), positions, nil)
	for name, want := range map[string][3]float64{
		"pelvis": {0, 0.1, 0.9}, "head": {0, 0.1, 0.9 + .118 + .118 + .05 + .174 + .09},
		"left_wrist":  {-(.06 + .123 + .2748 + .2589), 0.1 - .024, 0.9 + .286 + .193},
		"left_ankle":  {-.085, 0.1 - .4099*math.Sin(1), 0.9 - .4215 - .4099*math.Cos(1)}, // behind
		"right_ankle": {.085, 0.1, 0.9 - .4215 - .4099}, "right_foot": {.085, 0.1 + .09, 0.9 - .4215 - .4099 - .035},
	} {
		i := s.Body(name)
		near(t, name, positions[3*i:3*i+3], want[:]...)
	}
	must.Get(Humanoid(c))(t)
	arrays := amassArrays()
	arrays[2].Name = "mocap_frame_rate" // as in SMPL-X files
	must.Near(t, must.Get(parse(npzOf(t, arrays...), "person"))(t).Duration(), 3./120, 1e-9, "s")
}

func mimicKitFrames() [][]float64 {
	rng := rand.New(rand.NewPCG(7, 1))
	frames := make([][]float64, 3)
	for k := range frames {
		frames[k] = []float64{0.1 * float64(k), 0, 0.9}
		for range 31 {
			frames[k] = append(frames[k], 0.3*rng.NormFloat64())
		}
	}
	return frames
}

func TestMimicKit(t *testing.T) {
	frames := mimicKitFrames()
	c := must.Get(parse(pickled(map[string]any{"loop_mode": 1, "fps": 30, "frames": frames}), "m"))(t)
	must.Not(t, c.NumFrames() != 3 || c.Loop() != LoopWrap || math.Abs(c.Duration()-2./30) > 1e-12 ||
		c.Skeleton() == nil, "%d frames, %v, %g s", c.NumFrames(), c.Loop(), c.Duration())
	f := c.Frame(1)
	for i, at := range []int{3, 6, 9, 12} { // root, abdomen, neck, right shoulder, each a map of three
		must.Near(t, rotation.Of(f[3+4*i:]).AngleTo(rotation.Exp(frames[1][at:])), 0, 1e-9, "rotation %d", i)
	}
	near(t, "right elbow", f[19:20], frames[1][15])
	seven := map[string]any{"loop_mode": 0, "fps": 30.0, "frames": [][]float64{{1, 2, 3, 0, 0, 0, 0.5}}}
	near(t, "hinges", must.Get(parse(pickled(seven), "m"))(t).Frame(0), 1, 2, 3, 1, 0, 0, 0, 0.5)
}

func TestCSV(t *testing.T) {
	text := "0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\r\n"
	for _, x := range []struct {
		header string
		cfg    CSVConfig
		rate   float64
		joint  string
		q      []float64
	}{
		{"", CSVConfig{}, 30, "joint_0", []float64{0.8, 0, 0, 0.6}},
		{"x, y, z, qw, qx, qy, qz, knee\n", CSVConfig{Rate: 50, WFirst: true}, 50, "knee", []float64{0, 0, 0.6, 0.8}},
	} {
		c := must.Get(parseCSV([]byte(x.header+text), "rows", x.cfg))(t)
		near(t, "frame", c.Frame(1), append(append([]float64{0.1, 0, 0.8}, x.q...), 0.2)...)
		must.Is(t, c.Description().Columns[4].Name, x.joint, "joint")
		must.Near(t, c.Duration(), 1/x.rate, 1e-12, "s")
	}
}

// humanoidJSON is a clip of DeepMimic's humanoid with one number of frame 1 replaced.
func humanoidJSON(value int, text string) string {
	var frames []string
	for k := range 3 {
		numbers := []string{"0.1"}
		for _, col := range deepMimicHumanoid().Columns {
			if col.Kind == Rotation {
				numbers = append(numbers, "1", "0", "0", "0")
			} else {
				numbers = append(numbers, "0.5")
			}
		}
		if k == 1 && value >= 0 {
			numbers[value] = text
		}
		frames = append(frames, "["+strings.Join(numbers, ",")+"]")
	}
	return `{"Loop":"wrap","Frames":[` + strings.Join(frames, ",\n") + `]}`
}

func TestDeepMimicLoops(t *testing.T) {
	for text, want := range map[string]Loop{`"Loop":"wrap",`: LoopWrap, `"Loop":"clamp",`: LoopNone,
		`"LoopMode":"Wrap",`: LoopWrap, `"Loop":true,`: LoopWrap, ``: LoopNone} {
		c := must.Get(parse([]byte(`{`+text+`"Frames":[[1,2],[0,3]]}`), "clip"))(t)
		must.Not(t, c.Loop() != want || !c.Raw() || c.Duration() != 1, "%s: %v", text, c)
	}
	turning := must.Get(Load("testdata/turn_left.txt"))(t)
	near(t, "w comes first", turning.Frame(0)[3:7], 1, 0, 0, 0)
	must.Is(t, turning.Weight(), 0.5, "weight")
	// Without offsets each loop starts over at the same place.
	text := strings.ReplaceAll(string(must.Read(t, "testdata/turn_left.txt")), ": true", ": false")
	c := must.Get(parse([]byte(text), "still"))(t)
	a, _ := sampleAt(c, 0.25)
	b, _ := sampleAt(c, 5.25)
	near(t, "fifth loop", b, a...)
}

// A file of an unknown skeleton is raw, and has joints with a description.
func TestDeepMimicDescription(t *testing.T) {
	raw := must.Get(Load("testdata/arm.txt"))(t)
	must.Not(t, !raw.Raw() || raw.Width() != 12 || raw.VelocityWidth() != 12, "raw: %v %d %d", raw.Raw(), raw.Width(),
		raw.VelocityWidth())
	d := &Description{Columns: []Column{{"root_x", Travel}, {"root_y", Linear}, {"root_z", Travel},
		{"root_rotation", Rotation}, {"shoulder", Rotation}, {"elbow", Hinge}}}
	c := must.Get(LoadDeepMimic("testdata/arm.txt", d))(t)
	pos, vel := sampleAt(c, 0.4+0.25) // the second loop
	near(t, "root", pos[:3], 1.2+0.75, 1, -0.4-0.25)
	near(t, "shoulder", pos[7:11], about(0, 0, 1, 0.5)...)
	near(t, "elbow", pos[11:], 0.25)
	near(t, "shoulder's velocity", vel[6:9], 0, 0, 2)
	near(t, "root's velocity", vel[:3], 3, 0, -1)
	must.Refused(LoadDeepMimic("testdata/hop.txt", d))(t, "motions: testdata/hop.txt: ",
		"frame 0 has 2 values, the description 12")
}

// A saved clip is the clip, to float32.
func TestSave(t *testing.T) {
	trot := must.Get(Trot(1))(t)
	other := QuadrupedSkeleton() // a skeleton of that name that is another one is in the file
	other.Bodies[1].Offset[0], other.Bodies[1].Orientation = 0.3, rotation.About([3]float64{0, 0, 1}, 0.2)
	part := func(s *Skeleton, loop Loop, durations ...float64) *Clip {
		return must.Get(NewClip(ClipConfig{Name: "part", Loop: loop, Skeleton: s, Durations: durations,
			Frames: framesOf(trot)[:len(durations)]}))(t)
	}
	for _, c := range []*Clip{stroll(t, 40), trot, part(QuadrupedSkeleton(), LoopWrap, durationsOf(trot)[:20]...),
		part(other, LoopNone, .1, .1, 0)} {
		var file bytes.Buffer
		must.Do(t, c.Save(&file, "who made it"))
		back := must.Get(parse(file.Bytes(), c.Name()))(t)
		sameMotion(t, back, c, 1e-6)
		must.Is(t, back.Loop(), c.Loop(), "loop")
		must.Match(t, c.Skeleton(), back.Skeleton(), "skeleton")
	}
	err := part(QuadrupedSkeleton(), LoopNone, .1, .2, 0).Save(io.Discard, "")
	must.Refuse(t, err, "motions: part: ", "evenly apart")
	must.Refuse(t, spin(t, LoopNone).Save(io.Discard, ""), "motions: spin: ", "no skeleton")
}
