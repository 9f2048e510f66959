package picture

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/motions"
)

// walk is the built-in walk, lower by so many metres.
func walk(t *testing.T, lower float64) *motions.Clip {
	t.Helper()
	c, err := motions.Builtin("humanoid_walk")
	if err != nil {
		t.Fatal(err)
	}
	cfg := motions.ClipConfig{Name: c.Name(), Loop: c.Loop(), Skeleton: c.Skeleton()}
	for k := range c.NumFrames() {
		row := append([]float64(nil), c.Frame(k)...)
		row[2] -= lower
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, c.FrameDuration(k))
	}
	if c, err = motions.NewClip(cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

// The picture shows what the report says: red where a foot is in the floor.
func TestDrawMarksFaults(t *testing.T) {
	for _, lower := range []float64{0, 0.05} {
		img := Draw(motions.Check(walk(t, lower)))
		red := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if img.At(x, y) == faultColor {
					red++
				}
			}
		}
		if (red > 0) != (lower > 0) {
			t.Errorf("%g m under the floor: %d red pixels", lower, red)
		}
	}
}

// A clip without a skeleton is drawn, too, and every clip of the folder GORL_MOTIONS.
func TestWrite(t *testing.T) {
	raw, err := motions.NewClip(motions.ClipConfig{Frames: [][]float64{{1, 2}, {2, 3}}, Durations: []float64{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	clips := []*motions.Clip{raw, walk(t, 0)}
	if folder := os.Getenv("GORL_MOTIONS"); folder != "" {
		paths, err := filepath.Glob(filepath.Join(folder, "*", "*.npz"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if c, err := motions.Load(path); err == nil {
				clips = append(clips, c)
			}
		}
	}
	for _, c := range clips {
		var b bytes.Buffer
		if err := Write(&b, motions.Check(c)); err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(&b); err != nil || img.Bounds().Dx() != 1000 {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}
