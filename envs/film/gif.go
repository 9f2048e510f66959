// Package film writes the pictures that environments draw of themselves: films as GIF, and some pictures of a film side
// by side as PNG.
package film

import (
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"io"
	"math"

	"github.com/gorl-dev/gorl/envs/internal/palette"
	"github.com/gorl-dev/gorl/internal/durable"
)

// Pace returns how to film steps of the given duration, in seconds, in real time: a picture of every n-th step, and the
// number of pictures a second, at most 30. If the duration is 0, unknown, it returns 1 and 25.
func Pace(step float64) (n int, rate float64) {
	if step <= 0 {
		return 1, 25
	}
	n = max(1, int(math.Ceil(1/(30*step)-1e-6)))
	return n, 1 / (float64(n) * step)
}

// Panel is one of several pictures that a film shows side by side.
type Panel struct {
	// Frame returns picture i. It is called once for each i in ascending order, so it may step an environment. All
	// pictures of a panel have the same size.
	Frame func(i int) (image.Image, error)
}

// SaveGIF writes a film of the given number of frames to path, with the panels side by side. Most viewers show at most
// 50 frames a second; [Pace] suggests a rate. One palette serves the whole film, and each frame stores only what
// changes. After an error the file at path is unchanged.
func SaveGIF(path string, frames int, framesPerSecond float64, panels ...Panel) error {
	if frames <= 0 || len(panels) == 0 || !(framesPerSecond > 0) || framesPerSecond > 50 {
		return fmt.Errorf("film: a film of %d frames, %g a second, and %d panels; it needs frames, a rate in (0, "+
			"50] and a panel", frames, framesPerSecond, len(panels))
	}
	var film []*image.RGBA
	for i := range frames {
		img, err := sideBySide(i, panels)
		if err != nil {
			return fmt.Errorf("film: frame %d: %w", i, err)
		}
		if i > 0 && img.Rect != film[0].Rect {
			return fmt.Errorf("film: frame %d is %v, the first was %v", i, img.Rect, film[0].Rect)
		}
		film = append(film, img)
	}
	out := &gif.GIF{Delay: make([]int, frames), Disposal: make([]byte, frames)}
	colors := palette.New(1, film...)
	var shown *image.Paletted
	for i, img := range film {
		// Delays are whole hundredths of a second. Differences of rounded times keep rounding errors from adding up.
		out.Delay[i] = int(float64(i+1)*100/framesPerSecond+0.5) - int(float64(i)*100/framesPerSecond+0.5)
		out.Disposal[i] = gif.DisposalNone
		p := colors.Convert(img)
		out.Image = append(out.Image, changed(p, shown))
		shown = p
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { return gif.EncodeAll(w, out) }); err != nil {
		return fmt.Errorf("film: saving the film: %w", err)
	}
	return nil
}

// sideBySide returns picture i of all panels in a row, on white.
func sideBySide(i int, panels []Panel) (*image.RGBA, error) {
	const gap = 4 // pixels
	var imgs []image.Image
	size := image.Point{X: -gap}
	for _, p := range panels {
		img, err := p.Frame(i)
		if err != nil {
			return nil, err
		}
		imgs = append(imgs, img)
		size.X += img.Bounds().Dx() + gap
		size.Y = max(size.Y, img.Bounds().Dy())
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	x := 0
	for _, img := range imgs {
		b := img.Bounds()
		draw.Draw(out, image.Rect(x, 0, x+b.Dx(), b.Dy()), img, b.Min, draw.Src)
		x += b.Dx() + gap
	}
	return out, nil
}

// changed returns the smallest rectangle that contains all pixels that differ from the picture before. Equal pixels in
// it are transparent. That keeps files small. Without a difference it is a single pixel, because a frame cannot be
// empty.
func changed(p, before *image.Paletted) *image.Paletted {
	if before == nil {
		return p
	}
	var r image.Rectangle
	for y := range p.Rect.Dy() {
		for x := range p.Rect.Dx() {
			if p.Pix[y*p.Stride+x] != before.Pix[y*p.Stride+x] {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if r.Empty() {
		r = image.Rect(0, 0, 1, 1)
	}
	out := image.NewPaletted(r, p.Palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			at := y*p.Stride + x
			v := p.Pix[at]
			if v == before.Pix[at] {
				v = transparent
			}
			out.Pix[out.PixOffset(x, y)] = v
		}
	}
	return out
}

// transparent is the palette index of the colour that shows the frame before. palette.New reserves it.
const transparent = 0
