package cli

import (
	"image"
	"os/exec"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// gorl eval records an MP4 that has the pictures of the GIF, and says what is missing without ffmpeg.
func TestRecordMP4(t *testing.T) {
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "-q")
	t.Run("without ffmpeg", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, said := gorl(t, commandline.WrongUse, "eval", "runs/pole", "--episodes", "1", "--record", "pole.mp4")
		matches(t, said, "the program ffmpeg, which is not on the PATH; install it")
		absent(t, "pole.mp4")
	})
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("needs ffmpeg (on Debian the package ffmpeg)")
	}
	gorl(t, 0, "eval", "runs/pole", "--episodes", "1", "--record", "pole.gif")
	gorl(t, 0, "eval", "runs/pole", "--episodes", "1", "--record", "pole.MP4", "--fps", "60")
	film := decodeGIF(t, "pole.gif")
	raw, err := exec.Command("ffmpeg", "-loglevel", "error", "-i", "pole.MP4", "-f", "rawvideo", "-pix_fmt", "rgb24",
		"pipe:1").Output()
	if size := 3 * film.Config.Width * film.Config.Height; err != nil || len(raw) != size*len(film.Image) {
		t.Errorf("the MP4 has %d bytes, the GIF %d pictures of %d (%v)", len(raw), len(film.Image), size, err)
	}
	// Pictures of odd sizes are padded. A film that fails leaves the file.
	odd := []image.Image{image.NewRGBA(image.Rect(5, 7, 68, 48)), image.NewRGBA(image.Rect(5, 7, 68, 48))}
	if err := saveMP4(t.Context(), "odd.mp4", odd, 60); err != nil {
		t.Error(err)
	}
	before := text("odd.mp4")
	err = saveMP4(t.Context(), "odd.mp4", append(odd, image.NewRGBA(image.Rect(0, 0, 64, 41))), 60)
	if err == nil || !strings.Contains(err.Error(), "picture 2") || text("odd.mp4") != before {
		t.Errorf("pictures of two sizes: %v", err)
	}
}
