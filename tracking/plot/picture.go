package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/gorl-dev/gorl/internal/durable"
)

// dotsPerInch is the resolution of PNG pictures: so many pixels for every 72 points.
const dotsPerInch = 120

// Picture is a drawing of a size in points, which are pixels in an HTML page. Draw draws it with gonum/plot's canvas,
// whose origin is at the lower left; it is called once for each file that is written.
type Picture struct {
	Width, Height vg.Length
	Label         string // says what the picture shows to readers who cannot see it
	Draw          func(draw.Canvas)
}

// EncodePNG writes the picture to w in the inks of light pages.
func (p Picture) EncodePNG(w io.Writer) error {
	img := vgimg.NewWith(vgimg.UseWH(p.Width, p.Height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))
	p.Draw(draw.New(img))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// WritePNG puts the picture at path, which holds either the old content or the new one.
func (p Picture) WritePNG(path string) error {
	if err := durable.WriteFile(path, p.EncodePNG); err != nil {
		return fmt.Errorf("plot: %s: %w", path, err)
	}
	return nil
}

// Above returns one picture over another, with a gap in points between them.
func (p Picture) Above(below Picture, gap vg.Length) Picture {
	height := p.Height + gap + below.Height
	return Picture{Width: max(p.Width, below.Width), Height: height, Label: p.Label, Draw: func(c draw.Canvas) {
		p.Draw(draw.Crop(c, 0, p.Width-c.Size().X, below.Height+gap, 0))
		below.Draw(draw.Crop(c, 0, below.Width-c.Size().X, 0, -p.Height-gap))
	}}
}

// Font returns the style of text in pictures: its size in points, its ink, and whether it is bold. It begins at its place
// and stands above it.
func Font(size vg.Length, ink color.Color, bold bool) text.Style {
	weight := font.WeightNormal
	if bold {
		weight = font.WeightBold
	}
	return text.Style{
		Color: ink, Handler: plot.DefaultTextHandler, XAlign: text.XLeft, YAlign: text.YBottom,
		Font: plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size},
	}
}

// Tip makes a text the tooltip of what is drawn from now on; "" ends it. Pictures without tooltips ignore it.
func Tip(c draw.Canvas, tooltip string) {
	for v := c.Canvas; ; {
		switch canvas := v.(type) {
		case draw.Canvas: // a part of another
			v = canvas.Canvas
			continue
		case *svg:
			canvas.tip = tooltip
		}
		return
	}
}

// Sign is the form of a [Mark].
type Sign int

// The signs. Hollow ones are filled with the ink of the paper.
const (
	Cross Sign = iota
	Star
	Square
	Triangle
	Diamond
	Dot
	HollowSquare
	HollowDiamond
	Ring
)

// DrawSign draws a sign of the given radius in points around a place.
func DrawSign(c draw.Canvas, sign Sign, ink color.Color, at vg.Point, radius vg.Length) {
	// corners are n points around the place, the first so many turns from the right; every second is nearer to it.
	corners := func(n int, first float64, r, nearer vg.Length) (points []vg.Point) {
		for k := range n {
			reach := r
			if k%2 == 1 {
				reach = nearer
			}
			sin, cos := math.Sincos(2 * math.Pi * (first + float64(k)/float64(n)))
			points = append(points, vg.Point{X: at.X + reach*vg.Length(cos), Y: at.Y + reach*vg.Length(sin)})
		}
		return points
	}
	square := corners(4, 1.0/8, radius*math.Sqrt2, radius*math.Sqrt2)
	diamond := corners(4, 0, 1.3*radius, 1.3*radius)
	hollow := func(p []vg.Point) {
		c.FillPolygon(Paper, p)
		c.StrokeLines(draw.LineStyle{Color: ink, Width: border}, append(p, p[0]))
	}
	dot := func(k color.Color, r vg.Length) {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: k, Radius: r, Shape: draw.CircleGlyph{}}, at)
	}
	switch sign {
	case Cross:
		c.StrokeLines(draw.LineStyle{Color: ink, Width: 2}, []vg.Point{square[0], square[2]}, []vg.Point{square[1], square[3]})
	case Star:
		c.FillPolygon(ink, corners(10, 1.0/4, radius, 0.42*radius))
	case Square:
		c.FillPolygon(ink, square)
	case Triangle:
		c.FillPolygon(ink, corners(3, 1.0/4, 1.3*radius, 1.3*radius))
	case Diamond:
		c.FillPolygon(ink, diamond)
	case HollowSquare:
		hollow(square)
	case HollowDiamond:
		hollow(diamond)
	case Dot:
		dot(ink, radius)
	case Ring:
		dot(ink, radius+border/2)
		dot(Paper, radius-border/2)
	}
}

// border is the width of the lines around hollow signs.
const border = vg.Length(1.3)

// Write writes text in one line whose letters stand on the height of at, and which begins, ends or has its middle there as
// the style says.
func Write(c draw.Canvas, style text.Style, at vg.Point, words string) {
	at.Y -= style.FontExtents().Descent
	c.FillText(style, at, Plain(words, 200))
}
