package film

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// At most 30 pictures a second show real time. Without a duration every step is a picture, 25 a second.
func TestPace(t *testing.T) {
	for _, x := range []struct {
		step  float64
		every int
		rate  float64
	}{{0.02, 2, 25}, {1.0 / 30, 1, 30}, {0.2, 1, 5}, {1.0 / 240, 8, 30}, {0, 1, 25}} {
		every, rate := Pace(x.step)
		must.Not(t, every != x.every || math.Abs(rate-x.rate) > 1e-9, "steps of %g s: %d and %g", x.step, every, rate)
	}
}

func TestSaveGIF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gif")
	frame := func(i int) (image.Image, error) {
		img := image.NewRGBA(image.Rect(0, 0, 40, 30))
		draw.Draw(img, img.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(img, image.Rect(3*i, 10, 3*i+8, 18), image.NewUniform(color.RGBA{200, 30, 70, 255}), image.Point{},
			draw.Src)
		return img, nil
	}
	must.Do(t, SaveGIF(path, 5, 30, frame, frame))
	f := must.Open(os.Open(path))(t)
	g := must.Get(gif.DecodeAll(f))(t)
	must.Not(t, !slices.Equal(g.Delay, []int{3, 4, 3, 3, 4}) || g.Config.Width != 84 || g.Config.Height != 30,
		"delays %v, %d × %d", g.Delay, g.Config.Width, g.Config.Height)
	// Laying the parts over each other gives the pictures back.
	shown := image.NewRGBA(image.Rect(0, 0, 84, 30))
	for i, part := range g.Image {
		draw.Draw(shown, part.Rect, part, part.Rect.Min, draw.Over)
		img := must.Get(frame(i))(t)
		want := grid([]image.Image{img, img}, 2)
		must.Same(t, shown.Pix, want.Pix, "frame %d is not what was drawn", i)
	}
	kept := must.Read(t, path)
	broken := func(int) (image.Image, error) { return nil, errors.New("out of ink") }
	must.Refuse(t, SaveGIF(path, 5, 25, broken), "film: frame 0: out of ink")
	must.Refuse(t, SaveGIF(path, 0, 25, frame), "")
	must.Same(t, must.Read(t, path), kept, "a failed film changed the file")
}

func TestSaveStrip(t *testing.T) {
	var pictures []image.Image
	for i := range 23 {
		img := image.NewRGBA(image.Rect(0, 0, 10, 8))
		for k := range img.Pix {
			img.Pix[k] = uint8(10 * i)
		}
		pictures = append(pictures, img)
	}
	path := filepath.Join(t.TempDir(), "strip.png")
	must.Do(t, SaveStrip(path, pictures, 6, 4))
	f := must.Open(os.Open(path))(t)
	img := must.Get(png.Decode(f))(t)
	must.Is(t, img.Bounds().Size(), image.Pt(4*14-4, 2*12-4), "a strip of %v", img.Bounds())
	for i, k := range []int{0, 4, 8, 13, 17, 22} {
		if r, _, _, _ := img.At(i%4*14+5, i/4*12+4).RGBA(); int(r>>8) != 10*k && k > 0 {
			t.Errorf("picture %d of the strip is not %d but %d", i, k, r>>8/10)
		}
	}
	must.Refuse(t, SaveStrip(path, nil, 1, 1), "")
}
