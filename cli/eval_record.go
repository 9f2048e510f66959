package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/film"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// maxPictures bounds a film, which is held in memory.
const maxPictures = 500

// recording takes pictures of the first environment during its first episode. There is no picture after the last step:
// the environment has begun the next episode by then.
type recording struct {
	envs.Env
	renderer envs.Renderer
	every    int     // steps from one picture to the next
	fps      float64 // pictures a second
	thins    bool    // a PNG shows few pictures of the whole episode
	steps    int
	pictures []image.Image
	over     bool
}

// newRecording returns env with a recording for a file of fps pictures a second, one a step. 0 films in real time.
func newRecording(env envs.Env, path string, fps float64) (*recording, error) {
	renderer, ok := envs.As[envs.Renderer](env)
	if !ok {
		return nil, fmt.Errorf("the environment cannot draw itself")
	}
	r := &recording{Env: env, renderer: renderer, every: 1, fps: fps, thins: isKind(path, ".png")}
	if fps == 0 {
		r.every, r.fps = film.Pace(envs.StepDuration(env))
	}
	return r, nil
}

// Unwrap returns the environment inside, see [envs.As].
func (r *recording) Unwrap() envs.Env { return r.Env }

// Reset begins the film.
func (r *recording) Reset(seed int64) (*envs.Step, error) {
	s, err := r.Env.Reset(seed)
	if err != nil {
		return nil, err
	}
	r.pictures, r.steps, r.over = nil, 0, false
	return s, r.take()
}

// Step steps the environment inside.
func (r *recording) Step(actions []float32) (*envs.Step, error) {
	s, err := r.Env.Step(actions)
	if err != nil {
		return nil, err
	}
	r.steps, r.over = r.steps+1, r.over || s.Ended(0)
	return s, r.take()
}

// take takes a picture if one is due.
func (r *recording) take() error {
	if r.thins && !r.over && len(r.pictures) == 2*strip {
		r.every *= 2
		for i := range strip {
			r.pictures[i] = r.pictures[2*i]
		}
		r.pictures = r.pictures[:strip]
	}
	if r.over || r.steps%r.every != 0 || len(r.pictures) == maxPictures {
		return nil
	}
	picture, err := r.renderer.Render(0)
	if err != nil {
		return fmt.Errorf("drawing the environment: %w", err)
	}
	r.pictures = append(r.pictures, picture)
	return nil
}

// strip is the number of pictures in a PNG, stripColumns the number in a row.
const strip, stripColumns = 12, 4

// write writes the film as a GIF or an MP4, or some of its pictures as a PNG.
func (r *recording) write(ctx context.Context, path string) error {
	switch {
	case isKind(path, ".png"):
		return film.SaveStrip(path, r.pictures, strip, stripColumns)
	case isKind(path, ".mp4"):
		return saveMP4(ctx, path, r.pictures, r.fps)
	}
	frame := func(i int) (image.Image, error) { return r.pictures[i], nil }
	return film.SaveGIF(path, len(r.pictures), r.fps, frame)
}

// renderMode is the setting of environments that draw only if it is set.
const renderMode = "render_mode"

// draws returns an error if trainer.video_interval asks for films of an environment that cannot draw itself.
func (r *singleRun) draws(env envs.Env) error {
	_, draws := envs.As[envs.Renderer](env)
	_, canDraw := r.environment[renderMode] // environments for films do
	if draws || canDraw || r.cfg.VideoInterval == (agents.Interval{}) {
		return nil
	}
	return commandline.Usagef("trainer.video_interval makes films, and the environment %v cannot draw itself; set it "+
		"to 0", r.environment["id"])
}

// findFFmpeg returns the path of ffmpeg. The error says how to get it.
func findFFmpeg() (string, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return "", errors.New("an MP4 is written by the program ffmpeg, which is not on the PATH; install it " +
			"(on Debian: apt-get install ffmpeg), or record a .gif")
	}
	return path, nil
}

// saveMP4 makes ffmpeg write pictures of one size as a film, in H.264 if it can. A picture with an odd side gets a
// white line at the right or the bottom. After an error the file is as it was before.
func saveMP4(ctx context.Context, path string, pictures []image.Image, fps float64) (err error) {
	program, err := findFFmpeg()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "gorl-film") // an MP4 is not written from its beginning to its end
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	made := filepath.Join(folder, "film.mp4")
	cmd := exec.CommandContext(ctx, program, "-hide_banner", "-loglevel", "error",
		"-f", "image2pipe", "-framerate", fmt.Sprint(fps), "-c:v", "png", "-i", "pipe:0",
		"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-pix_fmt", "yuv420p", "-movflags", "+faststart", made)
	frames, feed := io.Pipe()
	cmd.Stdin = frames
	go func() {
		var err error
		for _, picture := range pictures {
			err = cmp.Or(err, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(feed, picture))
		}
		_ = feed.CloseWithError(err)
	}()
	said, err := cmd.CombinedOutput()
	_ = frames.Close() // which ends the goroutine if ffmpeg has not read everything
	if err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, bytes.TrimSpace(said))
	}
	film, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	return writeFile(path, film)
}
