package plot

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// Figure is a grid of panels under a title and a legend. [WritePNG] draws one with the default sizes.
type Figure struct {
	Title string
	// Label describes the figure for readers who cannot see it, see [Picture].
	Label string
	// Panels are drawn row by row. A series must have as many X as Y, and a link's curves must be in its panel.
	Panels []Panel
	// Columns is the number of panels per row. Default: as many as rows, or one more.
	Columns int
	// PanelWidth and PanelHeight are the size of a panel with its labels, in points. Larger panels get more ticks, not
	// larger text. Defaults 370 and 235.
	PanelWidth, PanelHeight vg.Length
	// TextScale multiplies the size of all text (7.5 to 14 points) and the room for it. Set it above 1 if the figure is
	// shown at a smaller size. Default 1.
	TextScale vg.Length
}

// Picture lays the figure out: the title and the legend at the top, below them the panels with their axes aligned.
func (f Figure) Picture() Picture {
	g := newGrid(f)
	width, height := g.size()
	return Picture{Width: width, Height: height, Label: f.Label, Draw: g.draw}
}

// grid is a figure with its layout.
type grid struct {
	Figure
	rows   int
	names  map[string]int // the line style of a name: names are numbered as they appear
	legend []legendEntry
}

// legendEntry is a sample of a line with its name. The arrow of links has no series.
type legendEntry struct {
	series *Series
	name   string
	style  draw.LineStyle
}

// newGrid fills in the figure's defaults and collects its legend.
func newGrid(f Figure) *grid {
	n := len(f.Panels)
	if f.Columns < 1 {
		f.Columns = int(math.Ceil(math.Sqrt(float64(n))))
	}
	f.Columns = max(1, min(f.Columns, n))
	f.PanelWidth = cmp.Or(f.PanelWidth, panelWidth)
	f.PanelHeight = cmp.Or(f.PanelHeight, panelHeight)
	f.TextScale = cmp.Or(f.TextScale, 1)
	g := &grid{Figure: f, rows: (n + f.Columns - 1) / f.Columns, names: map[string]int{}}
	g.collectLegend()
	return g
}

// size returns the size of the figure, in points.
func (f *grid) size() (width, height vg.Length) {
	columns, rows := vg.Length(f.Columns), vg.Length(f.rows)
	width = 2*margin + columns*f.PanelWidth + (columns-1)*panelGap
	return width, f.headHeight(width) + 2*margin + rows*f.PanelHeight + (rows-1)*panelGap
}

// font returns the style of the figure's text.
func (f *grid) font(size vg.Length, bold bool) text.Style { return Font(f.TextScale*size, Text, bold) }

// draw draws the figure on a canvas of its size.
func (f *grid) draw(c draw.Canvas) {
	f.drawHead(c)
	f.drawPanels(draw.Crop(c, 0, 0, 0, -f.headHeight(c.Size().X)))
}

