package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// dashes distinguish curves whose colours repeat.
var dashes = [][]vg.Length{nil, {6, 2.5}, {1.5, 2}, {7, 2, 1.5, 2}}

// lineStyle returns the style of the n-th name.
func lineStyle(n int, s *Series) draw.LineStyle {
	style := draw.LineStyle{
		Color: palette[n%len(palette)], Width: vg.Points(1.4), Dashes: dashes[n/len(palette)%len(dashes)],
	}
	if s.Color != nil {
		style.Color, style.Dashes = s.Color, nil
	}
	if s.Dashed {
		style.Dashes = dashes[1]
	}
	if s.Faint {
		style.Color, style.Width = pale(style.Color), vg.Points(0.8)
	}
	if s.Strong {
		style.Width = vg.Points(2.3)
	}
	return style
}

// strokeLine draws a curve's line, or its sample in the legend. A strong line is drawn over a wider, dark one.
func strokeLine(c draw.Canvas, s *Series, style draw.LineStyle, points []vg.Point) {
	if s.Strong {
		c.StrokeLines(draw.LineStyle{Color: Text, Width: style.Width + 2.1}, points)
	}
	c.StrokeLines(style, points)
}

// curve draws a series, with gaps.
type curve struct {
	panel  *Panel
	series *Series
	style  draw.LineStyle
}

// Plot implements plot.Plotter.
func (d *curve) Plot(c draw.Canvas, p *plot.Plot) {
	Tip(c, d.series.Tip)
	defer Tip(c, "")
	d.shade(c, p)
	dot := draw.GlyphStyle{Color: d.style.Color, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
	for _, run := range d.runs(c, p) {
		if len(run) > 1 {
			strokeLine(c, d.series, d.style, run)
		} else { // a line through one point is invisible
			c.DrawGlyphNoClip(dot, run[0])
		}
	}
	if d.series.Markers {
		trX, trY := p.Transforms(&c)
		for i, x := range d.series.X {
			if y := d.series.Y[i]; d.panel.visible(x, y) {
				c.DrawGlyphNoClip(dot, vg.Point{X: trX(x), Y: trY(y)})
			}
		}
	}
}

// shade fills the areas between the bounds of the curve.
func (d *curve) shade(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	s, fill := d.series, pale(d.style.Color)
	if ink, ok := d.style.Color.(Ink); ok {
		fill = ink.Fade(0.2)
	}
	var area []vg.Point // along the lower bound
	var above []vg.Point
	flush := func() {
		slices.Reverse(above)
		if len(area) > 1 {
			c.FillPolygon(fill, append(area, above...))
		}
		area, above = nil, nil
	}
	for i := range s.Low {
		if x := s.X[i]; d.panel.visible(x, s.Low[i]) && d.panel.visible(x, s.High[i]) {
			area = append(area, vg.Point{X: trX(x), Y: trY(s.Low[i])})
			above = append(above, vg.Point{X: trX(x), Y: trY(s.High[i])})
		} else {
			flush()
		}
	}
	flush()
}

// runs returns the curve's lines between gaps, on the canvas.
func (d *curve) runs(c draw.Canvas, p *plot.Plot) (runs [][]vg.Point) {
	// Curves of a panel with many curves get fewer points, so that pages of large populations stay small.
	most := min(max(28_000/len(d.panel.Series), 60), 4000)
	trX, trY := p.Transforms(&c)
	var run []vg.Point
	flush := func() {
		if len(run) > 0 {
			runs = append(runs, thin(run, most))
		}
		run = nil
	}
	for i, x := range d.series.X {
		y := d.series.Y[i]
		if !d.panel.visible(x, y) {
			flush()
			continue
		}
		at := vg.Point{X: trX(x), Y: trY(y)}
		if n := len(run); d.series.Steps && n > 0 && run[n-1].Y != at.Y {
			run = append(run, vg.Point{X: at.X, Y: run[n-1].Y})
		}
		run = append(run, at)
	}
	flush()
	return runs
}

// thin reduces a longer line to about most points: the first, lowest, highest and last of every part.
func thin(points []vg.Point, most int) []vg.Point {
	if len(points) <= most {
		return points
	}
	out, parts := points[:0:0], most/4
	for k := range parts {
		part := points[k*len(points)/parts : (k+1)*len(points)/parts]
		lo, hi := 0, 0
		for i, at := range part {
			if at.Y < part[lo].Y {
				lo = i
			}
			if at.Y > part[hi].Y {
				hi = i
			}
		}
		last := -1
		for _, i := range []int{0, min(lo, hi), max(lo, hi), len(part) - 1} {
			if i > last {
				out, last = append(out, part[i]), i
			}
		}
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
		// Arrows at one place are drawn side by side, beside the vertical line of a curve that changes there. Many
		// arrows are drawn close together.
		shift := 2 + min(3.5, 16/vg.Length(all[l.X]))*vg.Length(same[l.X])
		same[l.X]++
		x := trX(l.X) + shift
		drawArrow(c, d.styles[l.From].Color, vg.Point{X: x, Y: trY(from)}, vg.Point{X: x, Y: trY(to)})
	}
}

// drawArrow draws an arrow from a ring to a head. A very short one is only the ring.
func drawArrow(c draw.Canvas, ink color.Color, from, to vg.Point) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := vg.Length(math.Hypot(float64(dx), float64(dy)))
	if length >= arrowHead+ringRadius {
		dx, dy = dx/length, dy/length
		base := vg.Point{X: to.X - dx*arrowHead, Y: to.Y - dy*arrowHead}
		c.StrokeLines(draw.LineStyle{Color: ink, Width: arrowWidth}, []vg.Point{from, base})
		half := arrowHead * 0.42
		c.FillPolygon(ink, []vg.Point{
			to, {X: base.X - dy*half, Y: base.Y + dx*half}, {X: base.X + dy*half, Y: base.Y - dx*half},
		})
	}
	// over the shaft
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: ink, Radius: ringRadius, Shape: draw.CircleGlyph{}}, from)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: Paper, Radius: ringRadius - arrowWidth, Shape: draw.CircleGlyph{}}, from)
}

