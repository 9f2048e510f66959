package motions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

func npzOf(t testing.TB, arrays ...*npz.Array) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := npz.Write(&out, arrays...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// amassFile is a person who stands upright, turned left by a quarter, with the left knee bent by 1 rad.
func amassFile(t testing.TB) []*npz.Array {
	t.Helper()
	const n = 4
	poses, trans := make([]float64, n*156), make([]float64, n*3)
	for k := range n {
		// y up becomes z up, then half a turn about z (SMPL faces −y then), to face y: a quarter left of x.
		up := turnAbout([3]float64{0, 0, 1}, math.Pi).mul(turnAbout([3]float64{1, 0, 0}, math.Pi/2))
		v := logarithm(up)
		copy(poses[k*156:], v[:])
		poses[k*156+3*4] = 1 // left knee, about SMPL's x: the shin goes back
		trans[3*k+1], trans[3*k+2] = 0.1*float64(k), 0.9
	}
	return []*npz.Array{npz.New("poses", poses, n, 156), npz.New("trans", trans, n, 3), npz.New("mocap_framerate", []float64{120}),
		npz.NewBytes("gender", "|S6", []byte("female")), npz.New("betas", make([]float64, 16), 16)}
}

func TestAMASS(t *testing.T) {
	data := npzOf(t, amassFile(t)...)
	c, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "person")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Duration()-3./120) > 1e-9 || len(c.Joints()) != 21 {
		t.Fatalf("%g s, %v", c.Duration(), c.Joints())
	}
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(c.Frame(1), positions, nil)
	for name, want := range map[string][3]float64{
		"pelvis": {0, 0.1, 0.9}, "head": {0, 0.1, 0.9 + .118 + .118 + .05 + .174 + .09}, "left_wrist": {-(.06 + .123 + .2748 + .2589), 0.1 - .024, 0.9 + .286 + .193},
		"left_ankle":  {-.085, 0.1 - .4099*math.Sin(1), 0.9 - .4215 - .4099*math.Cos(1)}, // behind
		"right_ankle": {.085, 0.1, 0.9 - .4215 - .4099}, "right_foot": {.085, 0.1 + .09, 0.9 - .4215 - .4099 - .035},
	} {
		i := s.Body(name)
		near(t, name, positions[3*i:3*i+3], want[:]...)
	}
	for want, change := range map[string]func([]*npz.Array) []*npz.Array{
		"missing array trans": func(a []*npz.Array) []*npz.Array { return append(a[:1:1], a[2:]...) },
		"poses has shape [4 3]": func(a []*npz.Array) []*npz.Array {
			a[0] = npz.New("poses", make([]float64, 12), 4, 3)
			return a
		},
		"trans has shape [3 3], want [4 3]": func(a []*npz.Array) []*npz.Array {
			a[1] = npz.New("trans", make([]float64, 9), 3, 3)
			return a
		},
		"there is no mocap_framerate": func(a []*npz.Array) []*npz.Array { return append(a[:2:2], a[3:]...) },
		"mocap_framerate must be positive": func(a []*npz.Array) []*npz.Array {
			a[2] = npz.New("mocap_framerate", []float64{-1})
			return a
		},
		"frame 0: value 7 of poses and trans is +Inf": func(a []*npz.Array) []*npz.Array {
			v, _ := a[0].Float64s()
			v[7] = math.Inf(1)
			a[0] = npz.New("poses", v, 4, 156)
			return a
		},
	} {
		data := npzOf(t, change(amassFile(t))...)
		if _, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "bad"); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// What Python would have to run is refused.
	header := "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n"
	object := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	object = append(append(object, header...), "\x80\x04."...)
	if _, err := ReadAMASS(bytes.NewReader(object), int64(len(object)), "objects"); err == nil || !strings.Contains(err.Error(), "Python objects") {
		t.Errorf("%v", err)
	}
}

func FuzzReadAMASS(f *testing.F) {
	f.Add(npzOf(f, amassFile(f)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "fuzz"); err == nil {
			Check(c)
		}
	})
}

