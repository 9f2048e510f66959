package classic

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"
)

// picture is a canvas with metres for units, y upwards. The environments draw themselves on it.
type picture struct {
	image  draw.Image
	raster *vector.Rasterizer
	// scale and scaleY are in pixels a metre, across and upwards.
	scale, scaleY float64
	// left and base are the lower left corner, in metres.
	left, base float64
}

// newPicture returns a white canvas of width × height pixels.
func newPicture(width, height int, scale, left, base float64) *picture {
	p := &picture{image: image.NewRGBA(image.Rect(0, 0, width, height)), raster: vector.NewRasterizer(width, height),
		scale: scale, scaleY: scale, left: left, base: base}
	draw.Draw(p.image, p.image.Bounds(), image.White, image.Point{}, draw.Src)
	return p
}

// polygon fills the polygon through points x0, y0, x1, y1, ...
func (p *picture) polygon(c color.Color, points ...float64) { p.fill(image.NewUniform(c), points...) }

// fill fills the polygon through points x0, y0, x1, y1, ... with the colours of another picture.
func (p *picture) fill(with image.Image, points ...float64) {
	size := p.image.Bounds()
	p.raster.Reset(size.Dx(), size.Dy())
	for i := 0; i < len(points); i += 2 {
		x := float32((points[i] - p.left) * p.scale)
		y := float32(float64(size.Dy()) - (points[i+1]-p.base)*p.scaleY)
		if i == 0 {
			p.raster.MoveTo(x, y)
		} else {
			p.raster.LineTo(x, y)
		}
	}
	p.raster.ClosePath()
	p.raster.Draw(p.image, size, with, image.Point{})
}

// box fills an upright rectangle from (x0, y0) to (x1, y1).
func (p *picture) box(x0, y0, x1, y1 float64, c color.Color) {
	p.polygon(c, x0, y0, x1, y0, x1, y1, x0, y1)
}

// line draws a line of a width in metres, with flat ends.
func (p *picture) line(x0, y0, x1, y1, width float64, c color.Color) {
	length := math.Hypot(x1-x0, y1-y0)
	if length == 0 {
		return
	}
	nx, ny := -(y1-y0)/length*width/2, (x1-x0)/length*width/2
	p.polygon(c, x0+nx, y0+ny, x1+nx, y1+ny, x1-nx, y1-ny, x0-nx, y0-ny)
}

// disc fills a circle, drawn as a polygon with 24 corners, or one for each pixel of a longer radius.
func (p *picture) disc(x, y, radius float64, c color.Color) {
	corners := max(24, int(radius*p.scale))
	points := make([]float64, 0, 2*corners)
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(corners))
		points = append(points, x+radius*cos, y+radius*sin)
	}
	p.polygon(c, points...)
}
