package motions

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// legs is a small BVH file: y up, facing z, in centimetres, with a different rotation order for each joint, tabs, CRLF
// and an end site in another case.
const legs = "HIERARCHY\r\nROOT Hips\r\n{\r\n\tOFFSET 0 0 0\r\n\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\r\n" +
	"\tJOINT RightLeg\r\n\t{\r\n\t\tOFFSET -10 -40 0\r\n\t\tCHANNELS 3 Xrotation Yrotation Zrotation\r\n" +
	"\t\tJOINT RightFoot\r\n\t\t{\r\n\t\t\tOFFSET 0 -40 2\r\n\t\t\tCHANNELS 6 Xposition Yposition Zposition Yrotation Zrotation Xrotation\r\n" +
	"\t\t\tend site toes\r\n\t\t\t{\r\n\t\t\t\tOFFSET 0 -5 12\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n" +
	"\tJOINT Spine\r\n\t{\r\n\t\tOFFSET 0 50 0\r\n\t\tCHANNELS 2 Zrotation Xrotation\r\n\t\tEnd Site\r\n\t\t{\r\n\t\t\tOFFSET 0 30 0\r\n\t\t}\r\n\t}\r\n}\r\n" +
	"MOTION\r\nFrames: 3\r\nFrame Time: 0.0333333\r\n" +
	"1 90 3 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n1 90 4 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n1 90 5 10 20 30  40 50 60  0 -40 2 70 80 -90  15 -25\r\n"

