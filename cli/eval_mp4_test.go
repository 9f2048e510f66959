package cli

import (
	"image"
	"os/exec"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// gorl eval records an MP4 that has the pictures of the GIF, and says what is missing without ffmpeg.
func TestRecordMP4(t *testing.T) {
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "-q")
	t.Run("without ffmpeg", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		refuses(t, commandline.WrongUse, [][2]string{{"eval runs/pole --episodes 1 --record pole.mp4",
			"the program ffmpeg, which is not on the PATH; install it"}})
	})
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("needs ffmpeg (on Debian the package ffmpeg)")
	}
	gorl(t, 0, "eval", "runs/pole", "--episodes", "1", "--record", "pole.gif", "--fps", "50")
	gorl(t, 0, "eval", "runs/pole", "--episodes", "1", "--record", "pole.MP4", "--fps", "60")
	film := decodeGIF(t, "pole.gif")
	raw := get(exec.Command("ffmpeg", "-loglevel", "error", "-i", "pole.MP4", "-f", "rawvideo", "-pix_fmt", "rgb24",
		"pipe:1").Output())(t)
	same(t, "bytes of pictures", 3*film.Config.Width*film.Config.Height*len(film.Image), len(raw))
	// Pictures of odd sizes are padded.
	odd := []image.Image{image.NewRGBA(image.Rect(5, 7, 68, 48)), image.NewRGBA(image.Rect(5, 7, 68, 48))}
	must(t, saveMP4(t.Context(), "odd.mp4", odd, 60))
}
