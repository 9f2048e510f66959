package mujoco

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

var (
	skyTop    = color.RGBA{0xf7, 0xf9, 0xfb, 0xff}
	skyBottom = color.RGBA{0xe3, 0xea, 0xf0, 0xff}
	ink       = color.RGBA{0x33, 0x3b, 0x44, 0xff}
)

// canvas draws pictures of the side view: outlines in metres, with smooth edges. It also writes the titles of
// perspective pictures. Calls between begin and finish draw into one picture.
type canvas struct {
	cfg RenderConfig
	// scale is in pixels per metre.
	scale float64
	// center is the x in metres at the middle of the picture.
	center float64
	// img is the picture being drawn, nil between pictures.
	img    *image.RGBA
	raster *vector.Rasterizer
	// pixels is scratch space of fill, reused to avoid allocations.
	pixels [][2]float64
	// small is the font of the ground's numbers, large that of the title.
	small font.Face
	large font.Face
}

// newCanvas returns a canvas for a configuration with all zeros replaced. Font sizes follow the picture's width.
func newCanvas(cfg RenderConfig) *canvas {
	return &canvas{
		cfg: cfg, scale: float64(cfg.Width) / cfg.Span, raster: vector.NewRasterizer(cfg.Width, cfg.Height),
		small: face(float64(cfg.Width) / 29), large: face(float64(cfg.Width) / 21),
	}
}

// face returns the Go font in the given size in pixels, at least 7. The font is compiled into the program, so a failure
// to parse it is a programming error.
func face(size float64) font.Face {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic("mujoco: the built-in font: " + err.Error())
	}
	out, err := opentype.NewFace(f, &opentype.FaceOptions{Size: max(7, size), DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		panic("mujoco: the built-in font: " + err.Error())
	}
	return out
}

// begin starts a picture with an empty sky, whose middle is at x metres.
func (c *canvas) begin(x float64) {
	c.center = x
	c.img = image.NewRGBA(image.Rect(0, 0, c.cfg.Width, c.cfg.Height))
	const bands = 16 // few enough colours for a GIF
	for y := range c.cfg.Height {
		t := math.Floor(bands*float64(y)/float64(c.cfg.Height)) / (bands - 1)
		draw.Draw(c.img, image.Rect(0, y, c.cfg.Width, y+1), image.NewUniform(mix(skyTop, skyBottom, t)), image.Point{},
			draw.Src)
	}
}

// finish returns the picture.
func (c *canvas) finish() *image.RGBA {
	img := c.img
	c.img = nil
	return img
}

// mix interpolates linearly from a (t = 0) to b (t = 1).
func mix(a, b color.RGBA, t float64) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
}

// pixel converts a place in metres to pixels, with y downwards.
func (c *canvas) pixel(p point) (x, y float64) {
	return float64(c.cfg.Width)/2 + (p.x-c.center)*c.scale, float64(c.cfg.Height)/2 - (p.z-c.cfg.CenterZ)*c.scale
}

// fill paints the inside of a closed outline with smooth edges.
func (c *canvas) fill(outline []point, col color.Color) {
	if len(outline) < 3 {
		return
	}
	// The rasteriser only gets the outline's bounding box, because its time grows with the area.
	w, h := float64(c.cfg.Width), float64(c.cfg.Height)
	c.pixels = c.pixels[:0]
	x0, y0, x1, y1 := w, h, 0.0, 0.0
	for _, p := range outline {
		x, y := c.pixel(p)
		x, y = max(-4*w, min(5*w, x)), max(-4*h, min(5*h, y))
		c.pixels = append(c.pixels, [2]float64{x, y})
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	x0, y0 = math.Floor(max(0, x0)), math.Floor(max(0, y0))
	box := image.Rect(int(x0), int(y0), int(math.Ceil(min(w, x1))), int(math.Ceil(min(h, y1))))
	if box.Empty() || x0 >= x1 || y0 >= y1 {
		return
	}
	c.raster.Reset(box.Dx(), box.Dy())
	for i, p := range c.pixels {
		x, y := float32(p[0]-x0), float32(p[1]-y0)
		if i == 0 {
			c.raster.MoveTo(x, y)
		} else {
			c.raster.LineTo(x, y)
		}
	}
	c.raster.ClosePath()
	c.raster.Draw(c.img, box, image.NewUniform(col), image.Point{})
}

// fillOutlined fills an outline and draws its edge in a darker tone: a larger dark shape under a smaller one.
func (c *canvas) fillOutlined(outline []point, col color.RGBA) {
	if len(outline) == 0 {
		return
	}
	pixel := float64(c.cfg.Width) / 320 / c.scale
	c.fill(grown(outline, 0.4*pixel), mix(col, color.RGBA{0x10, 0x14, 0x18, col.A}, 0.45))
	c.fill(grown(outline, -1.0*pixel), col)
}

// ground draws the floor at height z, with a mark every half metre and a number every metre. In wide views the
// distances double until the marks have room.
func (c *canvas) ground(z float64, col color.RGBA) {
	left, right := c.center-c.cfg.Span, c.center+c.cfg.Span
	bottom := c.cfg.CenterZ - c.cfg.Span*float64(c.cfg.Height)/float64(c.cfg.Width)
	top := mix(col, color.RGBA{0xff, 0xff, 0xff, 0xff}, 0.55)
	c.fill([]point{{left, bottom}, {right, bottom}, {right, z}, {left, z}}, top)
	pixel := float64(c.cfg.Width) / 320 / c.scale
	c.fill([]point{{left, z - 1.5*pixel}, {right, z - 1.5*pixel}, {right, z}, {left, z}}, ink)
	unit := 0.5
	for c.cfg.Span/unit > 16 {
		unit *= 2
	}
	for k := math.Ceil(left / unit); k*unit < right; k++ {
		x, length, w := k*unit, 4*pixel, 0.5*pixel
		major := math.Mod(k, 2) == 0
		if major {
			length, w = 9*pixel, 0.8*pixel
		}
		c.fill([]point{{x - w, z - length}, {x + w, z - length}, {x + w, z}, {x - w, z}}, ink)
		if major {
			text := fmt.Sprintf("%g", x)
			px, py := c.pixel(point{x, z - 10*pixel})
			c.text(c.small, text, px-c.width(c.small, text)/2, py+float64(c.small.Metrics().Ascent.Ceil()), ink)
		}
	}
}

// shadow darkens a flat ellipse of the given horizontal radius in metres on the ground at height z. strength is in
// [0, 1].
func (c *canvas) shadow(x, z, radius, strength float64) {
	outline := make([]point, 0, arc)
	for sin, cos := range circle {
		outline = append(outline, point{x + radius*cos, z + 0.12*radius*sin - 0.02*c.cfg.Span/2.4})
	}
	// Few distinct strengths keep the number of colours low enough for a GIF.
	c.fill(outline, color.RGBA{0, 0, 0, uint8(math.Round(4*strength) * 9)})
}

// title writes the configured title into the upper left corner.
func (c *canvas) title() {
	if c.cfg.Title != "" {
		c.text(c.large, c.cfg.Title, float64(c.cfg.Width)/28, float64(c.cfg.Width)/14, ink)
	}
}

// text writes s with its baseline beginning at (x, y) pixels.
func (c *canvas) text(f font.Face, s string, x, y float64, col color.Color) {
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(col), Face: f,
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(math.Round(y)) * 64}}
	d.DrawString(s)
}

// width returns the width of a text in pixels.
func (c *canvas) width(f font.Face, s string) float64 { return float64(font.MeasureString(f, s)) / 64 }