func readLegs(t *testing.T, text string, cfg BVHConfig) *Clip {
	t.Helper()
	c, err := ReadBVH(strings.NewReader(text), "legs", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Bodies stand where matrices in the file's own axes put them.
func TestBVH(t *testing.T) {
	c := readLegs(t, legs, BVHConfig{Scale: 0.01})
	if math.Abs(c.Duration()-2./30) > 1e-9 || c.NumFrames() != 3 || fmt.Sprint(c.Joints()) != "[RightLeg RightFoot Spine]" {
		t.Fatalf("%g s, %d frames, %v", c.Duration(), c.NumFrames(), c.Joints())
	}
	axis := func(name string) [3]float64 {
		return map[string][3]float64{"X": {1, 0, 0}, "Y": {0, 1, 0}, "Z": {0, 0, 1}}[name]
	}
	turn := func(order string, degrees ...float64) [3][3]float64 {
		q := quat{1, 0, 0, 0}
		for i, d := range degrees {
			q = q.mul(turnAbout(axis(order[i:i+1]), d*math.Pi/180))
		}
		return matrix(q)
	}
	apply := func(m [3][3]float64, v [3]float64) [3]float64 {
		return [3]float64{dot(m[0], v), dot(m[1], v), dot(m[2], v)}
	}
	add := func(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
	hips, leg, foot, spine := turn("ZYX", 10, 20, 30), turn("XYZ", 40, 50, 60), turn("YZX", 70, 80, -90), turn("ZX", 15, -25)
	root := [3]float64{1, 90, 4}
	knee := add(root, apply(hips, [3]float64{-10, -40, 0}))
	ankle := add(knee, apply(hips, apply(leg, [3]float64{0, -40, 2})))
	toes := add(ankle, apply(hips, apply(leg, apply(foot, [3]float64{0, -5, 12}))))
	back := add(root, apply(hips, [3]float64{0, 50, 0}))
	head := add(back, apply(hips, apply(spine, [3]float64{0, 30, 0})))
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(c.Frame(1), positions, nil)
	for i, want := range [][3]float64{root, knee, ankle, toes, back, head} {
		near(t, s.Bodies[i].Name, positions[3*i:3*i+3], want[2]/100, want[0]/100, want[1]/100)
	}
	if s.Bodies[3].Name != "RightFoot/end" || len(s.Bodies[3].Contacts) != 1 || len(s.Bodies[1].Contacts) != 0 {
		t.Errorf("%+v", s.Bodies)
	}
	if len(c.Repairs()) != 0 {
		t.Error(c.Repairs())
	}
}

func TestBVHSettings(t *testing.T) {
	c := readLegs(t, legs, BVHConfig{Skip: 1})
	if c.NumFrames() != 2 || math.Abs(c.Frame(0)[0]-0.04) > 1e-12 || !strings.Contains(fmt.Sprint(c.Repairs()), "centimetres were taken") {
		t.Errorf("%d frames, %v, %q", c.NumFrames(), c.Frame(0)[:3], c.Repairs())
	}
	c = readLegs(t, strings.Replace(legs, "70 80 -90", "70 80 -91", 1), BVHConfig{Scale: 1, Up: "z"})
	near(t, "z up", c.Frame(0)[:3], -90, 1, 3)
	moved := readLegs(t, strings.Replace(legs, "0 -40 2 70", "0 -45 2 70", 1), BVHConfig{Scale: 0.01})
	if r := moved.Repairs(); len(r) != 1 || !strings.Contains(r[0], "1 joints move against their parents, by up to 0.05 m") {
		t.Errorf("%q", r)
	}
	fewer := readLegs(t, strings.Replace(legs, "Frames: 3", "Frames: 300", 1), BVHConfig{Scale: 0.01})
	if r := fewer.Repairs(); len(r) != 1 || !strings.Contains(r[0], "says 300 frames and has 3") {
		t.Errorf("%q", r)
	}
	for factor, want := range map[float64]string{100: "centimetres", 1000: "millimetres", 1: " metres", 39.37: "inches", 17.7: "CMU"} {
		text := legs
		for _, o := range []string{"-10 -40 0", "0 -40 2\r", "0 -5 12", "0 50 0", "0 30 0"} {
			var v [3]float64
			fmt.Sscan(o, &v[0], &v[1], &v[2])
			text = strings.Replace(text, "OFFSET "+o, fmt.Sprintf("OFFSET %g %g %g\r", v[0]*factor/100, v[1]*factor/100, v[2]*factor/100), 1)
		}
		if r := readLegs(t, text, BVHConfig{}).Repairs(); !strings.Contains(r[0], want) {
			t.Errorf("%g units a metre: %q", factor, r)
		}
	}
}

func TestBadBVH(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{"HIERARCHY", "HIER", "line 1: \"HIER\" where HIERARCHY should be"},
		{"OFFSET -10 -40 0", "OFFSET -10 left 0", "line 8: OFFSET is \"left\""},
		{"CHANNELS 3 X", "CHANNELS 7 X", "line 9: RightLeg has 7 CHANNELS"},
		{"CHANNELS 3 Xrotation", "CHANNELS 3 Wrotation", `line 9: RightLeg has the channel "Wrotation"`},
		{"CHANNELS 3 Xrotation", "CHANNELS 3 Yrotation", "line 9: RightLeg has the channel Yrotation twice"},
		{"ROOT Hips", "ROOT", "line 2: a joint has no name"},
		{"JOINT Spine", "ROOT Spine", "line 20: a second ROOT"},
		{"JOINT Spine", "BONE Spine", `line 20: "BONE" where ROOT, JOINT`},
		{"MOTION", "}\r\nMOTION", "line 30: a } that closes nothing"},
		{"ROOT Hips\r\n{", "MOTION", "line 2: MOTION before"},
		{"Frame Time: 0.0333333", "Frame Time: -1", "line 32: Frame Time must be a positive"},
		{"Frame Time:", "FrameTime:", "line 32: \"FrameTime:\" where Frame should be"},
		{"1 90 4 10", "1 90 4 10 11", "line 34: frame 1 has 18 values; the 6 joints have 17 channels"},
		{"1 90 4 10", "1 90 4 NaN", "line 34: frame 1: value 3 is \"NaN\""},
		{legs[strings.Index(legs, "1 90 3"):], "", "there are no frames"},
		{legs[strings.Index(legs, "MOTION"):], "", "the file ends before MOTION"},
	} {
		if !strings.Contains(legs, x.old) {
			t.Fatalf("%q is not in the file", x.old)
		}
		_, err := ReadBVH(strings.NewReader(strings.Replace(legs, x.old, x.new, 1)), "bad.bvh", BVHConfig{})
		if err == nil || !strings.HasPrefix(err.Error(), "motions: bad.bvh: ") || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
	for want, cfg := range map[string]BVHConfig{"Up must be": {Up: "x"}, "must be finite and not negative": {Scale: -1}, "there are 3 frames": {Skip: 3}} {
		if _, err := ReadBVH(strings.NewReader(legs), "", cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Names that are there twice, and every order of rotations, are read.
func TestBVHRotationOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, order := range []string{"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"} {
		a, b, c := 360*rng.Float64(), 360*rng.Float64(), 360*rng.Float64()
		text := fmt.Sprintf("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 %crotation %crotation %crotation\nJOINT b\n{\nOFFSET 0 1 0\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nJOINT b\n{\nOFFSET 1 0 0\n}\n}\nMOTION\nFrames: 1\nFrame Time: 0.01\n%g %g %g\n",
			order[0], order[1], order[2], a, b, c)
		clip, err := ReadBVH(strings.NewReader(text), "", BVHConfig{Scale: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := quat{1, 0, 0, 0}
		for i, angle := range []float64{a, b, c} {
			var axis [3]float64
			axis[map[byte]int{'X': 1, 'Y': 2, 'Z': 0}[order[i]]] = 1 // x, y, z of the file become y, z, x
			want = want.mul(turnAbout(axis, angle*math.Pi/180))
		}
		if off := want.angleTo(quatOf(clip.Frame(0)[3:])); off > 1e-7 {
			t.Errorf("%s: %g rad off", order, off)
		}
		if s := clip.Skeleton(); s.Bodies[3].Name != "b_2" || len(s.Bodies[1].Joints) != 0 {
			t.Errorf("%+v", s.Bodies)
		}
	}
}

func FuzzReadBVH(f *testing.F) {
	f.Add([]byte(legs))
	f.Add([]byte(legs[:400]))
	f.Add([]byte(strings.ReplaceAll(legs, "\r\n", "\r")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadBVH(bytes.NewReader(data), "fuzz", BVHConfig{})
		if err != nil {
			return
		}
		c.State(c.Duration()/3, make([]float64, c.Width()), make([]float64, c.VelocityWidth()))
		Check(c)
	})
}

func ExampleReadBVH() {
	clip, err := ReadBVH(strings.NewReader(legs), "legs", BVHConfig{Scale: 0.01}) // centimetres
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %d frames, %.3f s, root %.2f m high\n", clip.Joints(), clip.NumFrames(), clip.Duration(), clip.Frame(0)[2])
	// Output: [RightLeg RightFoot Spine] 3 frames, 0.067 s, root 0.90 m high
}
