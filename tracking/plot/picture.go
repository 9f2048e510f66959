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

// dotsPerInch is the resolution of PNG pictures: pixels per 72 points.
const dotsPerInch = 120

// Picture is a drawing with a size in points, which are pixels in an HTML page. Draw draws it on gonum/plot's canvas,
// whose origin is at the lower left. It is called once for each file that is written.
type Picture struct {
	Width, Height vg.Length
	Label         string // describes the picture for readers who cannot see it
	Draw          func(draw.Canvas)
}

// EncodePNG writes the picture to w in the inks of light pages.
func (p Picture) EncodePNG(w io.Writer) error {
	img := vgimg.NewWith(vgimg.UseWH(p.Width, p.Height), vgimg.UseDPI(dotsPerInch),
		vgimg.UseBackgroundColor(color.White))
	p.Draw(draw.New(img))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// WritePNG writes the picture and replaces the file at path atomically.
func (p Picture) WritePNG(path string) error {
	if err := durable.WriteFile(path, p.EncodePNG); err != nil {
		return fmt.Errorf("plot: %s: %w", path, err)
	}
	return nil
}

// Font returns a style of text: its size in points, its ink, and whether it is bold. The text begins at its place,
// above it.
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

// Tip sets the tooltip of everything that is drawn from now on. "" ends it. PNG pictures ignore it.
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

// Sign is the shape of a [Mark]: a polygon, a circle if it has no corners, or a cross.
type Sign struct {
	corners int
	turn    float64 // the first corner's angle, in turns from the right
	reach   float64 // distance of the first and every second corner, in radii of the sign
	inner   float64 // distance of the other corners
	hollow  bool    // an outline, filled with the ink of the paper
	cross   bool    // lines between opposite corners
}

// The signs.
var (
	Cross         = Sign{corners: 4, turn: 1.0 / 8, reach: math.Sqrt2, inner: math.Sqrt2, cross: true}
	Star          = Sign{corners: 10, turn: 1.0 / 4, reach: 1, inner: 0.42}
	Square        = Sign{corners: 4, turn: 1.0 / 8, reach: math.Sqrt2, inner: math.Sqrt2}
	Triangle      = Sign{corners: 3, turn: 1.0 / 4, reach: 1.3, inner: 1.3}
	Diamond       = Sign{corners: 4, reach: 1.3, inner: 1.3}
	Dot           = Sign{reach: 1}
	HollowSquare  = Sign{corners: 4, turn: 1.0 / 8, reach: math.Sqrt2, inner: math.Sqrt2, hollow: true}
	HollowDiamond = Sign{corners: 4, reach: 1.3, inner: 1.3, hollow: true}
	Ring          = Sign{reach: 1, hollow: true}
)

// Draw draws the sign with a radius in points around a place.
func (s Sign) Draw(c draw.Canvas, ink color.Color, at vg.Point, radius vg.Length) {
	const border = vg.Length(1.3) // of hollow signs
	if s.corners == 0 {
		dot := draw.GlyphStyle{Color: ink, Radius: radius, Shape: draw.CircleGlyph{}}
		if s.hollow {
			dot.Radius += border / 2
			c.DrawGlyphNoClip(dot, at)
			dot.Color, dot.Radius = Paper, radius-border/2
		}
		c.DrawGlyphNoClip(dot, at)
		return
	}
	p := make([]vg.Point, s.corners)
	for k := range p {
		r := radius * vg.Length([]float64{s.reach, s.inner}[k%2])
		sin, cos := math.Sincos(2 * math.Pi * (s.turn + float64(k)/float64(s.corners)))
		p[k] = vg.Point{X: at.X + r*vg.Length(cos), Y: at.Y + r*vg.Length(sin)}
	}
	switch {
	case s.cross:
		c.StrokeLines(draw.LineStyle{Color: ink, Width: 2}, []vg.Point{p[0], p[2]}, []vg.Point{p[1], p[3]})
	case s.hollow:
		c.FillPolygon(Paper, p)
		c.StrokeLines(draw.LineStyle{Color: ink, Width: border}, append(p, p[0]))
	default:
		c.FillPolygon(ink, p)
	}
}

// Write writes a line of text on the baseline at. The style aligns its beginning, middle or end there.
func Write(c draw.Canvas, style text.Style, at vg.Point, words string) {
	at.Y -= style.FontExtents().Descent
	c.FillText(style, at, Plain(words, 200))
}
