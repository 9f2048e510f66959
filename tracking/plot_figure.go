package tracking

import (
	"image/color"
	"io"
	"math"
	"slices"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Sizes in points; a picture has dotsPerInch pixels for every 72 of them.
const (
	panelWidth  = 370
	panelHeight = 235
	margin      = 10
	panelGap    = 14
	legendGap   = 16 // between two entries
	thumbnail   = 20
	dotsPerInch = 120
)

var (
	inkColor  = color.Gray{0x26}
	axisColor = color.Gray{0x70}
	gridColor = color.Gray{0xe6}
)

func sans(size vg.Length, weight font.Weight) text.Style {
	return text.Style{
		Color:   inkColor,
		Font:    plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size},
		Handler: plot.DefaultTextHandler,
		XAlign:  text.XCenter,
		YAlign:  text.YTop,
	}
}

// figure is a grid of panels under a title and a legend.
type figure struct {
	title         string
	panels        []Panel
	rows, columns int
	names         map[string]int // which line style a name has
	legend        []legendEntry
}

type legendEntry struct {
	name  string
	style draw.LineStyle
	arrow bool
}

func newFigure(title string, panels []Panel, columns int) *figure {
	if columns < 1 {
		columns = int(math.Ceil(math.Sqrt(float64(len(panels)))))
	}
	columns = min(columns, len(panels))
	f := &figure{title: title, panels: panels, columns: columns, rows: (len(panels) + columns - 1) / columns, names: map[string]int{}}
	f.collectLegend()
	return f
}

func (f *figure) size() (width, height vg.Length) {
	width = vg.Length(2*margin + f.columns*panelWidth + (f.columns-1)*panelGap)
	return width, f.headHeight(width) + vg.Length(2*margin+f.rows*panelHeight+(f.rows-1)*panelGap)
}

func (f *figure) draw(c draw.Canvas) {
	f.drawHead(c)
	f.drawPanels(draw.Crop(c, 0, 0, 0, -f.headHeight(c.Size().X)))
}

func drawPNG(w io.Writer, title string, panels []Panel, columns int) error {
	f := newFigure(title, panels, columns)
	width, height := f.size()
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))
	f.draw(draw.New(img))
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

// style returns the line style of series i of a panel: by name, and by place where it has none. A faint one without a name
// has the place of that after it.
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

func (f *figure) collectLegend() {
	links, shown := false, map[string]bool{}
	for i := range f.panels {
		p := &f.panels[i]
		links = links || len(p.Links) > 0
		for j := range p.Series {
			s := &p.Series[j]
			style := f.style(p, j)
			if s.Name != "" && !s.Faint && !shown[s.Name] {
				shown[s.Name] = true
				f.legend = append(f.legend, legendEntry{name: s.Name, style: style})
			}
		}
	}
	if links {
		f.legend = append(f.legend, legendEntry{name: "copied to", arrow: true})
	}
}

