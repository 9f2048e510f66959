package motions

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

// isaacArrays is a good clip of 4 frames, 2 degrees of freedom and 3 bodies.
func isaacArrays() map[string]*npz.Array {
	const n, d, b = 4, 2, 3
	zeros := func(w int) []float32 { return make([]float32, n*w) }
	rotations := zeros(4 * b)
	for i := 0; i < len(rotations); i += 4 {
		rotations[i] = 1
	}
	m := map[string]*npz.Array{}
	for _, a := range []*npz.Array{
		npz.New("fps", []int64{50}), npz.NewString("dof_names", []string{"hip", "knee"}, d), npz.NewString("body_names", []string{"pelvis", "thigh", "shin"}, b),
		npz.New("dof_positions", zeros(d), n, d), npz.New("dof_velocities", zeros(d), n, d),
		npz.New("body_positions", zeros(3*b), n, b, 3), npz.New("body_rotations", rotations, n, b, 4),
		npz.New("body_linear_velocities", zeros(3*b), n, b, 3), npz.New("body_angular_velocities", zeros(3*b), n, b, 3),
	} {
		m[a.Name] = a
	}
	return m
}

func isaacFile(t *testing.T, m map[string]*npz.Array) *bytes.Reader {
	t.Helper()
	var arrays []*npz.Array
	for _, a := range m {
		arrays = append(arrays, a)
	}
	var out bytes.Buffer
	if err := npz.Write(&out, arrays...); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func TestBadIsaacLab(t *testing.T) {
	f32 := func(name string, change func([]float32) []float32, shape ...int) *npz.Array {
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = 0.5
		}
		if change != nil {
			values = change(values)
		}
		return npz.New(name, values, shape...)
	}
	set := func(i int, x float64) func([]float32) []float32 {
		return func(v []float32) []float32 { v[i] = float32(x); return v }
	}
	zeroAt := func(i int) func([]float32) []float32 {
		return func(v []float32) []float32 { copy(v[i:i+4], []float32{0, 0, 0, 0}); return v }
	}
	for _, c := range []struct {
		replace *npz.Array
		want    string
	}{
		{npz.New("fps", []int64{0}), "fps must be positive and finite, and is 0"},
		{npz.New("fps", []float64{math.NaN()}), "fps must be positive and finite, and is NaN"},
		{npz.New("fps", []float64{30, 30}, 2), "fps has shape [2], want a single number"},
		{npz.NewString("fps", []string{"fast"}), "array fps holds no numbers"},
		{npz.New("dof_names", []int64{1, 2}, 2), "dof_names must hold strings, and has dtype <i8"},
		{npz.NewString("dof_names", []string{"a", "a"}, 2), `two columns are named "a"`},
		{npz.NewString("dof_names", []string{"a", ""}, 2), "column 1 has no name"},
		{npz.NewString("body_names", []string{"a", "b"}, 1, 2), "body_names has shape [1 2], want a list of names"},
		{npz.NewString("body_names", nil, 0), "body_names has shape [0], want a list of names"},
		{npz.NewString("dof_names", []string{"a", "b", "c"}, 3), "dof_positions has shape [4 2], want [4 3] (3 dof_names, 3 body_names)"},
		{f32("dof_positions", nil, 4), "dof_positions has shape [4], want (frames, 2)"},
		{f32("dof_positions", nil, 0, 2), "dof_positions has shape [0 2], want (frames, 2)"},
		{f32("dof_velocities", nil, 3, 2), "dof_velocities has shape [3 2], want [4 2]"},
		{f32("body_positions", nil, 4, 3, 4), "body_positions has shape [4 3 4], want [4 3 3]"},
		{f32("body_rotations", nil, 4, 3, 3), "body_rotations has shape [4 3 3], want [4 3 4]"},
		{f32("dof_positions", set(5, math.NaN()), 4, 2), "frame 2: dof_positions of knee is NaN"},
		{f32("dof_velocities", set(6, math.Inf(1)), 4, 2), "frame 3: dof_velocities of hip is +Inf"},
		{f32("body_linear_velocities", set(9+5, math.NaN()), 4, 3, 3), "frame 1: body_linear_velocities of thigh is NaN"},
		{f32("body_rotations", set(12+11, math.Inf(-1)), 4, 3, 4), "frame 1: body_rotations of shin is -Inf"},
		{f32("body_rotations", zeroAt(24+4), 4, 3, 4), "frame 2: thigh/rotation is a zero quaternion"},
	} {
		m := isaacArrays()
		m[c.replace.Name] = c.replace
		r := isaacFile(t, m)
		if _, err := ReadIsaacLab(r, r.Size(), "bad.npz"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "motions: bad.npz: ") {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
	for name := range isaacArrays() {
		m := isaacArrays()
		delete(m, name)
		r := isaacFile(t, m)
		if _, err := ReadIsaacLab(r, r.Size(), "bad.npz"); err == nil || !strings.Contains(err.Error(), "missing array "+name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestIsaacLabColumns(t *testing.T) {
	c, err := LoadIsaacLab("testdata/tiny.npz")
	if err != nil {
		t.Fatal(err)
	}
	if c.NumFrames() != 6 || math.Abs(c.Duration()-5./30) > 1e-12 || c.Loop() != LoopNone || c.Raw() {
		t.Errorf("%d frames, %v s, %v", c.NumFrames(), c.Duration(), c.Loop())
	}
	if fmt.Sprint(c.Joints(), c.Bodies()) != "[waist left_knee] [pelvis foot]" {
		t.Error(c.Joints(), c.Bodies())
	}
	pos, vel := sampleAt(c, 0.05)
	d := c.Description()
	for name, want := range map[string][2]float64{"waist": {0.05, 1}, "pelvis/x": {0.05, 1}, "foot/x": {0.1, 2}, "pelvis/z": {1, 0}} {
		p, v, ok := d.Find(name)
		if !ok || math.Abs(pos[p]-want[0]) > 1e-6 || math.Abs(vel[v]-want[1]) > 1e-6 {
			t.Errorf("%s: %v, %v, %v", name, pos[p], vel[v], ok)
		}
	}
	p, v, _ := d.Find("foot/rotation")
	near(t, "rotation", append(pos[p:p+4:p+4], vel[v:v+3]...), 1, 0, 0, 0, 0, 0, 0)
	if len(c.ArrayNames()) != 7 {
		t.Error(c.ArrayNames())
	}
	if values, shape, ok := c.Array("body_positions"); !ok || fmt.Sprint(shape) != "[6 2 3]" || len(values) != 36 {
		t.Error(shape, ok)
	}
	if values, _, ok := c.Array("fps"); !ok || values[0] != 30 {
		t.Error(values)
	}
	if _, _, ok := c.Array("dof_names"); ok {
		t.Error("names are numbers")
	}
}

// TestDamagedNpz: a flipped bit and a cut are errors that name the file.
func TestDamagedNpz(t *testing.T) {
	data, err := os.ReadFile("testdata/tiny.npz")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.npz")
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 4
	for _, bad := range [][]byte{data[:len(data)-30], flipped} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, load := range []func(string) (*Clip, error){Load, LoadIsaacLab} {
			if _, err := load(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Error(err)
			}
		}
	}
}

func FuzzReadIsaacLab(f *testing.F) {
	data, err := os.ReadFile("testdata/tiny.npz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:200])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadIsaacLab(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil {
			return
		}
		pos, vel := make([]float64, c.Width()), make([]float64, c.VelocityWidth())
		for _, at := range []float64{-1, 0, c.Duration() / 3, c.Duration(), 100} {
			c.At(at, pos, vel)
		}
	})
}

func ExampleLoadIsaacLab() {
	clip, err := LoadIsaacLab("testdata/tiny.npz")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, shape, _ := clip.Array("body_positions")
	fmt.Println(clip.Joints(), clip.Bodies(), clip.NumFrames(), shape)
	// Output: [waist left_knee] [pelvis foot] 6 [6 2 3]
}

func ExampleReadIsaacLab() {
	data, err := os.ReadFile("testdata/tiny.npz")
	if err != nil {
		fmt.Println(err)
		return
	}
	clip, err := ReadIsaacLab(bytes.NewReader(data), int64(len(data)), "tiny")
	fmt.Println(clip.NumFrames(), err)
	// Output: 6 <nil>
}

func ExampleLoad() {
	for _, path := range []string{"testdata/hop.txt", "testdata/tiny.npz"} {
		clip, err := Load(path)
		fmt.Println(clip.Name(), clip.NumFrames(), clip.Width(), err)
	}
	// Output:
	// hop 4 2 <nil>
	// tiny 6 16 <nil>
}
