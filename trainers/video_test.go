package trainers_test

import (
	"context"
	"image/gif"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// movie reads a film.
func movie(t *testing.T, path string) *gif.GIF {
	t.Helper()
	f := value(os.Open(path))(t)
	defer f.Close()
	return value(gif.DecodeAll(f))(t)
}

// A film is made before training and every VideoInterval timesteps, also by a run that was cancelled during a film. It
// ends with the episode or after VideoLength steps. CartPole makes 50 steps a second, so that a picture of every other
// step for 0.04 s shows real time.
func TestVideos(t *testing.T) {
	cfg := run(t, 20)
	cfg.VideoInterval, cfg.VideoLength = every(10), 7
	ctx, cancel := context.WithCancel(t.Context())
	made := 0
	cfg.EvaluationEnv = func(n int, _ int64) (envs.Env, error) {
		if made++; made == 2 {
			cancel()
		}
		return classic.NewCartPole(classic.Config{NumEnvs: n, MaxEpisodeSteps: []int{3, 25, 25, 25}[made-1]})
	}
	tr, done := scenes[0].start(t, cfg)
	wantError(t, "the second film", tr.Train(ctx), "timestep 10: context canceled")
	must(t, tr.Train(t.Context()))
	done()
	files := value(filepath.Glob(filepath.Join(tr.Dir(), "videos", "*")))(t)
	want := map[string]int{"step-000000000.gif": 2, "step-000000010.gif": 4, "step-000000020.gif": 4}
	for _, path := range files {
		film := movie(t, path)
		if n := len(film.Image); n != want[filepath.Base(path)] || film.Delay[n-1] != 4 {
			t.Errorf("%s has %d pictures, want %d; the last stays for %d/100 s, want 4", path, n,
				want[filepath.Base(path)], film.Delay[n-1])
		}
	}
	if len(files) != len(want) {
		t.Errorf("films %q, want %d", files, len(want))
	}
}

// Films of an environment that does not draw itself, or that fails to, are an error before the first timestep.
func TestVideosRefused(t *testing.T) {
	env, agent := scenes[0].made(t)
	cfg := run(t, 20)
	cfg.VideoInterval, cfg.SaveBuffers = every(10), false
	refused(trainers.New(&opaque{env}, agent, cfg))(t, "no state", "would disturb training")
	cfg.EvaluationEnv = func(int, int64) (envs.Env, error) { return &opaque{env}, nil }
	tr := sequential(t, env, agent, cfg)
	wantError(t, "an environment for films", tr.Train(t.Context()), `"video_interval" needs an environment that draws`,
		"opaque", "film at timestep 0")
}
