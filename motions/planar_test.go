package motions

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// humanoidOf writes the gait as DeepMimic's humanoid would have it, walking by an angle from x.
func humanoidOf(t *testing.T, gait *Clip, heading, pitch float64) *Clip {
	t.Helper()
	about := func(angle float64, axis int) []float64 {
		q := []float64{math.Cos(angle / 2), 0, 0, 0}
		q[1+axis] = math.Sin(angle / 2)
		return q
	}
	var frames [][]float64
	var durations []float64
	for k := range gait.NumFrames() {
		g := gait.Frame(k)
		root := quatOf(about(heading, 1)).mul(quatOf(about(-pitch, 2)))
		f := []float64{3 + g[0]*math.Cos(heading), 0.8 + g[1], -g[0] * math.Sin(heading), root[0], root[1], root[2], root[3]}
		f = append(append(f, 1, 0, 0, 0), 1, 0, 0, 0)
		for leg := range 2 {
			f = append(f, about(g[3+3*leg]+pitch, 2)...)
			f = append(f, -g[4+3*leg])
			f = append(f, about(g[5+3*leg], 2)...)
			f = append(f, 1, 0, 0, 0, 0.3)
		}
		frames, durations = append(frames, f), append(durations, gait.FrameDuration(k))
	}
	c, err := NewClip(ClipConfig{Name: "human", Loop: LoopWrap, Frames: frames, Durations: durations, Description: humanoid3D()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The gait comes back from a humanoid that walks it, whichever way it goes and however it leans.
func TestPlanar(t *testing.T) {
	cfg := DefaultGaitConfig()
	gait, err := Gait(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ heading, pitch float64 }{{}, {heading: 2.5}, {heading: -math.Pi / 2, pitch: 0.2}, {pitch: -0.1}} {
		c, err := Planar(humanoidOf(t, gait, x.heading, x.pitch), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if c.Width() != 9 || c.VelocityWidth() != 9 || c.Loop() != LoopWrap || c.Name() != "human" || math.Abs(c.Duration()-gait.Duration()) > 1e-9 {
			t.Fatalf("%v: %d and %d columns, %v, %s, %g s", x, c.Width(), c.VelocityWidth(), c.Loop(), c.Name(), c.Duration())
		}
		lift := c.Frame(0)[1] - gait.Frame(0)[1]
		if math.Abs(lift) > 0.02 { // the gait's own feet are smoothed to about that
			t.Errorf("%v: the pelvis is %g m higher", x, lift)
		}
		for k := range c.NumFrames() {
			for i, got := range c.Frame(k) {
				want := gait.Frame(k)[i]
				switch i {
				case 1:
					want += lift
				case 2:
					want = x.pitch
				case 3, 6:
					want += x.pitch
				}
				if math.Abs(got-want) > 1e-9 {
					t.Fatalf("%v: frame %d column %d is %g, want %g", x, k, i, got, want)
				}
			}
		}
	}
}

func TestPlanarOfOthers(t *testing.T) {
	gait, err := Gait(DefaultGaitConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Planar(gait, DefaultGaitConfig()); err == nil || !strings.Contains(err.Error(), "gait: this is not DeepMimic's humanoid") {
		t.Errorf("the gait gave %v", err)
	}
	if _, err := Planar(humanoidOf(t, gait, 0, 0), GaitConfig{}); err == nil {
		t.Error("legs of no length were accepted")
	}
}

// ExamplePlanar makes a clip for the walker out of one of DeepMimic's.
func ExamplePlanar() {
	stand := `1, 0, 0, 0`
	frame := func(x float64) string {
		leg := stand + ", -0.2, " + stand + ", " + stand + ", 0" // hip, knee, ankle, shoulder, elbow
		return fmt.Sprintf("[0.5, %g, 0.85, 0, %s, %s, %s, %s, %s]", x, stand, stand, stand, leg, leg)
	}
	humanoid, err := ReadDeepMimic(strings.NewReader(`{"Loop": "wrap", "Frames": [`+frame(0)+`, `+frame(0.6)+`]}`), "glide")
	if err != nil {
		fmt.Println(err)
		return
	}
	clip, err := Planar(humanoid, DefaultGaitConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d frames of %d columns, knee %.1f, travel %.1f m\n", clip.NumFrames(), clip.Width(), clip.Frame(0)[4], clip.LoopTravel()[0])
	// Output: 2 frames of 9 columns, knee 0.2, travel 0.6 m
}
