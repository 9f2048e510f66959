package cli

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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
	if len(pictures) == 0 {
		return errors.New("a film without pictures")
	}
	size := pictures[0].Bounds().Size()
	folder, err := os.MkdirTemp("", "gorl-film") // an MP4 is not written from its beginning to its end
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	made := filepath.Join(folder, "film.mp4")
	cmd := exec.CommandContext(ctx, program, "-hide_banner", "-loglevel", "error",
		"-f", "rawvideo", "-pixel_format", "rgba", "-video_size", fmt.Sprintf("%dx%d", size.X, size.Y),
		"-framerate", fmt.Sprint(fps), "-i", "pipe:0",
		"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-pix_fmt", "yuv420p", "-movflags", "+faststart", made)
	var said strings.Builder
	cmd.Stderr = &said
	frames, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting ffmpeg: %w", err)
	}
	fed := feed(frames, pictures, size)
	if err := cmd.Wait(); err != nil { // which says more than that the pipe is broken
		return fmt.Errorf("ffmpeg: %w: %s", err, strings.TrimSpace(said.String()))
	}
	if fed != nil {
		return fed
	}
	film, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	return writeFile(path, film)
}

// feed writes pictures as raw RGBA, and closes the pipe.
func feed(to io.WriteCloser, pictures []image.Image, size image.Point) (err error) {
	defer func() { err = errors.Join(err, to.Close()) }()
	raw := image.NewRGBA(image.Rectangle{Max: size})
	for i, picture := range pictures {
		if b := picture.Bounds(); b.Size() != size {
			return fmt.Errorf("picture %d is of %v, the first of %v", i, b.Size(), size)
		}
		draw.Draw(raw, raw.Rect, picture, picture.Bounds().Min, draw.Src)
		if _, err := to.Write(raw.Pix); err != nil {
			return err
		}
	}
	return nil
}
