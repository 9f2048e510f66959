package mujoco

import (
	"errors"
	"fmt"
	"image"

	"github.com/gorl-dev/gorl/envs/film"
)

// WalkerFilm writes a GIF to path, with 25 frames a second, that shows the policy next to the reference gait. Act
// receives one observation (17) and writes one row of actions (6). A walker that falls starts a new episode. The title
// is written into the policy's panel, and seed draws the frame of the gait in which the walk begins.
func WalkerFilm(path, title string, seconds float64, seed int64,
	act func(observation, action []float32) error) (err error) {
	if !(seconds > 0 && seconds <= 120) {
		return fmt.Errorf("mujoco: a film of %g s; it must be longer than 0 and at most 120", seconds)
	}
	const rate, stepsAFrame = 25, 2 // 50 control steps a second
	frames := max(1, int(seconds*rate))
	look := RenderConfig{Title: title}
	walker, err := NewWalker(WalkerConfig{Workers: 1, EpisodeLength: frames*stepsAFrame + 1, Render: look})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, walker.Close()) }()
	step, err := walker.Reset(seed)
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
	poses := make([][]float64, frames)
	for i := range poses {
		poses[i] = make([]float64, walkerDOF)
		walker.Motion().At(float64(i)/rate, poses[i], nil)
	}
	look = walker.cfg.Render
	look.Title = "reference gait"
	gait, err := walker.Model().Pictures(poses, look)
	if err != nil {
		return err
	}
	return film.SaveGIF(path, frames, rate, policy, func(i int) (image.Image, error) { return gait[i], nil })
}
