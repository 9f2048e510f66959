package motions

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func near(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	must.Is(t, len(got), len(want), "%s: %v, want %v", what, got, want)
	for i := range got {
		must.Near(t, got[i], want[i], 1e-9, "%s: %v, want %v", what, got, want)
	}
}

func sampleAt(c *Clip, t float64) (pos, vel []float64) {
	pos, vel = make([]float64, c.Width()), make([]float64, c.VelocityWidth())
	c.At(t, pos, vel)
	return pos, vel
}

// about returns the rotation by an angle about a unit axis.
func about(x, y, z, angle float64) []float64 {
	s, c := math.Sincos(angle / 2)
	return []float64{c, s * x, s * y, s * z}
}

// spin turns about an oblique axis at a constant 1.5 rad/s, with uneven frames and quaternions of alternating sign. Its
// positions and velocities are known exactly.
func spin(t *testing.T, loop Loop) *Clip {
	t.Helper()
	cfg := ClipConfig{Name: "spin", Loop: loop,
		Description: &Description{Columns: []Column{{"x", Travel}, {"root_rotation", Rotation}, {"knee", Hinge}}}}
	at := 0.0
	for k, d := range []float64{0.1, 0.3, 0.05, 0.2, 0.35, 0} {
		q := about(2./3, -2./3, 1./3, 1.5*at)
		if k%2 == 1 {
			for i := range q {
				q[i] *= -1.02 // not quite a unit quaternion: normalised
			}
		}
		cfg.Frames = append(cfg.Frames, append(append([]float64{2 * at}, q...), -3*at))
		cfg.Durations = append(cfg.Durations, d)
		at += d
	}
	return must.Get(NewClip(cfg))(t)
}

func TestInterpolatesRotationsAtConstantSpeed(t *testing.T) {
	c := spin(t, LoopNone)
	for i := range 101 {
		at := float64(i) / 100
		pos, vel := sampleAt(c, at)
		want := about(2./3, -2./3, 1./3, 1.5*at)
		if rotation.Of(pos[1:]).Dot(rotation.Of(want)) < 0 { // the same rotation
			for j := range want {
				want[j] *= -1
			}
		}
		near(t, "positions", pos, append(append([]float64{2 * at}, want...), -3*at)...)
		near(t, "velocities", vel, 2, 1, -1, 0.5, -3)
	}
	for _, at := range []float64{-5, math.Inf(-1), math.NaN()} {
		pos, _ := sampleAt(c, at)
		near(t, "before the beginning", pos[:2], 0, 1)
	}
	pos, _ := sampleAt(c, 77)
	near(t, "after the end", []float64{pos[0], pos[5]}, 2, -3)
}

// Velocities at uneven frames are those of the parabola through each frame and its neighbours.
func TestVelocitiesOfUnevenFrames(t *testing.T) {
	c := must.Get(NewClip(ClipConfig{Durations: []float64{0.5, 0.1, 1, 0}, // t²
		Frames:      [][]float64{{0}, {0.25}, {0.36}, {2.56}},
		Description: &Description{Columns: []Column{{"knee", Hinge}}}}))(t)
	for _, at := range []float64{0.5, 0.6} {
		_, vel := sampleAt(c, at)
		near(t, fmt.Sprintf("velocity at %g", at), vel, 2*at)
	}
}

func TestWrapsAndTravels(t *testing.T) {
	c := spin(t, LoopWrap)
	near(t, "travel", c.LoopTravel(), 2, 0, 0, 0, 0, 0)
	for _, at := range []float64{-1.75, 0.25, 1.25, 1000.25} {
		pos, _ := sampleAt(c, at)
		near(t, "wrapped", []float64{pos[0], pos[5]}, 2*at, -0.75)
	}
	// A last frame that lasts closes the loop with a stretch back to the first frame.
	closed := must.Get(NewClip(ClipConfig{Loop: LoopWrap, Durations: []float64{1, 1, 2},
		Frames:      [][]float64{{0, 5}, {1, 6}, {2, 7}},
		Description: &Description{Columns: []Column{{"x", Travel}, {"z", Linear}}}}))(t)
	must.Is(t, closed.Duration(), 4, "duration")
	for at, want := range map[float64][]float64{3: {3, 6}, 4: {4, 5}, 7: {7, 6}, -1: {-1, 6}} {
		pos, vel := sampleAt(closed, at)
		near(t, fmt.Sprintf("closed at %g", at), pos, want...)
		near(t, "speed", vel[:1], 1)
	}
}

// A clip walks a quarter circle of radius 2: each loop begins where and as the previous loop ended.
func TestTurnsOn(t *testing.T) {
	c := must.Get(Load("testdata/turn_left.txt"))(t)
	for i := -20; i < 60; i++ {
		at := float64(i) / 10
		h := math.Pi / 2 * at
		pos, vel := sampleAt(c, at+1e-12)
		must.Not(t, math.Hypot(pos[0]-2*math.Sin(h), pos[1]-2+2*math.Cos(h)) > 1e-8, "place at %g: %v", at, pos[:2])
		must.Near(t, math.Abs(rotation.Of(pos[3:]).Dot(rotation.Of(about(0, 0, 1, h)))), 1, 1e-9, "heading at %g", at)
		near(t, "turning", vel[3:6], 0, 0, math.Pi/2)
		s := math.Hypot(vel[0], vel[1])
		must.Near(t, s, math.Pi, 0.03, "m/s at %g", at)
		must.Near(t, vel[0], s*math.Cos(h), 1e-6, "velocity at %g", at)
	}
}

func TestAtDoesNotAllocate(t *testing.T) {
	c := spin(t, LoopWrap)
	pos, vel := make([]float64, c.Width()), make([]float64, c.VelocityWidth())
	must.Is(t, testing.AllocsPerRun(100, func() { c.At(3.3, pos, vel) }), 0, "allocations")
}

func TestNewClipRejects(t *testing.T) {
	for want, change := range map[string]func(*ClipConfig){
		"no frames":                func(c *ClipConfig) { c.Frames = nil },
		"frame 1 has 3 values":     func(c *ClipConfig) { c.Frames[1] = c.Frames[1][:3] },
		"frame 1: q is NaN":        func(c *ClipConfig) { c.Frames[1][2] = math.NaN() },
		"frame 1: q is a zero":     func(c *ClipConfig) { c.Frames[1][0] = 0 },
		"frame 0: duration":        func(c *ClipConfig) { c.Durations[0] = 0 },
		"2 frames and 1 durations": func(c *ClipConfig) { c.Durations = c.Durations[:1] },
		"weight":                   func(c *ClipConfig) { c.Weight = -2 },
		"frame 1 has 2 velocities": func(c *ClipConfig) { c.Velocities = [][]float64{{1, 2, 3}, {1, 2}} },
		`two columns are named "q"`: func(c *ClipConfig) {
			c.Description.Columns = append(c.Description.Columns, Column{"q", Hinge})
		},
		"Skeleton or a Description": func(c *ClipConfig) { c.Skeleton = chain() },
	} {
		cfg := ClipConfig{Name: "c", Frames: [][]float64{{1, 0, 0, 0}, {1, 0, 0, 0}}, Durations: []float64{1, 1},
			Description: &Description{Columns: []Column{{"q", Rotation}}}}
		change(&cfg)
		must.Refused(NewClip(cfg))(t, "motions: c: ", want)
	}
}