func TestCSV(t *testing.T) {
	text := "0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\r\n"
	c, err := ReadCSV(strings.NewReader(text), "rows", CSVConfig{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "frame", c.Frame(1), 0.1, 0, 0.8, 0.8, 0, 0, 0.6, 0.2)
	if math.Abs(c.Duration()-1./30) > 1e-12 || fmt.Sprint(c.Joints()) != "[joint_0]" {
		t.Error(c.Duration(), c.Joints())
	}
	c, err = ReadCSV(strings.NewReader("x, y, z, qw, qx, qy, qz, knee\n"+text), "rows", CSVConfig{Rate: 50, WFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "w first", c.Frame(0), 0, 0, 0.8, 0, 0, 0.6, 0.8, 0.1)
	if math.Abs(c.Duration()-1./50) > 1e-12 || fmt.Sprint(c.Joints()) != "[knee]" {
		t.Error(c.Duration(), c.Joints())
	}
	one := &Skeleton{Name: "one", Bodies: []Body{{Name: "a", Parent: -1}, {Name: "b", Parent: 0, Joints: []Joint{{Name: "knee", Kind: Hinge, Axis: [3]float64{0, 1, 0}}}}}}
	c, err = ReadCSV(strings.NewReader(text), "rows", CSVConfig{Skeleton: one, Loop: LoopWrap})
	if err != nil || c.Skeleton().Name != "one" || c.Loop() != LoopWrap {
		t.Fatal(err)
	}
	near(t, "on a skeleton", c.Frame(0), 0, 0, 0.8, 0.8, 0, 0, 0.6, 0.1)
	for _, x := range []struct {
		text, want string
		cfg        CSVConfig
	}{
		{"", "there are no rows of numbers", CSVConfig{}},
		{"a,b\nc,d\n", `line 2: column 1 is "c"`, CSVConfig{}},
		{"1,2,3\n", "line 1: it has 3 columns; want the root's position", CSVConfig{}},
		{text + "\n\n1,2,3,4,5,6,7\n", "line 5: it has 7 columns, the first row 8", CSVConfig{}},
		{"h\n" + text, "line 2: it has 8 columns, the header 1", CSVConfig{}},
		{strings.Replace(text, "0.2", "NaN", 1), `line 2: column 8 is "NaN"`, CSVConfig{}},
		{strings.Replace(text, "0.6,0.8,0.2", "0,0,0.2", 1), "frame 1: root_rotation is a zero quaternion", CSVConfig{}},
		{text, "CSVConfig.Rate must be positive", CSVConfig{Rate: -1}},
		{text, "there are 8 columns; the skeleton humanoid has 35 positions", CSVConfig{Skeleton: HumanoidSkeleton()}},
		{"1,\"2\n", "", CSVConfig{}},
	} {
		if _, err := ReadCSV(strings.NewReader(x.text), "bad", x.cfg); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\r\n"))
	f.Add([]byte("a,b,c,d,e,f,g\n1,2,3,4,5,6,7\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadCSV(bytes.NewReader(data), "fuzz", CSVConfig{}); err == nil {
			Check(c)
		}
	})
}

// pickled writes a value as Python's pickle of protocol 4 does.
func pickled(v any) []byte {
	var put func(out []byte, v any) []byte
	put = func(out []byte, v any) []byte {
		switch v := v.(type) {
		case float64:
			return binary.BigEndian.AppendUint64(append(out, 'G'), math.Float64bits(v))
		case int:
			return append(out, 'K', byte(v))
		case string:
			return append(append(out, 0x8c, byte(len(v))), v...)
		case []float64:
			out = append(out, ']', '(')
			for _, x := range v {
				out = put(out, x)
			}
			return append(out, 'e')
		case [][]float64:
			out = append(out, ']', '(')
			for _, x := range v {
				out = put(out, x)
			}
			return append(out, 'e')
		case map[string]any:
			out = append(out, '}', '(')
			for k, x := range v {
				out = put(put(out, k), x)
			}
			return append(out, 'u')
		}
		panic(fmt.Sprintf("%T", v))
	}
	return append(put([]byte{0x80, 4}, v), '.')
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
	data := pickled(map[string]any{"loop_mode": 1, "fps": 30, "frames": frames})
	c, err := ReadMimicKit(bytes.NewReader(data), "m", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.NumFrames() != 3 || c.Loop() != LoopWrap || math.Abs(c.Duration()-2./30) > 1e-12 || c.Skeleton() == nil {
		t.Fatalf("%d frames, %v, %g s", c.NumFrames(), c.Loop(), c.Duration())
	}
	f := c.Frame(1)
	for i, at := range []int{3, 6, 9, 12} { // root, abdomen, neck, right shoulder, each a map of three
		if off := quatOf(f[3+4*i:]).angleTo(exponential(frames[1][at:])); off > 1e-9 {
			t.Errorf("rotation %d is %g rad off", i, off)
		}
	}
	near(t, "right elbow", f[19:20], frames[1][15])
	// The same as hinges of another skeleton, and as nameless hinges.
	c, err = ReadMimicKit(bytes.NewReader(data), "m", HumanoidSkeleton())
	if err != nil {
		t.Fatal(err)
	}
	if off := hingeRotation(c.Frame(2)[13:]).angleTo(exponential(frames[2][12:])); off > 1e-9 {
		t.Errorf("shoulder: %g rad off", off)
	}
	seven := pickled(map[string]any{"loop_mode": 0, "fps": 30.0, "frames": [][]float64{{1, 2, 3, 0, 0, 0, 0.5}}})
	c, err = ReadMimicKit(bytes.NewReader(seven), "m", nil)
	if err != nil || fmt.Sprint(c.Joints(), c.Frame(0)) != "[joint_0] [1 2 3 1 0 0 0 0.5]" {
		t.Errorf("%v", err)
	}
	for want, v := range map[string]any{
		"the pickle is no dictionary":                                   frames,
		"fps must be a positive number, and is <nil>":                   map[string]any{"frames": frames},
		"fps must be a positive number, and is 0":                       map[string]any{"fps": 0, "frames": frames},
		"loop_mode must be 0 or 1, and is 2":                            map[string]any{"fps": 1, "loop_mode": 2, "frames": frames},
		"frames must be a list":                                         map[string]any{"fps": 1, "frames": 3},
		"frame 1 must be a list of numbers as long as frame 0":          map[string]any{"fps": 1, "frames": [][]float64{{1, 2, 3, 4, 5, 6}, {1, 2}}},
		"frame 0: value 2 is NaN":                                       map[string]any{"fps": 1, "frames": [][]float64{{1, 2, math.NaN(), 4, 5, 6}}},
		"MimicKit's pickle: torchfile: the file is damaged":             "",
		"MimicKit's pickle: torchfile: the file is refused: its pickle": nil,
	} {
		var data []byte
		switch v {
		case "":
			data = pickled(map[string]any{"fps": 1})[:4]
		case nil:
			data = []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
		default:
			data = pickled(v)
		}
		if _, err := ReadMimicKit(bytes.NewReader(data), "bad", nil); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ReadMimicKit(bytes.NewReader(data), "bad", QuadrupedSkeleton()); err == nil || !strings.Contains(err.Error(), "frames have 34 numbers; those of the skeleton quadruped have 18") {
		t.Error(err)
	}
}

func FuzzReadMimicKit(f *testing.F) {
	f.Add(pickled(map[string]any{"loop_mode": 1, "fps": 30, "frames": mimicKitFrames()}))
	f.Add(pickled(map[string]any{"fps": 30.0, "frames": [][]float64{{1, 2, 3, 0, 0, 0, 0.5}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadMimicKit(bytes.NewReader(data), "fuzz", nil); err == nil {
			Check(c)
		}
	})
}

// Every format is known by its content.
func TestLoadKnowsFormats(t *testing.T) {
	walk := stroll(t, 10)
	var own bytes.Buffer
	if err := walk.Save(&own, "made up"); err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string][]byte{
		"legs": []byte(legs), "amass": npzOf(t, amassFile(t)...), "rows": []byte("a,b,c,d,e,f,g,h\n0,0,0.8,0,0,0.6,0.8,0.1\n"),
		"mimickit": pickled(map[string]any{"fps": 30, "frames": mimicKitFrames()}), "own": own.Bytes(),
	} {
		path := filepath.Join(t.TempDir(), want+".dat")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		if err != nil || c.Name() != want {
			t.Errorf("%s: %v", want, err)
		}
		for name, direct := range map[string]func() (*Clip, error){
			"legs": func() (*Clip, error) { return LoadBVH(path, BVHConfig{}) }, "amass": func() (*Clip, error) { return LoadAMASS(path) },
			"rows": func() (*Clip, error) { return LoadCSV(path, CSVConfig{}) }, "mimickit": func() (*Clip, error) { return LoadMimicKit(path, nil) },
		} {
			d, err := direct()
			if (err == nil) != (name == want) || (err == nil && d.Width() != c.Width()) {
				t.Errorf("%s read as %s: %v", want, name, err)
			}
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the path: %v", err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("not a clip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "not a clip: neither JSON") {
		t.Error(err)
	}
}

// A saved clip is the clip, to float32.
func TestSave(t *testing.T) {
	walk := stroll(t, 40)
	trot, err := Trot(TrotConfig{Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := NewClip(ClipConfig{Name: "closed", Loop: LoopWrap, Skeleton: QuadrupedSkeleton(), Frames: trot.rows()[:20], Durations: trot.durations()[:20]})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Clip{walk, trot, closed} {
		var file bytes.Buffer
		if err := c.Save(&file, "who made it"); err != nil {
			t.Fatal(err)
		}
		back, err := load(file.Bytes(), c.Name(), c.Name())
		if err != nil {
			t.Fatal(err)
		}
		sameMotion(t, back, c, 1e-6)
		if back.Loop() != c.Loop() || back.Skeleton().Name != c.Skeleton().Name {
			t.Errorf("%s: %v, %s", c.Name(), back.Loop(), back.Skeleton().Name)
		}
	}
	uneven, err := NewClip(ClipConfig{Skeleton: QuadrupedSkeleton(), Frames: trot.rows()[:3], Durations: []float64{.1, .2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]*Clip{"evenly apart": uneven, "only clips on HumanoidSkeleton": spin(t, LoopNone)} {
		if err := c.Save(&bytes.Buffer{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	good := map[string]*npz.Array{"qpos": npz.New("qpos", make([]float32, 19), 1, 19), "fps": npz.New("fps", []float64{30}), "duration": npz.New("duration", []float64{1}),
		"loop": npz.NewString("loop", []string{"wrap"}), "skeleton": npz.NewString("skeleton", []string{"quadruped"})}
	for want, change := range map[string]*npz.Array{
		"missing array joints":                npz.New("other", []float64{1}),
		"skeleton must be a word":             npz.New("skeleton", []float64{1}),
		`the skeleton "dog" is not known`:     npz.NewString("skeleton", []string{"dog"}),
		"qpos has shape [19], want":           npz.New("qpos", make([]float32, 19), 19),
		"the joints are [a]; the skeleton":    npz.NewString("joints", []string{"a"}, 1),
		"fps must be positive":                npz.New("fps", []float64{0}),
		`loop is "circle"; want none or wrap`: npz.NewString("loop", []string{"circle"}),
	} {
		var joints []string
		for _, j := range QuadrupedSkeleton().Joints() {
			joints = append(joints, j.Name)
		}
		arrays := []*npz.Array{change}
		for name, a := range good {
			if name != change.Name {
				arrays = append(arrays, a)
			}
		}
		if change.Name != "joints" && change.Name != "other" {
			arrays = append(arrays, npz.NewString("joints", joints, 12))
		}
		if _, err := load(npzOf(t, arrays...), "bad", "bad"); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	trot, err := Trot(TrotConfig{})
	if err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if err := trot.Save(&file, ""); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := load(data, "fuzz", "fuzz"); err == nil {
			Check(c)
		}
	})
}

func ExampleReadAMASS() {
	const frames = 2
	var file bytes.Buffer
	if err := npz.Write(&file, npz.New("poses", make([]float64, frames*156), frames, 156), npz.New("trans", []float64{0, 0, 0.9, 0.1, 0, 0.9}, frames, 3),
		npz.New("mocap_framerate", []float64{120})); err != nil {
		fmt.Println(err)
		return
	}
	clip, err := ReadAMASS(bytes.NewReader(file.Bytes()), int64(file.Len()), "person")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d frames, %d joints, %.1f m/s\n", clip.NumFrames(), len(clip.Joints()), clip.FrameVelocity(0)[0])
	// Output: 2 frames, 21 joints, 12.0 m/s
}

func ExampleReadCSV() {
	clip, err := ReadCSV(strings.NewReader("0,0,0.8,0,0,0,1,0.1\n0.1,0,0.8,0,0,0,1,0.2\n"), "rows", CSVConfig{Rate: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clip.Joints(), clip.Duration(), clip.Frame(1))
	// Output: [joint_0] 0.02 [0.1 0 0.8 1 0 0 0 0.2]
}

func ExampleReadMimicKit() {
	file := pickled(map[string]any{"fps": 30, "loop_mode": 0, "frames": [][]float64{{0, 0, 0.9, 0, 0, 0, 0.5}, {0.1, 0, 0.9, 0, 0, 0, 0.6}}})
	clip, err := ReadMimicKit(bytes.NewReader(file), "step", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clip.NumFrames(), clip.Joints(), clip.Frame(1))
	// Output: 2 [joint_0] [0.1 0 0.9 1 0 0 0 0.6]
}