// eventLines draws the events of a panel, under the curves.
type eventLines struct {
	panel  *Panel
	curves []*curve
	label  draw.TextStyle
}

// Plot implements plot.Plotter.
func (d *eventLines) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: Muted, Width: vg.Points(0.8), Dashes: []vg.Length{3, 2}}
	var taken [][]vg.Point // lines that labels must not cross
	for _, k := range d.curves {
		taken = append(taken, k.runs(c, p)...)
	}
	text := d.label
	text.Rotation = math.Pi / 2
	text.XAlign, text.YAlign = draw.XRight, draw.YTop
	for _, e := range d.panel.Events {
		if !drawable(e.X) || !within(d.panel.XLimits, e.X) {
			continue
		}
		x := trX(e.X)
		c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		box := place(c, x, vg.Point{X: text.FontExtents().Height, Y: text.Width(e.Label)}, taken)
		c.FillText(text, vg.Point{X: box.Min.X, Y: box.Max.Y}, e.Label)
		a, b := box.Min, box.Max
		taken = append(taken, []vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}, a, b}) // the next label too
	}
}

// place returns the box of a label beside the vertical line at x that crosses none of the lines: as high as possible,
// and at the right if there is room. If there is no such box, the label is at the top.
func place(c draw.Canvas, x vg.Length, size vg.Point, lines [][]vg.Point) vg.Rectangle {
	const clear = 2 // above and below the label
	at := func(left, top vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: left, Y: top - size.Y}, Max: vg.Point{X: left + size.X, Y: top}}
	}
	for top := c.Max.Y - 1; top-size.Y > c.Min.Y; top -= 4 {
		for _, box := range []vg.Rectangle{at(x+1, top), at(x-1-size.X, top)} {
			around := draw.Canvas{Rectangle: vg.Rectangle{
				Min: box.Min.Sub(vg.Point{Y: clear}), Max: box.Max.Add(vg.Point{Y: clear}),
			}}
			if box.Min.X >= c.Min.X && box.Max.X <= c.Max.X && len(around.ClipLinesXY(lines...)) == 0 {
				return box
			}
		}
	}
	return at(x+1, c.Max.Y-1)
}
