package cli

import (
	"context"
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
)

// maxPictures bounds a film, which is held in memory.
const maxPictures = 500

// film takes a picture of the first environment after every step of its first episode. It omits the picture after the
// last step: the environment has begun the next episode by then.
type film struct {
	envs.Env
	renderer envs.Renderer
	pictures []image.Image
	over     bool
}

func newFilm(env envs.Env) (*film, error) {
	renderer, ok := envs.As[envs.Renderer](env)
	if !ok {
		return nil, fmt.Errorf("the environment cannot draw itself")
	}
	return &film{Env: env, renderer: renderer}, nil
}

// Unwrap returns the environment inside, see [envs.As].
func (f *film) Unwrap() envs.Env { return f.Env }

// Reset begins the film.
func (f *film) Reset(seed int64) (*envs.Step, error) {
	s, err := f.Env.Reset(seed)
	if err != nil {
		return nil, err
	}
	f.pictures, f.over = nil, false
	return s, f.take()
}

// Step steps the environment inside.
func (f *film) Step(actions []float32) (*envs.Step, error) {
	s, err := f.Env.Step(actions)
	if err != nil || f.over {
		return s, err
	}
	if s.Terminated[0] || s.Truncated[0] {
		f.over = true
		return s, nil
	}
	return s, f.take()
}

func (f *film) take() error {
	if len(f.pictures) == maxPictures {
		f.over = true
		return nil
	}
	picture, err := f.renderer.Render(0)
	if err != nil {
		return fmt.Errorf("drawing the environment: %w", err)
	}
	f.pictures = append(f.pictures, picture)
	return nil
}

// strip is the number of pictures in a PNG, stripColumns the number in a row.
const strip, stripColumns = 12, 4

// write writes the film as a GIF or an MP4, or some of its pictures as a PNG.
func (f *film) write(ctx context.Context, path string, fps float64) error {
	switch {
	case isKind(path, ".png"):
		return mujoco.SaveStrip(path, f.pictures, strip, stripColumns)
	case isKind(path, ".mp4"):
		return saveMP4(ctx, path, f.pictures, fps)
	}
	frame := func(i int) (image.Image, error) { return f.pictures[i], nil }
	return mujoco.SaveGIF(path, len(f.pictures), fps, mujoco.Panel{Frame: frame})
}

// isKind reports whether a file's name ends in one of the kinds, in small letters or capitals.
func isKind(path string, kinds ...string) bool {
	return slices.Contains(kinds, strings.ToLower(filepath.Ext(path)))
}