// style returns the line style of series i of a panel. Series of one name have one style in all panels. A series
// without a name has the style of its index in the panel. A faint one without a name has the style of the series after
// it.
func (f *grid) style(p *Panel, i int) draw.LineStyle {
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

// collectLegend adds an entry for every name, in the order in which names appear, and one for links.
func (f *grid) collectLegend() {
	links, shown := false, map[string]bool{}
	for i := range f.Panels {
		p := &f.Panels[i]
		links = links || len(p.Links) > 0
		for j := range p.Series {
			s := &p.Series[j]
			style := f.style(p, j)
			if s.Name != "" && !s.Faint && !shown[s.Name] {
				shown[s.Name] = true
				if ink, ok := style.Color.(Ink); ok { // a curve may have a transparent one
					style.Color = ink.Fade(1)
				}
				f.legend = append(f.legend, legendEntry{s, s.Name, style})
			}
		}
	}
	if links {
		f.legend = append(f.legend, legendEntry{name: "copied to"})
	}
}

// legendRows breaks the legend into rows that fit into the width, and returns the widths of the entries. In several
// rows all entries are as wide as the widest, so that they form columns.
func (f *grid) legendRows(width vg.Length) (rows [][]legendEntry, widths []vg.Length, style text.Style) {
	style = f.font(9.5, false)
	var total, widest vg.Length
	for _, e := range f.legend {
		w := thumbnail + 4 + style.Width(e.name) + legendGap
		widths = append(widths, w)
		total, widest = total+w, max(widest, w)
	}
	fit := width - 2*margin
	if total <= fit {
		if len(f.legend) > 0 {
			rows = [][]legendEntry{f.legend}
		}
		return rows, widths, style
	}
	for i := range widths {
		widths[i] = widest
	}
	for row := range slices.Chunk(f.legend, max(1, int(fit/widest))) {
		rows = append(rows, row)
	}
	return rows, widths, style
}

// headHeight returns the height of title and legend, with the gap to the panels.
func (f *grid) headHeight(width vg.Length) vg.Length {
	rows, _, _ := f.legendRows(width)
	h := f.TextScale * legendHeight * vg.Length(len(rows))
	if len(rows) > 0 {
		h += 6
	}
	if f.Title != "" {
		h += f.TextScale * titleHeight
	}
	return h
}

// drawHead draws title and legend in the middle of the upper edge.
func (f *grid) drawHead(c draw.Canvas) {
	y := c.Max.Y - margin
	if f.Title != "" {
		title := f.font(14, true)
		title.XAlign, title.YAlign = text.XCenter, text.YTop
		c.FillText(title, vg.Point{X: c.Center().X, Y: y}, Plain(f.Title, 200))
		y -= f.TextScale * titleHeight
	}
	rows, widths, style := f.legendRows(c.Size().X)
	style.YAlign = text.YCenter
	left := c.Center().X
	if len(rows) > 0 {
		for i := range rows[0] { // the first row is the longest
			left -= widths[i] / 2
		}
		left += legendGap / 2
	}
	for _, row := range rows {
		x, mid := left, y-f.TextScale*legendHeight/2
		for i, e := range row {
			if e.series == nil {
				drawArrow(c, Muted, vg.Point{X: x + ringRadius, Y: mid}, vg.Point{X: x + thumbnail, Y: mid})
			} else {
				e.style.Width = vg.Points(2)
				strokeLine(c, e.series, e.style, []vg.Point{{X: x, Y: mid}, {X: x + thumbnail, Y: mid}})
			}
			c.FillText(style, vg.Point{X: x + thumbnail + 4, Y: mid}, e.name)
			x += widths[i]
		}
		y -= f.TextScale * legendHeight
	}
}

// drawPanels draws the panels with aligned axes: those of a column at the left, those of a row at the bottom.
func (f *grid) drawPanels(c draw.Canvas) {
	grid := make([][]*plot.Plot, f.rows)
	for r := range grid {
		grid[r] = make([]*plot.Plot, f.Columns)
		for i := range grid[r] {
			if n := r*f.Columns + i; n < len(f.Panels) {
				grid[r][i] = f.plot(&f.Panels[n])
			}
		}
	}
	tiles := draw.Tiles{
		Rows: f.rows, Cols: f.Columns, PadX: panelGap, PadY: panelGap + f.TextScale*panelTitle,
		PadTop: margin + f.TextScale*panelTitle, PadBottom: margin, PadLeft: margin, PadRight: margin,
	}
	canvases := plot.Align(grid, tiles, c)
	for r := range grid {
		for i, p := range grid[r] {
			if p != nil {
				p.Draw(canvases[r][i])
				// The position of plot's own title depends on the ticks.
				data := p.DataCanvas(canvases[r][i])
				title := f.font(11, true)
				title.XAlign = text.XCenter
				c.FillText(title, vg.Point{X: data.Center().X, Y: data.Max.Y + 5},
					Plain(f.Panels[r*f.Columns+i].Title, 200))
			}
		}
	}
}

// plot returns a panel as a plot of gonum/plot: axes and, from back to front, the grid, events, faint curves, curves,
// strong curves, links and marks.
func (f *grid) plot(panel *Panel) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, tick := f.font(9.5, false), f.font(8.5, false)
		label.XAlign, label.YAlign = text.XCenter, a.Label.TextStyle.YAlign
		label.Rotation = a.Label.TextStyle.Rotation
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Label.Padding = label, 3
		a.Tick.Label, a.Tick.LineStyle.Color, a.Tick.Length = tick, Muted, 4
		a.LineStyle.Color, a.Padding = Muted, 0
	}
	p.X.Label.Text, p.Y.Label.Text = panel.XLabel, Plain(panel.YLabel, 60)
	p.X.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		return Ticks(lo, hi, max(3, int(f.PanelWidth/f.TextScale/60)))
	})
	p.Y.Scale, p.Y.Tick.Marker = panel.Scale, panel.Scale.ticker(max(3, int(f.PanelHeight/f.TextScale/45)))

	x, y, ok := panel.extent()
	if !ok {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(nil)
		p.Y.Scale = plot.LinearScale{}
		p.Add(notice("no data"))
		return p
	}
	p.X.Min, p.X.Max = Linear.widen(x, 0.02)
	p.Y.Min, p.Y.Max = panel.Scale.widen(y, 0.06)
	if panel.XLimits != [2]float64{} {
		p.X.Min, p.X.Max = panel.XLimits[0], panel.XLimits[1]
	}
	gridLine := draw.LineStyle{Color: Grid, Width: vg.Points(0.7)}
	events := &eventLines{panel: panel, label: f.font(7.5, false)}
	events.label.Color = Muted
	p.Add(&plotter.Grid{Vertical: gridLine, Horizontal: gridLine}, events)
	styles := make([]draw.LineStyle, len(panel.Series))
	layers := make([][]*curve, 3) // from the back to the front
	for i := range panel.Series {
		s := &panel.Series[i]
		styles[i] = f.style(panel, i)
		layer := 1
		switch {
		case s.Faint:
			layer = 0
		case s.Strong:
			layer = 2
		}
		layers[layer] = append(layers[layer], &curve{panel, s, styles[i]})
	}
	for _, c := range slices.Concat(layers...) {
		p.Add(c)
		events.curves = append(events.curves, c)
	}
	p.Add(&arrows{panel, styles}, marks(panel.Marks))
	return p
}

// marks draws the marks of a panel, in front of all else.
type marks []Mark

// Plot implements plot.Plotter.
func (d marks) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for _, m := range d {
		at := vg.Point{X: trX(m.X), Y: c.Min.Y + 6}
		if !math.IsNaN(m.Y) {
			at.Y = trY(m.Y)
		}
		radius := vg.Length(3.2)
		if m.Sign == Star {
			radius = 7
		}
		if c.Contains(at) {
			Tip(c, m.Tip)
			m.Sign.Draw(c, m.Color, at, radius)
		}
	}
	Tip(c, "")
}

// notice is a word in the middle of an empty panel.
type notice string

// Plot implements plot.Plotter.
func (d notice) Plot(c draw.Canvas, _ *plot.Plot) {
	style := Font(10, Muted, false)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	c.FillText(style, c.Center(), string(d))
}
