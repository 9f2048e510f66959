package cli

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// needsFFmpeg skips a test where there is none.
func needsFFmpeg(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("needs ffmpeg (on Debian the package ffmpeg)")
	}
}

// decoded are the frames of a film, raw RGB of the given size.
func decoded(t *testing.T, path string, size image.Point) [][]byte {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1")
	var said bytes.Buffer
	cmd.Stderr = &said
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	n := 3 * size.X * size.Y
	if len(raw)%n != 0 {
		t.Fatalf("the film is not of %v: %d bytes", size, len(raw))
	}
	var frames [][]byte
	for ; len(raw) > 0; raw = raw[n:] {
		frames = append(frames, raw[:n])
	}
	return frames
}

// A film has its pictures in their order, of even sizes, and replaces what was there only when it is whole.
func TestMP4(t *testing.T) {
	needsFFmpeg(t)
	colors := []color.RGBA{{200, 30, 30, 255}, {30, 180, 40, 255}, {40, 50, 200, 255}, {220, 220, 60, 255}, {90, 90, 90, 255}}
	var pictures []image.Image
	for _, c := range colors {
		p := image.NewRGBA(image.Rect(5, 7, 5+63, 7+41)) // odd, and not at the origin
		for y := p.Rect.Min.Y; y < p.Rect.Max.Y; y++ {
			for x := p.Rect.Min.X; x < p.Rect.Max.X; x++ {
				p.SetRGBA(x, y, c)
			}
		}
		pictures = append(pictures, p)
	}
	path := filepath.Join(t.TempDir(), "film.mp4")
	if err := saveMP4(t.Context(), path, pictures, 60); err != nil {
		t.Fatal(err)
	}
	frames := decoded(t, path, image.Pt(64, 42))
	if len(frames) != len(colors) {
		t.Fatalf("the film has %d frames, want %d", len(frames), len(colors))
	}
	for i, c := range colors {
		middle := frames[i][3*(20*64+30):]
		for k, want := range []uint8{c.R, c.G, c.B} {
			if d := int(middle[k]) - int(want); d < -12 || d > 12 {
				t.Errorf("frame %d is %v, want %v", i, middle[:3], c)
			}
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := append(pictures, image.NewRGBA(image.Rect(0, 0, 64, 41)))
	if err := saveMP4(t.Context(), path, odd, 60); err == nil || !strings.Contains(err.Error(), "picture 5") {
		t.Errorf("pictures of two sizes: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("a film that fails replaces what was there: %v", err)
	}
	if err := saveMP4(t.Context(), path, pictures, -1); err == nil || !strings.Contains(err.Error(), "ffmpeg:") {
		t.Errorf("what ffmpeg refuses: %v", err)
	}
}

// gorl eval records an MP4, faster than a GIF may be, and says what is missing where there is no ffmpeg.
func TestRecordMP4(t *testing.T) {
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "-q")
	t.Run("without ffmpeg", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, said := gorl(t, commandline.WrongUse, "eval", "runs/pole", "-e", "1", "--record", "pole.mp4")
		if !strings.Contains(said, "the program ffmpeg, which is not on the PATH; install it") {
			t.Errorf("without ffmpeg: %s", said)
		}
		if _, err := os.Stat("pole.mp4"); err == nil {
			t.Error("there is a film all the same")
		}
	})
	if _, said := gorl(t, commandline.WrongUse, "eval", "runs/pole", "--record", "pole.mp4", "--fps", "61"); !strings.Contains(said, "at most 60") {
		t.Errorf("--fps 61: %s", said)
	}
	needsFFmpeg(t)
	gorl(t, 0, "eval", "runs/pole", "-e", "1", "--record", "pole.gif")
	gorl(t, 0, "eval", "runs/pole", "-e", "1", "--record", "pole.MP4", "--fps", "60")
	file, err := os.Open("pole.gif")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	film, err := gif.DecodeAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if frames := decoded(t, "pole.MP4", image.Pt(film.Config.Width, film.Config.Height)); len(frames) != len(film.Image) {
		t.Errorf("the MP4 has %d pictures, the GIF %d", len(frames), len(film.Image))
	}
}