// legendRows breaks the entries into rows that fit, with the entries' widths. Several rows are set in columns.
func (f *figure) legendRows(width vg.Length) (rows [][]legendEntry, widths []vg.Length, style text.Style) {
	style = sans(9.5, font.WeightNormal)
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

const (
	titleHeight  = 24
	panelTitle   = 14
	legendHeight = 15
)

func (f *figure) headHeight(width vg.Length) vg.Length {
	rows, _, _ := f.legendRows(width)
	h := vg.Length(legendHeight * len(rows))
	if len(rows) > 0 {
		h += 6
	}
	if f.title != "" {
		h += titleHeight
	}
	return h
}

func (f *figure) drawHead(c draw.Canvas) {
	y := c.Max.Y - margin
	if f.title != "" {
		c.FillText(sans(14, font.WeightBold), vg.Point{X: c.Center().X, Y: y}, f.title)
		y -= titleHeight
	}
	rows, widths, style := f.legendRows(c.Size().X)
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	left := c.Center().X
	if len(rows) > 0 {
		for i := range rows[0] { // the first row is the longest
			left -= widths[i] / 2
		}
		left += legendGap / 2
	}
	for _, row := range rows {
		x, mid := left, y-legendHeight/2
		for i, e := range row {
			if e.arrow {
				drawArrow(c, axisColor, vg.Point{X: x + ringRadius, Y: mid}, vg.Point{X: x + thumbnail, Y: mid})
			} else {
				e.style.Width = vg.Points(2)
				c.StrokeLine2(e.style, x, mid, x+thumbnail, mid)
			}
			c.FillText(style, vg.Point{X: x + thumbnail + 4, Y: mid}, e.name)
			x += widths[i]
		}
		y -= legendHeight
	}
}

func (f *figure) drawPanels(c draw.Canvas) {
	grid := make([][]*plot.Plot, f.rows)
	for r := range grid {
		grid[r] = make([]*plot.Plot, f.columns)
		for i := range grid[r] {
			if n := r*f.columns + i; n < len(f.panels) {
				grid[r][i] = f.plot(&f.panels[n])
			}
		}
	}
	tiles := draw.Tiles{
		Rows: f.rows, Cols: f.columns, PadX: panelGap, PadY: panelGap + panelTitle,
		PadTop: margin + panelTitle, PadBottom: margin, PadLeft: margin, PadRight: margin,
	}
	canvases := plot.Align(grid, tiles, c)
	for r := range grid {
		for i, p := range grid[r] {
			if p != nil {
				p.Draw(canvases[r][i])
				// Not plot's own title, which stands at another height where ticks reach beyond the axes.
				data := p.DataCanvas(canvases[r][i])
				title := sans(11, font.WeightBold)
				title.XAlign, title.YAlign = text.XCenter, text.YBottom
				c.FillText(title, vg.Point{X: data.Center().X, Y: data.Max.Y + 5}, f.panels[r*f.columns+i].Title)
			}
		}
	}
}

func (f *figure) plot(panel *Panel) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, rotation := sans(9.5, font.WeightNormal), a.Label.TextStyle.Rotation
		label.Rotation, label.YAlign = rotation, a.Label.TextStyle.YAlign
		a.Label.TextStyle, a.Label.Padding = label, 3
		tick := sans(8.5, font.WeightNormal)
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label, a.Tick.LineStyle.Color, a.Tick.Length = tick, axisColor, 4
		a.LineStyle.Color, a.Padding = axisColor, 0
	}
	p.X.Label.Text, p.Y.Label.Text = panel.XLabel, panel.YLabel
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks{6}, linearTicks{5}

	x, y, ok := panel.extent()
	if !ok {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(nil)
		p.Add(&notice{"no data", sans(10, font.WeightNormal)})
		return p
	}
	p.X.Min, p.X.Max = widen(x, 0.02, false)
	p.Y.Min, p.Y.Max = widen(y, 0.06, panel.LogY)
	if panel.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	gridLine := draw.LineStyle{Color: gridColor, Width: vg.Points(0.7)}
	label := sans(7.5, font.WeightNormal)
	label.Color = axisColor
	p.Add(&plotter.Grid{Vertical: gridLine, Horizontal: gridLine}, &eventLines{panel, label})
	styles := make([]draw.LineStyle, len(panel.Series))
	for i := range panel.Series {
		styles[i] = f.style(panel, i)
	}
	for _, faint := range []bool{true, false} { // those behind first
		for i := range panel.Series {
			if s := &panel.Series[i]; s.Faint == faint {
				p.Add(&curve{panel, s, styles[i]})
			}
		}
	}
	p.Add(&arrows{panel, styles})
	return p
}

// notice is a word in the middle of an empty panel.
type notice struct {
	text  string
	style text.Style
}

// Plot implements plot.Plotter.
func (d *notice) Plot(c draw.Canvas, _ *plot.Plot) {
	d.style.Color, d.style.YAlign = axisColor, text.YCenter
	c.FillText(d.style, c.Center(), d.text)
}
