package motions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// npzOf returns the bytes of an npz file. Later arrays replace earlier ones of the same name; one without data removes
// it.
func npzOf(t testing.TB, arrays ...*npz.Array) []byte {
	t.Helper()
	last := map[string]*npz.Array{}
	for _, a := range arrays {
		last[a.Name] = a
		if a.DType == "" {
			delete(last, a.Name)
		}
	}
	var out bytes.Buffer
	must.Do(t, npz.Write(&out, slices.Collect(maps.Values(last))...))
	return out.Bytes()
}

// pickled returns Python's pickle of protocol 4 of a value.
func pickled(v any) []byte {
	var put func(out []byte, v any) []byte
	list := func(out []byte, n int, at func(int) any) []byte {
		out = append(out, ']', '(')
		for i := range n {
			out = put(out, at(i))
		}
		return append(out, 'e')
	}
	put = func(out []byte, v any) []byte {
		switch v := v.(type) {
		case float64:
			return binary.BigEndian.AppendUint64(append(out, 'G'), math.Float64bits(v))
		case int:
			return append(out, 'K', byte(v))
		case string:
			return append(append(out, 0x8c, byte(len(v))), v...)
		case []float64:
			return list(out, len(v), func(i int) any { return v[i] })
		case [][]float64:
			return list(out, len(v), func(i int) any { return v[i] })
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

// samples returns a small file of every format, by the format's name.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	trot := must.Get(Trot(1))(t)
	var saved bytes.Buffer
	must.Do(t, trot.Save(&saved, "made up"))
	return map[string][]byte{
		"bvh": []byte(legs), "amass": npzOf(t, amassArrays()...), "saved": saved.Bytes(),
		"csv":      []byte("a,b,c,d,e,f,g,h\n0,0,0.8,0,0,0.6,0.8,0.1\n"),
		"mimickit": pickled(map[string]any{"fps": 30, "frames": mimicKitFrames()}),
		"isaaclab": must.Read(t, "testdata/tiny.npz"), "deepmimic": []byte(humanoidJSON(-1, "")),
	}
}

// The content decides the format, and the clip is named after the file. Errors name the path.
func TestLoadKnowsFormats(t *testing.T) {
	widths := map[string]int{"bvh": 19, "amass": 7 + 4*21, "csv": 8, "mimickit": 43, "saved": 19, "isaaclab": 16,
		"deepmimic": 43}
	for format, data := range samples(t) {
		path := filepath.Join(t.TempDir(), format+".dat")
		must.Do(t, os.WriteFile(path, data, 0o600))
		c := must.Get(Load(path))(t)
		must.Not(t, c.Name() != format || c.Width() != widths[format], "%s: %s, %d values", format, c.Name(), c.Width())
		must.Do(t, os.WriteFile(path, data[:len(data)*2/3], 0o600))
		if _, err := Load(path); format != "csv" {
			must.Refuse(t, err, "motions: "+path+": ", "")
		}
	}
	must.Refused(Load("testdata/README.md"))(t, "motions: testdata/README.md: ", "not a clip")
	must.Refused(LoadBVH("testdata/tiny.npz", BVHConfig{}))(t, "motions: testdata/tiny.npz: ", "line 1")
	must.Refused(LoadCSV("testdata/tiny.npz", CSVConfig{}))(t, "motions: testdata/tiny.npz: ", "line 2")
}

// An error of a damaged file names the line or frame, or the array, and the value.
func TestLoadRefuses(t *testing.T) {
	replace := func(text, old, new string) []byte {
		must.Not(t, !strings.Contains(text, old), "%q is not in the file", old)
		return []byte(strings.Replace(text, old, new, 1))
	}
	bvh := func(old, new string) []byte { return replace(legs, old, new) }
	rows := "0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\n"
	frames := mimicKitFrames()
	mimicKit := func(key string, value any) []byte {
		return pickled(map[string]any{"fps": 1, "loop_mode": 0, "frames": frames, key: value})
	}
	array := func(name string, value float64, shape ...int) *npz.Array {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return npz.New(name, slices.Repeat([]float64{value}, n), shape...)
	}
	none := func(name string) *npz.Array { return &npz.Array{Name: name} }
	amass := func(a *npz.Array) []byte { return npzOf(t, append(amassArrays(), a)...) }
	tiny := slices.Collect(maps.Values(must.Get(npz.Open("testdata/tiny.npz"))(t).Arrays))
	isaac := func(a *npz.Array) []byte { return npzOf(t, append(tiny, a)...) }
	joints := []string{}
	for _, j := range QuadrupedSkeleton().Joints() {
		joints = append(joints, j.Name)
	}
	saved := func(a *npz.Array) []byte {
		return npzOf(t, array("qpos", 0.5, 1, 19), array("fps", 30), array("duration", 1),
			npz.NewString("loop", []string{"wrap"}), npz.NewString("skeleton",
				[]string{"quadruped"}), npz.NewString("joints", joints, 12), a)
	}
	for _, x := range []struct {
		data []byte
		want string
	}{
		{[]byte(`{"Loop":"wrap"}`), `no list "Frames"`},
		{[]byte(`{"Frames":[[0.1,2,3],[0.1,2]]}`), "frame 1 has 2 values"},
		{[]byte(`{"Frames":[[0.1,null]]}`), "frame 0: value 1 is null"},
		{[]byte("{\n\"Frames\":\n[[0.1,2],[0.1"), "line 3"},
		{[]byte(`{"FrameDuration":0,"Frames":[[1,2]]}`), `"FrameDuration"`},
		{[]byte(`{"Skeleton":{"Joints":[]}}`), "a character's description"},
		{[]byte(humanoidJSON(8, "0")), "frame 1: chest is a zero quaternion"},
		{bvh("OFFSET -10 -40 0", "OFFSET -10 left 0"), `line 8: OFFSET is "left"`},
		{bvh("CHANNELS 3 Xrotation", "CHANNELS 3 Wrotation"), `line 9: RightLeg has the channel "Wrotation"`},
		{bvh("ROOT Hips", "ROOT"), "line 2: a joint has no name"},
		{bvh("Frame Time: 0.0333333", "Frame Time: -1"), "line 32: Frame Time"},
		{bvh("1 90 4 10", "1 90 4 10 11"), "line 34: frame 1 has 18 values"},
		{[]byte("a,b,c,d,e,f,g,h\n1,d,e,f,g,h,i,j\n"), `row 1 of numbers: column 2 is "d"`},
		{[]byte(rows + "\n\n1,2,3,4,5,6,7\n"), "line 5"},
		{pickled(frames), "no dictionary"},
		{mimicKit("fps", 0), "fps must be a positive number, and is 0"},
		{mimicKit("frames", [][]float64{{1, 2, math.NaN(), 4, 5, 6}}), "frame 0: value 2 is NaN"},
		{[]byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."), "the file is refused"},
		{amass(array("trans", 0, 3, 3)), "poses has shape [4 156]"},
		{amass(none("mocap_framerate")), "missing array mocap_framerate"},
		{isaac(array("fps", 0)), "fps must be positive and finite, and is 0"},
		{isaac(npz.NewString("dof_names", []string{"a", "a"}, 2)), `two columns are named "a"`},
		{isaac(array("dof_velocities", 0, 3, 2)), "dof_velocities has shape [3 2], want [6 2]"},
		{isaac(none("body_angular_velocities")), "missing array body_angular_velocities"},
		{saved(none("joints")), "missing array joints"},
		{saved(npz.NewString("skeleton", []string{"dog"})), `"dog"`},
		{saved(npz.NewString("joints", []string{"a"}, 1)), "the joints are [a]"},
	} {
		must.Refused(parse(x.data, "bad"))(t, "", x.want)
	}
	must.Refused(parseBVH([]byte(legs), "", BVHConfig{Up: "x"}))(t, "BVHConfig.Up")
	must.Refused(parseCSV([]byte(rows), "", CSVConfig{Rate: -1}))(t, "CSVConfig.Rate", "-1")
}

func FuzzLoad(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	for _, name := range []string{"arm.txt", "hop.txt", "turn_left.txt"} {
		f.Add(must.Read(f, "testdata/"+name))
	}
	f.Add([]byte(strings.ReplaceAll(legs, "\r\n", "\r")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data, "fuzz")
		if err != nil {
			return
		}
		pos, vel := make([]float64, c.Width()), make([]float64, c.VelocityWidth())
		for _, at := range []float64{-1, 0, c.Duration() / 3, c.Duration(), 100} {
			c.At(at, pos, vel)
		}
		Check(c)
	})
}
