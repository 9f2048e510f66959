package motions

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Feet that stand do not slide, none is under the floor, and the legs keep the phases that are asked for, at any speed.
func TestTrot(t *testing.T) {
	for _, speed := range []float64{-0.5, 0, 0.3, 0.8, 1.5, 2} {
		cfg := TrotConfig{Speed: speed, Rate: 240}
		c, err := Trot(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r := Check(c); len(r.Faults) > 0 || r.FeetLowest < -1e-3 || math.Abs(r.FeetLowest) > 1e-3 || r.Sliding > 0.02 {
			t.Errorf("%g m/s: %+v, lowest %g, sliding %g", speed, r.Faults, r.FeetLowest, r.Sliding)
		}
		if got := c.LoopTravel()[0] / c.Duration(); math.Abs(got-speed) > 1e-9 {
			t.Errorf("%g m/s, want %g", got, speed)
		}
		// The first harmonic of each thigh says where in its cycle a leg is.
		phases := cfg.LegPhases()
		var first float64
		for leg, name := range []string{"FR", "FL", "RR", "RL"} {
			at, _, ok := c.description.Find(name + "_calf")
			if !ok {
				t.Fatal(name)
			}
			var re, im float64
			for k := range c.NumFrames() - 1 {
				s, co := math.Sincos(2 * math.Pi * float64(k) / float64(c.NumFrames()-1))
				re, im = re+c.Frame(k)[at]*co, im+c.Frame(k)[at]*s
			}
			phase := math.Atan2(-im, re) / (2 * math.Pi)
			if leg == 0 {
				first = phase
			}
			if off := math.Abs(math.Remainder(phase-first-phases[leg], 1)); off > 2e-3 {
				t.Errorf("%g m/s: %s is ahead of FR by %.3f, want %.3f", speed, name, phase-first, phases[leg])
			}
		}
		if d := math.Abs(math.Remainder(phases[1]-phases[2], 1)); d > 0.051 || (math.Abs(speed) <= 0.5 && d > 0) || (speed > 1 && d < 0.01) {
			t.Errorf("%g m/s: RR is %.3f behind FL", speed, d)
		}
	}
}

// The skeleton stands as the robot does.
func TestQuadrupedStands(t *testing.T) {
	s := QuadrupedSkeleton()
	row := []float64{0, 0, 0.27, 1, 0, 0, 0}
	for range 4 {
		row = append(row, 0, 0.9, -1.8)
	}
	c, err := NewClip(ClipConfig{Skeleton: s, Frames: [][]float64{row}, Durations: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if h := c.footHeights()[0]; math.Abs(h-(0.27-0.4*math.Cos(0.9)-0.02)) > 1e-9 {
		t.Errorf("feet at %g m", h)
	}
	cfg := TrotConfig{Height: 0.02 + 0.4*math.Cos(0.9)}
	thigh, calf, err := cfg.leg(0, 0.02-cfg.Height)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the same by inverse kinematics", []float64{thigh, calf}, 0.9, -1.8)
}

func TestTrotRejects(t *testing.T) {
	for want, cfg := range map[string]TrotConfig{
		"Speed must be between -2 and 2, and is 3": {Speed: 3}, "Duty must be between": {Duty: 0.95}, "Rate must be between": {Rate: 1},
		"Speed must be between -2 and 2, and is NaN": {Speed: math.NaN()}, "a leg cannot reach": {Height: 0.42, Speed: 1},
	} {
		if _, err := Trot(cfg); err == nil || !strings.HasPrefix(err.Error(), "motions: trot: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func ExampleTrot() {
	slow, err := Trot(TrotConfig{Speed: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d frames of %d values, %.2f s, %.3f m a cycle\n", slow.NumFrames(), slow.Width(), slow.Duration(), slow.LoopTravel()[0])
	for _, speed := range []float64{0.5, 1, 1.5} {
		p := TrotConfig{Speed: speed}.LegPhases()
		fmt.Printf("%.1f m/s: FL %.3f, RR %.3f, RL %.3f\n", speed, p[1], p[2], p[3])
	}
	// Output:
	// 28 frames of 19 values, 0.45 s, 0.225 m a cycle
	// 0.5 m/s: FL 0.500, RR 0.500, RL 0.000
	// 1.0 m/s: FL 0.500, RR 0.475, RL 0.975
	// 1.5 m/s: FL 0.500, RR 0.450, RL 0.950
}

func ExampleQuadrupedSkeleton() {
	s := QuadrupedSkeleton()
	row := []float64{0, 0, 0.27, 1, 0, 0, 0}
	for range 4 {
		row = append(row, 0, 0.9, -1.8) // hip, thigh, calf
	}
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(row, positions, nil)
	i := s.Body("FR_foot")
	fmt.Printf("%d joints, front right foot at (%.3f, %.3f, %.3f)\n", len(s.Joints()), positions[3*i], positions[3*i+1], positions[3*i+2])
	// Output: 12 joints, front right foot at (0.183, -0.132, 0.021)
}
