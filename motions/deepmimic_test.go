package motions

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// humanoidJSON is a clip of the 43-value humanoid with the given replacement for one number of frame 1.
func humanoidJSON(value int, text string) string {
	var frames []string
	for k := range 3 {
		var numbers []string
		d := humanoid3D()
		numbers = append(numbers, "0.1")
		for _, col := range d.Columns {
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

func TestBadDeepMimic(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{``, "not a JSON object"},
		{`[1,2]`, "not a JSON object"},
		{`{"Loop":"wrap"}`, `there is no "Frames"`},
		{`{"Frames":[]}`, `"Frames" is empty`},
		{`{"Frames":7}`, `"Frames" is not a list`},
		{`{"Frames":[[]]}`, "frame 0 is empty"},
		{`{"Frames":[[0.1]]}`, "frame 0 has a duration and no values"},
		{`{"Frames":[1]}`, "frame 0 is no list of numbers"},
		{`{"Frames":[[0.1,2,3],[0.1,2]]}`, "frame 1 has 2 values, frame 0 has 3"},
		{`{"Frames":[[0.1,2],[0.1,2,3]]}`, "frame 1 has 3 values, frame 0 has 2"},
		{`{"Frames":[[0.1,2],[0,2],[0,2]]}`, "frame 1: duration must be positive and finite, and is 0"},
		{`{"Frames":[[0.1,2],[-0.1,2],[0,2]]}`, "frame 1: duration must be positive and finite, and is -0.1"},
		{`{"Frames":[[0.1,2],[0.1,2],[-1,2]]}`, "frame 2: duration must be positive and finite, and is -1"},
		{`{"Frames":[[0.1,2],[NaN,2],[0.1,2]]}`, "frame 1: duration must be positive and finite, and is NaN"},
		{`{"Frames":[[0.1,2],[0.1,NaN]]}`, "frame 1: value 0 is NaN, not a finite number"},
		{`{"Frames":[[0.1,2],[0.1,-Infinity]]}`, "frame 1: value 0 is -Inf, not a finite number"},
		{`{"Frames":[[0.1,2],[0.1,1e999]]}`, "frame 1: value 0 is +Inf, not a finite number"},
		{`{"Frames":[[0.1,null]]}`, `frame 0: value 1: "null" is not a number`},
		{`{"Frames":[[0.1,"2"]]}`, "frame 0: value 1: malformed JSON at line 1"},
		{`{"Frames":[[0.1,0x2]]}`, `frame 0: value 1: "0x2" is not a number`},
		{`{"Frames":[[0.1,2,]]}`, "frame 0: value 2: malformed JSON at line 1"},
		{`{"Frames":[[0.1,2] [0.1,2]]}`, "after frame 0: malformed JSON"},
		{`{"Frames":[[0.1 2]]}`, "frame 0, after value 0: malformed JSON"},
		{"{\n\"Frames\":\n[[0.1,2],[0.1", "frame 1, after value 0: truncated at line 3"},
		{`{"Frames":[[0.1,2]],"Frames":[[0.1,2]]}`, `"Frames" is there twice`},
		{`{"Loop":"wrap","Loop":"none","Frames":[[0.1,2]]}`, `"Loop" is there twice`},
		{`{"Frames":[[0.1,2]]} x`, "where the end of the file should be"},
		{`{null:1}`, "where a key should be"},
		{`{"Loop":"wrap"`, "truncated at line 1"},
		{`{"Loop":"wr`, `"Loop": truncated`},
		{`{"Loop":"forever","Frames":[[0.1,2]]}`, `"Loop" is "forever"; it must be "wrap", "none" or "clamp"`},
		{`{"LoopMode":3,"Frames":[[0.1,2]]}`, `"LoopMode" is 3; it must be`},
		{`{"FrameDuration":0,"Frames":[[1,2]]}`, `"FrameDuration" must be a positive number, and is 0`},
		{`{"FrameDuration":null,"Frames":[[1,2]]}`, `"FrameDuration" must be a positive number, and is null`},
		{`{"MotionWeight":-1,"Frames":[[1,2]]}`, `"MotionWeight" must be a positive number, and is -1`},
		{`{"EnableCycleOffsetRotation":"no","Frames":[[1,2]]}`, `"EnableCycleOffsetRotation" must be true or false`},
		{humanoidJSON(30, "NaN"), "frame 1: right_elbow is NaN"},
		{humanoidJSON(8, "0"), "frame 1: chest is a zero quaternion"},
		{humanoidJSON(8, "30"), "frame 1: chest has length 30, so it is no rotation"},
		{humanoidJSON(5, "1e400"), "frame 1: root_rotation.x is +Inf"},
	} {
		if c.want == "frame 1: right_elbow is NaN" { // value 0 is the duration
			at, _, _ := humanoid3D().Find("right_elbow")
			c.data = humanoidJSON(1+at, "NaN")
		}
		_, err := ReadDeepMimic(strings.NewReader(c.data), "bad.txt")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "motions: bad.txt: ") {
			t.Errorf("%.60s\n got %v\nwant %s", c.data, err, c.want)
		}
	}
	if _, err := ReadDeepMimic(strings.NewReader(humanoidJSON(-1, "")), "good"); err != nil {
		t.Error(err)
	}
}

func TestErrorsNameThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "walk.txt")
	if err := os.WriteFile(path, []byte(`{"Frames":[[0.1,2,3],[0.1,2]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func(string) (*Clip, error){"Load": Load, "LoadDeepMimic": LoadDeepMimic} {
		if _, err := load(path); err == nil || err.Error() != "motions: "+path+": frame 1 has 2 values, frame 0 has 3" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := load(path + "x"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoopWords(t *testing.T) {
	for text, want := range map[string]Loop{
		`"Loop":"wrap",`: LoopWrap, `"Loop":"none",`: LoopNone, `"Loop":"clamp",`: LoopNone, `"LoopMode":"Wrap",`: LoopWrap,
		`"LoopMode":"Clamp",`: LoopNone, `"Loop":true,`: LoopWrap, `"Loop":false,`: LoopNone, ``: LoopNone,
	} {
		c, err := ReadDeepMimic(strings.NewReader(`{`+text+`"Frames":[[1,2],[0,3]]}`), "clip")
		if err != nil || c.Loop() != want || !c.Raw() {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

// TestDescriptionMapsJoints reads one file raw and with its character's description.
func TestDescriptionMapsJoints(t *testing.T) {
	raw, err := LoadDeepMimic("testdata/arm.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !raw.Raw() || raw.Width() != 12 || raw.VelocityWidth() != 12 || raw.Joints() != nil {
		t.Errorf("raw: %v %d %d %v", raw.Raw(), raw.Width(), raw.VelocityWidth(), raw.Joints())
	}
	d, err := LoadCharacter("testdata/arm_character.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := LoadDeepMimicAs("testdata/arm.txt", d)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Joints()); got != "[shoulder elbow]" || c.Raw() {
		t.Errorf("joints %s", got)
	}
	pos, vel := sampleAt(c, 0.4+0.25) // the second loop
	near(t, "root", pos[:3], 1.2+0.75, 1, -0.4-0.25)
	near(t, "shoulder", pos[7:11], about(0, 0, 1, 0.5)...)
	near(t, "elbow", pos[11:], 0.25)
	near(t, "shoulder's velocity", vel[6:9], 0, 0, 2)
	near(t, "root's velocity", vel[:3], 3, 0, -1)
	_, err = LoadDeepMimicAs("testdata/hop.txt", d)
	if err == nil || !strings.Contains(err.Error(), "frame 0 has 2 values, the description 12") {
		t.Error(err)
	}
}

// TestOffsetsCanBeOff: a clip whose loops start over at the same place.
func TestOffsetsCanBeOff(t *testing.T) {
	data, err := os.ReadFile("testdata/turn_left.txt")
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, []byte(": true"), []byte(": false"))
	c, err := ReadDeepMimic(bytes.NewReader(data), "still")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := sampleAt(c, 0.25)
	b, _ := sampleAt(c, 5.25)
	near(t, "fifth loop", b, a...)
}

func TestKnownSkeletonsByWidth(t *testing.T) {
	frame := func(w int) []float64 {
		f := make([]float64, w)
		for i := range f {
			f[i] = 0.1 * math.Sin(float64(i))
		}
		return f
	}
	if humanoid3D().Width() != 43 || quadrupedDescription(19).Width() != 19 || quadrupedDescription(61).Width() != 61 {
		t.Error("a built-in description has another width")
	}
	if guess(frame(43), false) != nil {
		t.Error("43 numbers that are no rotations were taken for the humanoid")
	}
	for _, w := range []int{19, 61} {
		f := frame(w)
		copy(f[3:], []float64{0, 0, 0.6, 0.8})
		if guess(f, true) == nil || guess(f, false) != nil {
			t.Errorf("width %d", w)
		}
	}
	c, err := LoadDeepMimic("testdata/turn_left.txt")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "w comes first", c.Frame(0)[3:7], 1, 0, 0, 0)
}

func TestBadCharacters(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{`, "unexpected end of JSON input"},
		{`{"Frames":[]}`, `there is no "Skeleton"`},
		{`{"Skeleton":{"Joints":[{"Type":"none","Parent":-1}]}}`, "joint 0 has no Name"},
		{`{"Skeleton":{"Joints":[{"Name":"root","Type":"none"}]}}`, "joint 0 (root): Parent must be"},
		{`{"Skeleton":{"Joints":[{"Name":"root","Type":"none","Parent":-1},{"Name":"a","Type":"revolute","Parent":2}]}}`, "joint 1 (a): Parent must be"},
		{`{"Skeleton":{"Joints":[{"Name":"root","Type":"none","Parent":-1},{"Name":"a","Type":"ball","Parent":0}]}}`, `joint 1 (a): unknown Type "ball"`},
		{`{"Skeleton":{"Joints":[{"Name":"root","Type":"none","Parent":-1},{"Name":"root_x","Type":"revolute","Parent":0}]}}`, `two columns are named "root_x"`},
		{`{"Skeleton":{"Joints":[{"Name":"root","Type":"fixed","Parent":-1}]}}`, "no joint moves"},
	} {
		if _, err := ReadCharacter(strings.NewReader(c.data), "man.txt"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "motions: man.txt: ") {
			t.Errorf("%s\n got %v\nwant %s", c.data, err, c.want)
		}
	}
	planar := `{"Skeleton":{"Joints":[{"Name":"root","Type":"planar","Parent":-1},{"Name":"rail","Type":"prismatic","Parent":0},{"Name":"p","Type":"planar","Parent":1}]}}`
	d, err := ReadCharacter(strings.NewReader(planar), "planar")
	if err != nil || fmt.Sprint(d.Columns) != "[{root_x travel} {root_y linear} {root_pitch linear} {rail linear} {p_x linear} {p_y linear} {p hinge}]" {
		t.Errorf("%v, %v", d, err)
	}
}

