package palette

import (
	"image"
	"image/color"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Pictures with few enough colours keep them, as do their transparent places; a reserved colour is in no picture.
func TestExactColours(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 256 {
		img.SetRGBA(i%16, i/16, color.RGBA{uint8(i), uint8(i / 2), 0, 0xff})
	}
	img.SetRGBA(3, 3, color.RGBA{})
	for reserved, exact := range map[int]bool{0: true, 1: false} {
		p := New(reserved, img).Convert(img)
		same := true
		for y := range 16 {
			for x := range 16 {
				same = same && p.At(x, y) == img.At(x, y)
				must.Not(t, int(p.ColorIndexAt(x, y)) < reserved, "%d, %d has a reserved colour", x, y)
			}
		}
		must.Not(t, same != exact || len(p.Palette) != 256, "%d reserved: exact is %v, of %d colours", reserved, same,
			len(p.Palette))
	}
	if got := RGBA(img.SubImage(image.Rect(2, 2, 5, 6))); got.Rect != image.Rect(0, 0, 3, 4) ||
		got.RGBAAt(1, 1) != (color.RGBA{}) {
		t.Errorf("a part is %v", got.Rect)
	}
}
