package plot

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	if s.Dashed {
		style.Dashes = dashes[1]
	}
	if s.Faint {
		style.Color, style.Width = fade(style.Color, 0.25), vg.Points(0.8)
	}
	return style
}

// plotters returns what draws a series: the areas between its bounds, and its lines between gaps.
func (p *Panel) plotters(s *Series, style draw.LineStyle) (list []plot.Plotter) {
	p.stretches(s, [][]float64{s.Low, s.High}, func(bounds []plotter.XYs) {
		if low, high := bounds[0], bounds[1]; len(low) > 1 {
			slices.Reverse(high)
			ring := []plotter.XYs{append(low, high...)}
			list = append(list, &plotter.Polygon{XYs: ring, Color: fade(style.Color, 0.2)})
		}
	})
	p.stretches(s, [][]float64{s.Y}, func(line []plotter.XYs) {
		if points := thin(line[0], 4000); len(points) > 1 {
			list = append(list, &plotter.Line{XYs: points, LineStyle: style})
		} else { // a line through one point is invisible
			dot := draw.GlyphStyle{Color: style.Color, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
			list = append(list, &plotter.Scatter{XYs: points, GlyphStyle: dot})
		}
	})
	return list
}

// stretches calls each for every stretch of a series in which all of ys are visible, with the points of each of them.
func (p *Panel) stretches(s *Series, ys [][]float64, each func([]plotter.XYs)) {
	stretch := make([]plotter.XYs, len(ys))
	for i := 0; i <= len(ys[0]); i++ {
		gap := func(y []float64) bool { return !p.visible(s.X[i], y[i]) }
		switch {
		case i < len(ys[0]) && !slices.ContainsFunc(ys, gap):
			for k, y := range ys {
				stretch[k] = append(stretch[k], plotter.XY{X: s.X[i], Y: y[i]})
			}
		case stretch[0] != nil:
			each(stretch)
			stretch = make([]plotter.XYs, len(ys))
		}
	}
}

// thin reduces a longer line to about most points: the first, lowest, highest and last of every part.
func thin(points plotter.XYs, most int) plotter.XYs {
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
		for _, i := range slices.Compact([]int{0, min(lo, hi), max(lo, hi), len(part) - 1}) {
			out = append(out, part[i])
		}
	}
	return out
}
