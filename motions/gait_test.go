package motions

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestGaitMatchesReference compares with two cycles computed by NumPy (FFT, interp and gradient over four
// cycles); see testdata/README.md.
func TestGaitMatchesReference(t *testing.T) {
	data, err := os.ReadFile("testdata/gait.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct {
		Speed                 float64
		Positions, Velocities [][]float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	long := DefaultGaitConfig()
	long.TimeStep, long.CycleTime, long.ThighLength, long.ShinLength = 1.0/60, 1.2, 0.5, 0.45
	for name, cfg := range map[string]GaitConfig{"default": DefaultGaitConfig(), "60hz_long_legs": long} {
		for cycles := 1; cycles <= 2; cycles++ {
			t.Run(fmt.Sprintf("%s/%d", name, cycles), func(t *testing.T) {
				want := cases[name]
				cfg.Cycles = cycles
				c, err := Gait(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if got := len(want.Positions) / 2 * cycles; c.NumFrames() != got {
					t.Fatalf("%d frames, want %d", c.NumFrames(), got)
				}
				if v := c.FrameVelocity(0)[0]; math.Abs(v-want.Speed) > 1e-9 {
					t.Errorf("speed %v, want %v", v, want.Speed)
				}
				pos, vel := make([]float64, 9), make([]float64, 9)
				for k := range want.Positions { // beyond the clip's own frames too
					c.At((float64(k)+1e-9)*cfg.TimeStep, pos, vel)
					for i := range pos {
						if d := math.Abs(pos[i] - want.Positions[k][i]); d > 1e-8 {
							t.Fatalf("frame %d %s: %v, want %v", k, c.description.field(i), pos[i], want.Positions[k][i])
						}
						if d := math.Abs(vel[i] - want.Velocities[k][i]); d > 1e-6 {
							t.Fatalf("frame %d velocity of %s: %v, want %v", k, c.description.field(i), vel[i], want.Velocities[k][i])
						}
					}
				}
				for k := range c.NumFrames() { // the frames themselves, to rounding
					for i, x := range c.Frame(k) {
						if math.Abs(x-want.Positions[k][i]) > 1e-12 || math.Abs(c.FrameVelocity(k)[i]-want.Velocities[k][i]) > 1e-10 {
							t.Fatalf("frame %d %s: %v, %v, want %v, %v", k, c.description.field(i), x, c.FrameVelocity(k)[i], want.Positions[k][i], want.Velocities[k][i])
						}
					}
				}
			})
		}
	}
}

func TestGaitTravelsOn(t *testing.T) {
	c, err := Gait(DefaultGaitConfig())
	if err != nil {
		t.Fatal(err)
	}
	pos, back := make([]float64, 9), make([]float64, 9)
	speed := c.FrameVelocity(0)[0]
	for _, at := range []float64{-7.3, -1.1, -0.005, 0, 0.7, 1.09, 1.1, 1.11, 55, 1e4} {
		c.At(at, pos, nil)
		if math.Abs(pos[0]-speed*at) > 1e-6 {
			t.Errorf("x(%g) = %v, want %v", at, pos[0], speed*at)
		}
		c.At(at+3*c.Duration(), back, nil)
		for i := 1; i < 9; i++ {
			if math.Abs(pos[i]-back[i]) > 1e-6 {
				t.Errorf("column %d at %g is not periodic: %v, %v", i, at, pos[i], back[i])
			}
		}
	}
}

func TestGaitRejectsBadConfig(t *testing.T) {
	for want, change := range map[string]func(*GaitConfig){
		"CycleTime":       func(c *GaitConfig) { c.CycleTime = math.NaN() },
		"TimeStep":        func(c *GaitConfig) { c.TimeStep = 0 },
		"ThighLength":     func(c *GaitConfig) { c.ThighLength = -1 },
		"FootRadius":      func(c *GaitConfig) { c.FootRadius = math.Inf(1) },
		"Cycles":          func(c *GaitConfig) { c.Cycles = 0 },
		"frames":          func(c *GaitConfig) { c.TimeStep = 1e-9 },
		"Knee: the phase": func(c *GaitConfig) { c.Knee.Knots[3][0] = 0.9 },
		"Ankle: the knots": func(c *GaitConfig) {
			c.Ankle.Knots = c.Ankle.Knots[1:]
		},
		"Hip: has neither": func(c *GaitConfig) { c.Hip = GaitCurve{} },
		"Harmonics":        func(c *GaitConfig) { c.Knee.Harmonics = 0 },
	} {
		cfg := DefaultGaitConfig()
		change(&cfg)
		if _, err := Gait(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func ExampleGait() {
	clip, err := Gait(DefaultGaitConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	pos, vel := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
	clip.At(10*clip.Duration(), pos, vel)
	fmt.Printf("%d frames, %.2f s, %.2f m/s, after ten cycles at %.1f m\n", clip.NumFrames(), clip.Duration(), vel[0], pos[0])
	// Output: 55 frames, 1.10 s, 1.21 m/s, after ten cycles at 13.3 m
}

func ExampleDefaultGaitConfig() {
	cfg := DefaultGaitConfig()
	cfg.CycleTime, cfg.TimeStep = 1.0, 1.0/60 // faster steps, finer frames
	clip, err := Gait(cfg)
	fmt.Println(clip.NumFrames(), err)
	// Output: 60 <nil>
}
