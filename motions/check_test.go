package motions

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// sound is a clip without faults: the humanoid stands, sways and lifts its right foot now and then.
func sound(t *testing.T) ClipConfig {
	t.Helper()
	s := HumanoidSkeleton()
	cfg := ClipConfig{Name: "sound", Skeleton: s}
	for k := range 60 {
		at := float64(k) / 30
		row := make([]float64, s.Width())
		row[2], row[3] = 0.8814, 1
		lift := 0.5 * (1 - math.Cos(2*math.Pi*at))
		for i, j := range s.Joints() {
			switch j.Name {
			case "right_hip_y":
				row[7+i] = -0.4 * lift
			case "right_knee":
				row[7+i] = 0.8 * lift
			case "left_elbow":
				row[7+i] = -0.3 - 0.2*lift
			}
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./30)
	}
	return cfg
}

func TestCheckFindsFaults(t *testing.T) {
	column := func(name string) int {
		at, _, ok := HumanoidSkeleton().description().Find(name)
		if !ok {
			t.Fatal(name)
		}
		return at
	}
	for _, x := range []struct {
		want, text string // the kind of the one fault, and a part of its sentence
		frame      int
		change     func(*ClipConfig)
	}{
		{"", "", 0, func(*ClipConfig) {}},
		{"doubled frames", "only one frame in 2 moves", -1, func(c *ClipConfig) {
			var twice [][]float64
			for _, f := range c.Frames {
				twice = append(twice, f, slices.Clone(f))
			}
			for k, f := range twice { // never quite still, as the clip itself is at the ends of a sway
				f[column("left_shoulder_x")] = 0.01 * float64(k/2)
			}
			c.Frames, c.Durations = twice, append(c.Durations, c.Durations...)
		}},
		{"velocities", "root_rotation of frame 10, 9 where", 10, func(c *ClipConfig) {
			for range c.Frames {
				c.Velocities = append(c.Velocities, make([]float64, 34))
			}
			c.Frames[10][column("left_hip_z")], c.Frames[12][column("left_hip_z")] = -0.2, 0.2
			c.Frames[11][column("left_hip_z")] = 0
			c.Velocities[10][5] = 9
		}},
		{"jump", "right_ankle_y between frames 19 and 20", 19, func(c *ClipConfig) {
			for _, f := range c.Frames[20:] {
				f[column("right_ankle_y")] -= 0.6
			}
			for _, f := range c.Frames { // high enough that the foot cannot reach the floor, and low enough to be on it
				f[2] += 0.04
			}
		}},
		{"seam", "left_elbow is 0.30", 59, func(c *ClipConfig) {
			c.Loop = LoopWrap
			c.Durations[59] = 0
			for k, f := range c.Frames {
				f[column("left_elbow")] -= 0.3 * float64(k) / 59
			}
			last, first := c.Frames[59], c.Frames[0]
			last[column("right_knee")], last[column("right_hip_y")] = first[column("right_knee")], first[column("right_hip_y")]
		}},
		{"floor", "deepest by 4.0 cm", 0, func(c *ClipConfig) {
			for _, f := range c.Frames {
				f[2] -= 0.03
			}
		}},
		{"floor", "never nearer to the floor than 19.0 cm", 0, func(c *ClipConfig) {
			for _, f := range c.Frames {
				f[2] += 0.2
			}
		}},
		{"sliding", "slide at 0.90 m/s", 0, func(c *ClipConfig) {
			for k, f := range c.Frames {
				f[0] = 0.03 * float64(k)
			}
		}},
		{"gimbal", "neck_y is 85°", 7, func(c *ClipConfig) {
			i := slices.IndexFunc(c.Skeleton.Bodies, func(b Body) bool { return b.Name == "head" })
			c.Skeleton.Bodies[i].Joints[1].Upper = 2
			for k, f := range c.Frames {
				f[column("neck_y")] = (85 - 0.5*math.Abs(float64(k-7))) * math.Pi / 180
			}
		}},
		{"limits", "1 joints leave their limits, left_knee by 10°", 59, func(c *ClipConfig) {
			for k, f := range c.Frames {
				f[column("left_knee")] = -10 * math.Pi / 180 * float64(k) / 59
				f[2] -= 0.001
			}
		}},
	} {
		t.Run(x.want, func(t *testing.T) {
			cfg := sound(t)
			x.change(&cfg)
			c, err := NewClip(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := Check(c)
			if x.want == "" {
				if len(r.Faults) > 0 {
					t.Fatalf("a sound clip: %+v", r.Faults)
				}
				return
			}
			if len(r.Faults) != 1 || r.Faults[0].Kind != x.want || !strings.Contains(r.Faults[0].Text, x.text) {
				t.Fatalf("%+v, want %s: ...%s...", r.Faults, x.want, x.text)
			}
			f := r.Faults[0]
			if f.Value <= f.Limit || (x.want != "floor" && x.want != "sliding" && f.Frame != x.frame) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A file's bodies that are not where its joints put them are found: exponential maps that are taken for hinges.
func TestCheckComparesBodies(t *testing.T) {
	m := asIsaac(t, stroll(t, 40), true, false, 0)
	frames := isaacFrames{step: 1. / 30}
	frames.dofs, _ = m["dof_names"].Strings()
	frames.bodies, _ = m["body_names"].Strings()
	var parts [3][]float64
	for i, name := range []string{"dof_positions", "body_positions", "body_rotations"} {
		values, err := m[name].Float64s()
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = values
	}
	for k := range 40 {
		frames.positions = append(frames.positions, row(k, 40, parts[:]))
	}
	c, err := frames.clip("as it is", false)
	if err != nil {
		t.Fatal(err)
	}
	if f := faultsOf(Check(c), "bodies"); len(f) != 2 || !strings.Contains(f[0].Text, "exponential maps") || f[0].Value < 0.05 {
		t.Errorf("%+v", f)
	}
}

func TestReportOfOthers(t *testing.T) {
	raw, err := NewClip(ClipConfig{Frames: [][]float64{{1, 2}, {2, 3}}, Durations: []float64{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Clip{"spin": spin(t, LoopWrap), "raw": raw} {
		r := Check(c)
		var text bytes.Buffer
		if err := r.Write(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "no skeleton is known") {
			t.Errorf("%s: %s", name, &text)
		}
	}
}

func ExampleCheck() {
	clip, err := NewClip(ClipConfig{
		Name: "nod", Frames: [][]float64{{0}, {0}, {0.2}, {0.2}, {0.4}, {0.4}, {0.6}, {0.6}}, Durations: []float64{.1, .1, .1, .1, .1, .1, .1, 0},
		Description: &Description{Columns: []Column{{Name: "neck", Kind: Hinge}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range Check(clip).Faults {
		fmt.Println(f.Kind+":", f.Text)
	}
	// Output: doubled frames: only one frame in 2 moves; the others repeat the one before, so velocities are 0 and 2 times too large in turn
}

// faultsOf are a report's faults of a kind.
func faultsOf(r *Report, kind string) []Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f Fault) bool { return f.Kind != kind })
}