func TestLoadTellsCharactersFromClips(t *testing.T) {
	if _, err := Load("testdata/arm_character.txt"); !errors.Is(err, ErrCharacter) || !strings.Contains(err.Error(), "arm_character.txt") {
		t.Error(err)
	}
	if _, err := Load("testdata/README.md"); err == nil || !strings.Contains(err.Error(), "README.md: not a clip: neither JSON (DeepMimic)") {
		t.Error(err)
	}
}

func FuzzReadDeepMimic(f *testing.F) {
	for _, name := range []string{"arm.txt", "hop.txt", "turn_left.txt", "arm_character.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(humanoidJSON(-1, "")))
	f.Add([]byte(`{"Frames":[[0.1,NaN],[0,1e308]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ReadCharacter(bytes.NewReader(data), "fuzz")
		c, err := ReadDeepMimic(bytes.NewReader(data), "fuzz")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "motions: fuzz: ") {
				t.Errorf("error without a name: %v", err)
			}
			return
		}
		pos, vel := make([]float64, c.Width()), make([]float64, c.VelocityWidth())
		for _, at := range []float64{-1, 0, c.Duration() / 3, c.Duration(), 100} {
			c.At(at, pos, vel)
		}
	})
}

func ExampleReadDeepMimic() {
	file := `{"Loop": "none", "Frames": [[0.5, 1.0, 20], [0.5, 2.0, 20], [0, 2.0, 40]]}`
	clip, err := ReadDeepMimic(strings.NewReader(file), "hop")
	if err != nil {
		fmt.Println(err)
		return
	}
	pos := make([]float64, clip.Width())
	clip.At(0.75, pos, nil)
	fmt.Println(clip.Raw(), clip.NumFrames(), clip.Duration(), pos)
	// Output: true 3 1 [2 30]
}

func ExampleReadDeepMimicAs() {
	file := `{"Loop": "wrap", "Frames": [[0.5, 1.0, 0.2], [0, 2.0, 0.2]]}`
	d := &Description{Columns: []Column{{Name: "x", Kind: Travel}, {Name: "knee", Kind: Hinge}}}
	clip, err := ReadDeepMimicAs(strings.NewReader(file), "slide", d)
	if err != nil {
		fmt.Println(err)
		return
	}
	pos := make([]float64, clip.Width())
	clip.At(2, pos, nil)
	fmt.Println(clip.Joints(), pos)
	// Output: [knee] [5 0.2]
}

func ExampleLoadDeepMimic() {
	clip, err := LoadDeepMimic("testdata/turn_left.txt")
	fmt.Println(clip.Name(), clip.Loop(), clip.Weight(), len(clip.Joints()), err)
	// Output: turn_left wrap 0.5 12 <nil>
}

func ExampleLoadDeepMimicAs() {
	character, err := LoadCharacter("testdata/arm_character.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	clip, err := LoadDeepMimicAs("testdata/arm.txt", character)
	if err != nil {
		fmt.Println(err)
		return
	}
	position, velocity, _ := clip.Description().Find("shoulder")
	fmt.Println(clip.Joints(), clip.Width(), clip.VelocityWidth(), position, velocity)
	// Output: [shoulder elbow] 12 10 7 6
}

func ExampleReadCharacter() {
	file := `{"Skeleton": {"Joints": [
		{"Name": "root", "Type": "none", "Parent": -1},
		{"Name": "neck", "Type": "spherical", "Parent": 0},
		{"Name": "jaw", "Type": "revolute", "Parent": 1}]}}`
	d, err := ReadCharacter(strings.NewReader(file), "head")
	fmt.Println(d.Width(), d.VelocityWidth(), d.Columns, err)
	// Output: 12 10 [{root_x travel} {root_y linear} {root_z travel} {root_rotation rotation} {neck rotation} {jaw hinge}] <nil>
}

func ExampleLoadCharacter() {
	d, err := LoadCharacter("testdata/arm_character.txt")
	fmt.Println(d.Width(), err)
	// Output: 12 <nil>
}
