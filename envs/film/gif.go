// Package film writes the pictures that environments draw of themselves: films as GIF, and some pictures of a film side
// by side as PNG.
package film

import (
	"bytes"
	"fmt"
	"image"
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

// SaveGIF writes a film of the given number of frames to path, with the panels side by side. A panel returns picture i.
// It is called once for each i in ascending order, so it may step an environment. All its pictures have the same size.
//
// Most viewers show at most 50 frames a second; [Pace] suggests a rate. One palette serves the whole film, and each
// frame stores only what changes. After an error the file at path is unchanged.
func SaveGIF(path string, frames int, framesPerSecond float64, panels ...func(i int) (image.Image, error)) error {
	if frames <= 0 || len(panels) == 0 || !(framesPerSecond > 0) || framesPerSecond > 50 {
		return fmt.Errorf("film: a film of %d frames, %g a second, and %d panels; it needs frames, a rate in (0, "+
			"50] and a panel", frames, framesPerSecond, len(panels))
	}
	var film []*image.RGBA
	for i := range frames {
		pictures := make([]image.Image, len(panels))
		for k, panel := range panels {
			var err error
			if pictures[k], err = panel(i); err != nil {
				return fmt.Errorf("film: frame %d: %w", i, err)
			}
		}
		img := grid(pictures, len(pictures))
		if i > 0 && img.Rect != film[0].Rect {
			return fmt.Errorf("film: frame %d is %v, the first was %v", i, img.Rect, film[0].Rect)
		}
		film = append(film, img)
	}
	out := &gif.GIF{Disposal: bytes.Repeat([]byte{gif.DisposalNone}, frames)}
	colors := palette.New(1, film...)
	var shown *image.Paletted
	for i, img := range film {
		// Delays are whole hundredths of a second. Differences of rounded times keep rounding errors from adding up.
		end := func(i int) int { return int(float64(i)*100/framesPerSecond + 0.5) }
		p := colors.Convert(img)
		out.Delay, out.Image = append(out.Delay, end(i+1)-end(i)), append(out.Image, changed(p, shown))
		shown = p
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { return gif.EncodeAll(w, out) }); err != nil {
		return fmt.Errorf("film: saving the film: %w", err)
	}
	return nil
}

// changed returns a picture in which the pixels that equal those of the picture before are transparent. That keeps
// files small.
func changed(p, before *image.Paletted) *image.Paletted {
	if before == nil {
		return p
	}
	out := image.NewPaletted(p.Rect, p.Palette)
	for i, v := range p.Pix {
		if out.Pix[i] = v; v == before.Pix[i] {
			out.Pix[i] = transparent
		}
	}
	return out
}

// transparent is the palette index of the colour that shows the frame before. palette.New reserves it.
const transparent = 0
