package motions

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// sound is a clip without faults: the humanoid stands and lifts its right foot now and then.
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
		at, _, _ := HumanoidSkeleton().description().Find(name)
		return at
	}
	for _, x := range []struct {
		want, text string // the kind of the one fault, and a figure in its sentence
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
		{"velocities", "velocities are not those", -1, func(c *ClipConfig) {
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
			last[column("right_knee")], last[column("right_hip_y")] = first[column("right_knee")],
				first[column("right_hip_y")]
		}},
		{"floor", "deepest by 4.0 cm", 0, func(c *ClipConfig) {
			for _, f := range c.Frames {
				f[2] -= 0.03
			}
		}},
		{"sliding", "slide at 0.90 m/s", 0, func(c *ClipConfig) {
			for k, f := range c.Frames {
				f[0] = 0.03 * float64(k)
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
			faults := Check(must.Get(NewClip(cfg))(t)).Faults
			if x.want == "" && len(faults) == 0 {
				return
			}
			must.Not(t, len(faults) != 1 || faults[0].Kind != x.want || !strings.Contains(faults[0].Text, x.text) ||
				x.frame != 0 && faults[0].Frame != x.frame, "%+v, want %s: ...%s...", faults, x.want, x.text)
		})
	}
}

// faultsOf returns a report's faults of a kind.
func faultsOf(r *Report, kind string) []Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f Fault) bool { return f.Kind != kind })
}
