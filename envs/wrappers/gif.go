package wrappers

import (
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
)

// paletted copies a picture into one of at most 256 colours with its corner at (0, 0): its own colours where it has no
// more, else the nearest of the Plan 9 palette.
func paletted(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	out := image.NewPaletted(image.Rect(0, 0, bounds.Dx(), bounds.Dy()), nil)
	if p, ok := img.(*image.Paletted); ok {
		out.Palette = append(color.Palette(nil), p.Palette...)
		for y := range bounds.Dy() {
			from := p.PixOffset(bounds.Min.X, bounds.Min.Y+y)
			copy(out.Pix[y*out.Stride:(y+1)*out.Stride], p.Pix[from:from+bounds.Dx()])
		}
		return out
	}
	index := make(map[color.RGBA]uint8, 256)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			c := color.RGBAModel.Convert(img.At(bounds.Min.X+x, bounds.Min.Y+y)).(color.RGBA)
			n, ok := index[c]
			if !ok {
				if len(out.Palette) == 256 {
					out.Palette = palette.Plan9
					draw.Draw(out, out.Rect, img, bounds.Min, draw.Src)
					return out
				}
				n = uint8(len(out.Palette))
				index[c] = n
				out.Palette = append(out.Palette, c)
			}
			out.Pix[y*out.Stride+x] = n
		}
	}
	return out
}
