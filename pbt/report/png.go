package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/gorl-dev/gorl/internal/durable"
)

const dotsPerInch = 120

// writePNG puts the scene at path, in the colours of light pages.
func (s *scene) writePNG(path string) error {
	img := vgimg.NewWith(vgimg.UseWH(vg.Length(s.width), vg.Length(s.height)), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))
	c := draw.New(img)
	for _, it := range s.items {
		it.draw(c, s.height)
	}
	if err := durable.WriteFile(path, func(w io.Writer) error {
		_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
		return err
	}); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (it item) draw(c draw.Canvas, height float64) {
	ink := it.ink.shades().light
	if it.opacity > 0 {
		ink.A = uint8(math.Round(255 * it.opacity))
	}
	place := func(p point) vg.Point { return vg.Point{X: vg.Length(p.x), Y: vg.Length(height - p.y)} }
	way := func() vg.Path {
		var p vg.Path
		for _, s := range it.path {
			switch s.op {
			case 'M':
				p.Move(place(s.p[2]))
			case 'L':
				p.Line(place(s.p[2]))
			case 'C':
				p.CubeTo(place(s.p[0]), place(s.p[1]), place(s.p[2]))
			case 'Z':
				p.Close()
			}
		}
		return p
	}
	border := draw.LineStyle{Color: ink, Width: 1.3}
	switch it.kind {
	case stroke:
		style := draw.LineStyle{Color: ink, Width: vg.Length(it.width)}
		if it.dash {
			style.Dashes = []vg.Length{4, 3}
		}
		c.SetLineStyle(style)
		c.Stroke(way())
	case fill:
		c.SetColor(ink)
		if it.hollow {
			c.SetColor(color.White)
		}
		c.Fill(way())
		if it.hollow {
			c.SetLineStyle(border)
			c.Stroke(way())
		}
	case dot:
		glyph := draw.GlyphStyle{Color: ink, Radius: vg.Length(it.radius), Shape: draw.CircleGlyph{}}
		if it.hollow {
			glyph.Radius += border.Width / 2
			c.DrawGlyph(glyph, place(it.at))
			glyph.Radius -= border.Width
			glyph.Color = color.White
		}
		c.DrawGlyph(glyph, place(it.at))
	case text:
		weight := font.WeightNormal
		if it.bold {
			weight = font.WeightBold
		}
		style := plottext.Style{
			Color: ink, Handler: plot.DefaultTextHandler, YAlign: draw.YBottom,
			Font:   plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Length(it.size)},
			XAlign: map[align]plottext.XAlignment{toLeft: draw.XLeft, toMiddle: draw.XCenter, toRight: draw.XRight}[it.align],
		}
		if it.upward {
			style.Rotation = math.Pi / 2
		}
		at := place(it.at)
		descent := style.FontExtents().Descent
		if it.upward {
			at.X += descent
		} else {
			at.Y -= descent
		}
		c.FillText(style, at, plain(it.text, 200))
	}
}
