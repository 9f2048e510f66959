package mujoco

import (
	"cmp"
	"errors"
	"fmt"
	"image"

	"github.com/gorl-dev/gorl/envs/film"
)

// FilmConfig describes [WalkerFilm].
type FilmConfig struct {
	// Seconds is the length of the film, at most 120. Zero means 6.
	Seconds float64
	// Seed draws the frame of the gait in which the walk begins.
	Seed int64
	// Title is written into the policy's panel. Empty means "policy".
	Title string
	// Walker configures the walker. The film overrides NumEnvs, Seed, Workers, EpisodeLength, Stagger and Render.Title.
	Walker WalkerConfig
}

// WalkerFilm writes a GIF to path, with 25 frames a second, that shows the policy next to the reference gait. Act
// receives one observation (17) and writes one row of actions (6). A walker that falls starts a new episode.
func WalkerFilm(path string, act func(observation, action []float32) error, cfg FilmConfig) (err error) {
	cfg.Seconds, cfg.Title = cmp.Or(cfg.Seconds, 6), cmp.Or(cfg.Title, "policy")
	if !(cfg.Seconds > 0) || cfg.Seconds > 120 {
		return fmt.Errorf("mujoco: a film of %g s; it must be longer than 0 and at most 120", cfg.Seconds)
	}
	const rate = 25
	const stepsAFrame = 2 // 50 control steps a second
	frames := max(1, int(cfg.Seconds*rate))
	w := cfg.Walker
	w.NumEnvs, w.Seed, w.Workers, w.EpisodeLength, w.Stagger = 1, cfg.Seed, 1, frames*stepsAFrame+1, 0
	w.Render.Title = cfg.Title
	walker, err := NewWalker(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, walker.Close()) }()
	step, err := walker.Reset(cfg.Seed)
	if err != nil {
		return err
	}
	action := make([]float32, walkerActions)
	// Frame 0 shows the state after Reset, and each later frame two steps more.
	policy := func(i int) (image.Image, error) {
		for range stepsAFrame * min(i, 1) {
			if err := act(step.Observations, action); err != nil {
				return nil, err
			}
			if step, err = walker.Step(action); err != nil {
				return nil, err
			}
		}
		return walker.Render(0)
	}
	look := walker.cfg.Render
	look.Title = "reference gait"
	reference, err := newDrawing(walker.Model(), look)
	if err != nil {
		return err
	}
	defer reference.close()
	pose := make([]float64, walkerDOF)
	gait := func(i int) (image.Image, error) {
		walker.Motion().At(float64(i)/rate, pose, nil)
		return reference.posed(walker.Model(), pose)
	}
	return film.SaveGIF(path, frames, rate, film.Panel{Frame: policy}, film.Panel{Frame: gait})
}
