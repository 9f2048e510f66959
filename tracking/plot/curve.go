package plot

import (
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
	return style
}

// curve draws a series, with gaps.
type curve struct {
	panel  *Panel
	series *Series
	style  draw.LineStyle
}

// Plot implements plot.Plotter.
func (d *curve) Plot(c draw.Canvas, p *plot.Plot) {
	d.shade(c, p)
	dot := draw.GlyphStyle{Color: d.style.Color, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
	for _, run := range d.runs(c, p) {
		if len(run) > 1 {
			c.StrokeLines(d.style, run)
		} else { // a line through one point is invisible
			c.DrawGlyphNoClip(dot, run[0])
		}
	}
}

// shade fills the areas between the bounds of the curve.
func (d *curve) shade(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	s, fill := d.series, fade(d.style.Color, 0.2)
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
	const most = 4000 // points of a line
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
