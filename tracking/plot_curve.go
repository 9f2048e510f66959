package tracking

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette are the colours of Okabe and Ito (https://jfly.uni-koeln.de/color/), which the common forms of colour
// blindness can tell apart; grey stands for their yellow, which is too light on white.
var palette = []color.Color{
	color.NRGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.NRGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.NRGBA{0x00, 0x9e, 0x73, 0xff}, // green
	color.NRGBA{0xcc, 0x79, 0xa7, 0xff}, // purple
	color.NRGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	color.NRGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	color.NRGBA{0x22, 0x22, 0x22, 0xff}, // black
	color.NRGBA{0x8c, 0x8c, 0x8c, 0xff}, // grey
}

// dashes tell apart curves whose colours repeat.
var dashes = [][]vg.Length{nil, {6, 2.5}, {1.5, 2}, {7, 2, 1.5, 2}}

// lineStyle is that of the n-th name.
func lineStyle(n int, s *Series) draw.LineStyle {
	style := draw.LineStyle{Color: palette[n%len(palette)], Width: vg.Points(1.4), Dashes: dashes[n/len(palette)%len(dashes)]}
	if s.Color != nil {
		style.Color, style.Dashes = s.Color, nil
	}
	if s.Dashed {
		style.Dashes = dashes[1]
	}
	if s.Faint {
		style.Color, style.Width = pale(style.Color), vg.Points(0.8)
	}
	return style
}

// pale mixes a colour with three parts of white.
func pale(c color.Color) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	mix := func(v uint8) uint8 { return uint8((int(v) + 3*255) / 4) }
	return color.NRGBA{mix(n.R), mix(n.G), mix(n.B), n.A}
}

// curve draws a series, with gaps.
type curve struct {
	panel  *Panel
	series *Series
	style  draw.LineStyle
}

// Plot implements plot.Plotter.
func (d *curve) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	dot := draw.GlyphStyle{Color: d.style.Color, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
	var run []vg.Point
	flush := func() {
		switch {
		case len(run) == 1: // a line through one point is invisible
			c.DrawGlyph(dot, run[0])
		case len(run) > 1:
			c.StrokeLines(d.style, thin(run))
		}
		run = run[:0]
	}
	for i, x := range d.series.X {
		y := d.series.Y[i]
		if !d.panel.visible(x, y) {
			flush()
			continue
		}
		at := vg.Point{X: trX(x), Y: trY(y)}
		if n := len(run); d.series.Steps && n > 0 {
			run = append(run, vg.Point{X: at.X, Y: run[n-1].Y})
		}
		run = append(run, at)
		if d.series.Markers {
			c.DrawGlyph(dot, at)
		}
	}
	flush()
}

// thin leaves out points of a long line that share a pixel column with a higher and a lower one.
func thin(points []vg.Point) []vg.Point {
	const column = 0.25 // points
	if len(points) < 4000 {
		return points
	}
	out := points[:0:0]
	for start := 0; start < len(points); {
		lo, hi, end := start, start, start+1
		for end < len(points) && math.Abs(float64(points[end].X-points[start].X)) < column {
			if points[end].Y < points[lo].Y {
				lo = end
			}
			if points[end].Y > points[hi].Y {
				hi = end
			}
			end++
		}
		last := -1
		for _, i := range []int{start, min(lo, hi), max(lo, hi), end - 1} {
			if i > last {
				out, last = append(out, points[i]), i
			}
		}
		start = end
	}
	return out
}

// arrows draws the links of a panel, over the curves.
type arrows struct {
	panel  *Panel
	styles []draw.LineStyle // of the panel's series
}

const (
	arrowWidth = vg.Length(1)
	arrowHead  = vg.Length(4.5)
	ringRadius = vg.Length(2.6)
)

// Plot implements plot.Plotter.
func (d *arrows) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	all, same := map[float64]int{}, map[float64]int{}
	for _, l := range d.panel.Links {
		all[l.X]++
	}
	for _, l := range d.panel.Links {
		from, okFrom := d.panel.at(&d.panel.Series[l.From], l.X)
		to, okTo := d.panel.at(&d.panel.Series[l.To], l.X)
		if !okFrom || !okTo {
			continue
		}
		// Arrows at one place stand side by side, beside the vertical line of a curve that changes there; many stand close,
		// so that they are still seen to belong there.
		shift := 2 + min(3.5, 16/vg.Length(all[l.X]))*vg.Length(same[l.X])
		same[l.X]++
		x := trX(l.X) + shift
		drawArrow(c, d.styles[l.From].Color, vg.Point{X: x, Y: trY(from)}, vg.Point{X: x, Y: trY(to)})
	}
}

// drawArrow goes from a ring to a head; a very short one is the ring alone.
func drawArrow(c draw.Canvas, ink color.Color, from, to vg.Point) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := vg.Length(math.Hypot(float64(dx), float64(dy)))
	defer func() { // over the shaft
		c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: ringRadius, Shape: draw.CircleGlyph{}}, from)
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: ringRadius - arrowWidth, Shape: draw.CircleGlyph{}}, from)
	}()
	if length < arrowHead+ringRadius {
		return
	}
	dx, dy = dx/length, dy/length
	base := vg.Point{X: to.X - dx*arrowHead, Y: to.Y - dy*arrowHead}
	c.StrokeLines(draw.LineStyle{Color: ink, Width: arrowWidth}, []vg.Point{from, base})
	half := arrowHead * 0.42
	c.FillPolygon(ink, []vg.Point{to, {X: base.X - dy*half, Y: base.Y + dx*half}, {X: base.X + dy*half, Y: base.Y - dx*half}})
}

// eventLines draws the events of a panel, under the curves.
type eventLines struct {
	panel *Panel
	label draw.TextStyle
}

// Plot implements plot.Plotter.
func (d *eventLines) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: color.Gray{0x90}, Width: vg.Points(0.8), Dashes: []vg.Length{3, 2}}
	text := d.label
	text.Rotation = math.Pi / 2
	text.XAlign, text.YAlign = draw.XRight, draw.YTop
	for _, e := range d.panel.Events {
		if !drawable(e.X) {
			continue
		}
		x := trX(e.X)
		c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		c.FillText(text, vg.Point{X: x + 1, Y: c.Max.Y - 1}, e.Label)
	}
}
