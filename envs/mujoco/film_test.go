package mujoco

import (
	"image/gif"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// towardsGait is a policy without learning: it aims at the frame of the clip that follows the one most like the
// observation.
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
	path := filepath.Join(t.TempDir(), "walk.gif")
	must.Do(t, WalkerFilm(path, towardsGait(walkerOf(t, WalkerConfig{})), FilmConfig{Seconds: 2, Seed: 3}))
	if g := readGIF(t, path); len(g.Image) != 50 || g.Delay[0] != 4 || g.Config.Width != 644 || g.Config.Height != 320 {
		t.Errorf("%d frames of %d × %d, delay %d", len(g.Image), g.Config.Width, g.Config.Height, g.Delay[0])
	}
}

func readGIF(t *testing.T, path string) *gif.GIF {
	t.Helper()
	f := must.Open(os.Open(path))(t)
	return must.Get(gif.DecodeAll(f))(t)
}
