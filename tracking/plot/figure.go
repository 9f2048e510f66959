package plot

import (
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Sizes in points. Those of the second group grow with the text.
const (
	panelWidth  = 370 // with labels
	panelHeight = 235
	margin      = 10
	panelGap    = 14
	legendGap   = 16 // between two entries
	thumbnail   = 20

	titleHeight  = 24
	panelTitle   = 14
	legendHeight = 15
)

// dotsPerInch is the resolution of pictures: pixels per 72 points.
const dotsPerInch = 120

// encodePNG writes the figure to w.
func (f *figure) encodePNG(w io.Writer) error {
	img := vgimg.NewWith(vgimg.UseWH(f.width(), f.height()), vgimg.UseDPI(dotsPerInch),
		vgimg.UseBackgroundColor(color.White))
	f.draw(draw.New(img))
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

// figure is a grid of panels under a title and a legend, row by row.
type figure struct {
	title         string
	panels        []Panel
	columns, rows int
	names         map[string]int // the line style of a name: names are numbered as they appear
	legend        []legendEntry
	entryWidth    vg.Length // of the widest entry, with the gap to the next
	perRow        int       // entries
}

// legendEntry is a sample of a line with its name.
type legendEntry struct {
	name  string
	style draw.LineStyle
}

// newFigure returns a figure with its layout and its legend. If columns is below 1, the figure has as many columns as
// rows, or one more.
func newFigure(title string, panels []Panel, columns int) *figure {
	n := len(panels)
	if columns < 1 {
		columns = int(math.Ceil(math.Sqrt(float64(n))))
	}
	columns = max(1, min(columns, n))
	f := &figure{title: title, panels: panels, columns: columns, rows: (n + columns - 1) / columns,
		names: map[string]int{}}
	f.layOutLegend()
	return f
}

// width returns the width of the figure, in points.
func (f *figure) width() vg.Length {
	columns := vg.Length(f.columns)
	return 2*margin + columns*panelWidth + (columns-1)*panelGap
}

// height returns the height of the figure, in points.
func (f *figure) height() vg.Length {
	rows := vg.Length(f.rows)
	return f.headHeight() + 2*margin + rows*panelHeight + (rows-1)*panelGap
}

// draw draws the figure on a canvas of its size.
func (f *figure) draw(c draw.Canvas) {
	f.drawHead(c)
	f.drawPanels(draw.Crop(c, 0, 0, 0, -f.headHeight()))
}

// style returns the line style of series i of a panel. Series of one name have one style in all panels. A series
// without a name has the style of its index in the panel. A faint one without a name has the style of the series after
// it.
func (f *figure) style(p *Panel, i int) draw.LineStyle {
	s := &p.Series[i]
	for _, before := range p.Series[:i] {
		if before.Faint && before.Name == "" {
			i--
		}
	}
	n, ok := f.names[s.Name]
	if !ok {
		n = i
		if s.Name != "" {
			n = len(f.names)
			f.names[s.Name] = n
		}
	}
	return lineStyle(n, s)
}

// legendText is the style of the names in the legend.
var legendText = textStyle(9.5, black, false)

// layOutLegend makes an entry for every name, in the order in which names appear. All are as wide as the widest.
func (f *figure) layOutLegend() {
	for i := range f.panels {
		p := &f.panels[i]
		for j, s := range p.Series {
			style, same := f.style(p, j), func(e legendEntry) bool { return e.name == s.Name }
			if s.Name != "" && !s.Faint && !slices.ContainsFunc(f.legend, same) {
				f.legend = append(f.legend, legendEntry{s.Name, style})
				f.entryWidth = max(f.entryWidth, thumbnail+4+legendText.Width(s.Name)+legendGap)
			}
		}
	}
	f.perRow = max(1, int((f.width()-2*margin)/max(1, f.entryWidth)))
}

// headHeight returns the height of title and legend, with the gap to the panels.
func (f *figure) headHeight() vg.Length {
	h := legendHeight * vg.Length((len(f.legend)+f.perRow-1)/f.perRow)
	if h > 0 {
		h += 6
	}
	if f.title != "" {
		h += titleHeight
	}
	return h
}

// drawHead draws the title in the middle of the upper edge, and the legend below it.
func (f *figure) drawHead(c draw.Canvas) {
	y := c.Max.Y - margin
	if f.title != "" {
		title := textStyle(14, black, true)
		title.XAlign, title.YAlign = text.XCenter, text.YTop
		c.FillText(title, vg.Point{X: c.Center().X, Y: y}, clean(f.title, 200))
		y -= titleHeight
	}
	names := legendText
	names.YAlign = text.YCenter
	for i, e := range f.legend {
		x := margin + f.entryWidth*vg.Length(i%f.perRow)
		mid := y - legendHeight*(vg.Length(i/f.perRow)+0.5)
		e.style.Width = vg.Points(2)
		c.StrokeLines(e.style, []vg.Point{{X: x, Y: mid}, {X: x + thumbnail, Y: mid}})
		c.FillText(names, vg.Point{X: x + thumbnail + 4, Y: mid}, e.name)
	}
}

// drawPanels draws the panels with aligned axes: those of a column at the left, those of a row at the bottom.
func (f *figure) drawPanels(c draw.Canvas) {
	plots := make([]*plot.Plot, f.rows*f.columns)
	for i := range f.panels {
		plots[i] = f.plot(&f.panels[i])
	}
	grid := slices.Collect(slices.Chunk(plots, f.columns))
	tiles := draw.Tiles{
		Rows: f.rows, Cols: f.columns, PadX: panelGap, PadY: panelGap + panelTitle,
		PadTop: margin + panelTitle, PadBottom: margin, PadLeft: margin, PadRight: margin,
	}
	canvases := plot.Align(grid, tiles, c)
	for i, panel := range f.panels {
		at := canvases[i/f.columns][i%f.columns]
		plots[i].Draw(at)
		// The position of plot's own title depends on the ticks.
		data, title := plots[i].DataCanvas(at), textStyle(11, black, true)
		title.XAlign = text.XCenter
		c.FillText(title, vg.Point{X: data.Center().X, Y: data.Max.Y + 5}, clean(panel.Title, 200))
	}
}

// plot returns a panel as a plot of gonum/plot: axes and, from back to front, the grid, faint curves and curves.
func (f *figure) plot(panel *Panel) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, tick := textStyle(9.5, black, false), textStyle(8.5, black, false)
		label.XAlign, label.YAlign = text.XCenter, a.Label.TextStyle.YAlign
		label.Rotation = a.Label.TextStyle.Rotation
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Label.Padding = label, 3
		a.Tick.Label, a.Tick.LineStyle.Color, a.Tick.Length = tick, muted, 4
		a.LineStyle.Color, a.Padding = muted, 0
	}
	p.X.Label.Text, p.Y.Label.Text = panel.XLabel, clean(panel.YLabel, 60)
	p.X.Tick.Marker = Linear.ticker(max(3, panelWidth/60))
	p.Y.Tick.Marker = panel.Scale.ticker(max(3, panelHeight/45))
	gridLine := draw.LineStyle{Color: gridColor, Width: vg.Points(0.7)}
	p.Add(&plotter.Grid{Vertical: gridLine, Horizontal: gridLine})
	for _, faint := range []bool{true, false} {
		for i := range panel.Series {
			if s := &panel.Series[i]; s.Faint == faint {
				p.Add(panel.plotters(s, f.style(panel, i))...)
			}
		}
	}
	if p.X.Min > p.X.Max { // nothing is visible
		style := textStyle(10, muted, false)
		style.XAlign, style.YAlign = text.XCenter, text.YCenter
		p.Add(&plotter.Labels{XYs: plotter.XYs{{X: 0.5, Y: 0.5}}, Labels: []string{"no data"},
			TextStyle: []text.Style{style}})
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(nil)
		return p
	}
	p.X.Min, p.X.Max = Linear.widen(p.X.Min, p.X.Max, 0.02)
	p.Y.Min, p.Y.Max = panel.Scale.widen(p.Y.Min, p.Y.Max, 0.06)
	if panel.Scale == Log {
		p.Y.Scale = plot.LogScale{}
	}
	return p
}
