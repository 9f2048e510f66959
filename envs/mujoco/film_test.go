package mujoco

import (
	"image/gif"
	"os"
	"path/filepath"
	"testing"
)

// towardsGait is a policy without learning: it aims at the frame of the clip that follows the one most like the observation.
func towardsGait(w *Walker) func(observation, action []float32) error {
	t := w.task
	return func(o, action []float32) error {
		q := make([]float64, walkerActions)
		for i := range q {
			q[i] = float64(o[2+i])
		}
		best, at := 1e9, 0
		for k := range t.joints {
			d := 0.0
			for i, v := range t.joints[k] {
				d += (v - q[i]) * (v - q[i])
				dv := t.vel[k][3+i] - float64(o[11+i])/0.2
				d += 0.01 * dv * dv
			}
			if d < best {
				best, at = d, k
			}
		}
		for i, v := range t.joints[(at+2)%len(t.joints)] {
			action[i] = float32((v - walkerMid[i%3]) / walkerRange[i%3])
		}
		return nil
	}
}

func TestWalkerFilm(t *testing.T) {
	w, err := NewWalker(WalkerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "walk.gif")
	if keep := os.Getenv("GORL_KEEP_FILM"); keep != "" {
		path = keep
	}
	if err := WalkerFilm(path, towardsGait(w), FilmConfig{Seconds: 6, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, path)
	if info, _ := f.Stat(); info.Size() > 2<<20 {
		t.Errorf("the film has %d bytes", info.Size())
	} else {
		t.Logf("%d bytes", info.Size())
	}
	g, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != 150 || g.Delay[0] != 4 || g.Config.Width != 644 || g.Config.Height != 320 {
		t.Errorf("%d frames of %d × %d, delay %d", len(g.Image), g.Config.Width, g.Config.Height, g.Delay[0])
	}
}
