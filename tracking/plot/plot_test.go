package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/gorl-dev/gorl/tracking"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on the device") }

func scale(log bool) Scale {
	if log {
		return Log
	}
	return Linear
}

func render(t *testing.T, title string, panels []Panel, columns int) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := (Figure{Title: title, Panels: panels, Columns: columns}).Picture().EncodePNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	must(t, err)
	return img
}

// inked returns the bounds of the pixels that have exactly this colour, and their number.
func inked(img image.Image, c color.Color) (box image.Rectangle, n int) {
	want := color.NRGBAModel.Convert(c)
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.NRGBAModel.Convert(img.At(x, y)) == want {
				box = box.Union(image.Rect(x, y, x+1, y+1))
				n++
			}
		}
	}
	return box, n
}

var magenta = color.NRGBA{0xff, 0, 0xff, 0xff}

func TestPlotGrid(t *testing.T) {
	panels := make([]Panel, 5)
	for _, tt := range []struct{ panels, columns, wantRows, wantColumns int }{
		{1, 0, 1, 1}, {1, 7, 1, 1}, {2, 2, 1, 2}, {2, 1, 2, 1}, {3, 0, 2, 2}, {5, 0, 2, 3}, {5, 2, 3, 2},
	} {
		f := newGrid(Figure{Panels: panels[:tt.panels], Columns: tt.columns})
		width, height := f.size()
		wantWidth, wantHeight := tt.wantColumns*(panelWidth+panelGap)-panelGap+2*margin, tt.wantRows*(panelHeight+panelGap)-panelGap+2*margin
		if f.rows != tt.wantRows || f.Columns != tt.wantColumns || width != vg.Length(wantWidth) ||
			height != vg.Length(wantHeight) {
			t.Errorf("%+v: %d rows, %d columns, %v × %v", tt, f.rows, f.Columns, width, height)
		}
	}
	got := render(t, "", panels[:1], 1).Bounds().Size()
	if want := (image.Point{(panelWidth + 2*margin) * dotsPerInch / 72,
		(panelHeight + 2*margin) * dotsPerInch / 72}); got != want {
		t.Errorf("%v pixels, want %v", got, want)
	}
}

// A curve with a gap has no ink in it, a curve without has.
func TestPlotGaps(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	middle := func(y []float64, logY bool) int {
		frame := Series{X: []float64{0, 8}, Y: []float64{0.5, 2}, Color: color.Transparent}
		p := Panel{Scale: scale(logY), Series: []Series{{X: x, Y: y, Color: magenta}, frame}}
		img := render(t, "", []Panel{p}, 1)
		b := img.Bounds()
		third := image.Rect(b.Dx()*47/100, 0, b.Dx()*58/100, b.Dy())
		_, n := inked(img.(interface {
			SubImage(image.Rectangle) image.Image
		}).SubImage(third), magenta)
		return n
	}
	for name, hole := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1),
		"huge": 1e300} {
		if n := middle([]float64{1, 1, 1, hole, hole, hole, 1, 1, 1}, false); n != 0 {
			t.Errorf("%s: %d pixels in the gap", name, n)
		}
	}
	if n := middle([]float64{1, 1, 1, -1, 0, -1, 1, 1, 1}, true); n != 0 {
		t.Errorf("not positive on a logarithmic axis: %d pixels in the gap", n)
	}
	if n := middle([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, false); n == 0 {
		t.Error("no ink where there is no gap")
	}
	// A point between two gaps shows as a dot.
	if n := middle([]float64{1, 1, 1, math.NaN(), 1, math.NaN(), 1, 1, 1}, false); n == 0 {
		t.Error("a point between two gaps is invisible")
	}
}

func TestPlotSurvivesAnything(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var panels []Panel
	for name, s := range map[string]Series{
		"none":            {},
		"nowhere":         {X: []float64{0, 1}, Y: []float64{nan, nan}},
		"one point":       {X: []float64{3}, Y: []float64{-4}},
		"one at zero":     {X: []float64{0}, Y: []float64{0}},
		"constant":        {X: []float64{0, 1, 2}, Y: []float64{1e9, 1e9, 1e9}},
		"nearly":          {X: []float64{0, 1}, Y: []float64{1, math.Nextafter(1, 2)}},
		"nearly 1":        {X: []float64{0, 1, 2}, Y: []float64{0.9, math.Nextafter(1, 0), 1 - 1e-12}},
		"tiny":            {X: []float64{0, 1}, Y: []float64{5e-324, 1e-320}},
		"enormous":        {X: []float64{-1e149, 1e149}, Y: []float64{-1e149, 1e149}},
		"boundless steps": {X: []float64{inf, nan, -inf, 1}, Y: []float64{1, 1, 1, 1}},
		"backwards":       {X: []float64{5, 3, 4, 3}, Y: []float64{1, 2, 3, 4}, Steps: true, Markers: true, Dashed: true},
	} {
		for _, axis := range []Scale{Linear, Log, Complement} {
			panels = append(panels, Panel{Title: name, Scale: axis, Series: []Series{s, s},
				Links: []Link{{0, 1, 1}, {1, 0, nan}}, Events: []Event{{1, "e"}, {nan, "n"}, {inf, "i"}}})
		}
	}
	f := newGrid(Figure{Title: "anything", Panels: panels, Columns: 3})
	var strokes recorder.Canvas // checks every drawing instruction without the time that pixels take
	width, height := f.size()
	f.draw(draw.NewCanvas(&strokes, width, height))
	for _, a := range strokes.Actions {
		if call := a.Call(); strings.Contains(call, "NaN") || strings.Contains(call, "Inf") {
			t.Fatalf("drawn at no place: %s", call)
		}
	}
	if len(strokes.Actions) < 1000 {
		t.Errorf("only %d drawing instructions", len(strokes.Actions))
	}
}

// An arrow reaches from the donor's value to the receiver's at its step, and is absent before a curve begins.
func TestPlotLinks(t *testing.T) {
	donor := Series{X: []float64{0, 10}, Y: []float64{10, 10}, Color: magenta}
	receiver := Series{X: []float64{2, 10}, Y: []float64{0, 0}, Color: color.NRGBA{0, 0xff, 0, 0xff}}
	height := func(links ...Link) int {
		box, n := inked(render(t, "", []Panel{{Series: []Series{donor, receiver}, Links: links}}, 1), magenta)
		if n == 0 {
			t.Fatal("the donor's curve is missing")
		}
		return box.Dy()
	}
	bare, early, linked := height(), height(Link{0, 1, 1}), height(Link{0, 1, 5})
	if early != bare {
		t.Errorf("an arrow to a curve that has not begun: ink is %d pixels high, without %d", early, bare)
	}
	if linked < bare+100 {
		t.Errorf("ink of donor and arrow is %d pixels high, of the donor alone %d", linked, bare)
	}
}

func TestPanelAt(t *testing.T) {
	nan := math.NaN()
	line := Series{X: []float64{1, 2, 3, 5}, Y: []float64{1, 4, nan, 16}}
	steps := line
	steps.Steps = true
	for _, tt := range []struct {
		s    *Series
		log  bool
		x, y float64
		ok   bool
	}{
		{&line, false, 0.9, 0, false}, {&line, false, 1, 1, true}, {&line, false, 1.5, 2.5, true}, {&line, false, 2, 4, true},
		{&line, false, 3.5, 10, true}, {&line, false, 9, 16, true}, {&line, true, 1.5, 2, true}, {&line, true, 3.5, 8, true},
		{&steps, false, 1.99, 1, true}, {&steps, false, 4, 4, true}, {&steps, false, 5, 16, true}, {&line, false, nan, 0,
			false},
	} {
		p := Panel{Scale: scale(tt.log)}
		if y, ok := p.at(tt.s, tt.x); math.Abs(y-tt.y) > 1e-12 || ok != tt.ok {
			t.Errorf("%+v: %v, %v", tt, y, ok)
		}
	}
}

func TestSeriesOf(t *testing.T) {
	var m tracking.Memory
	m.Scalar("a", 1, 10)
	m.Scalar("b", 1, 11)
	m.Scalar("a", 2, 20)
	want := Series{Name: "a", X: []float64{1, 2}, Y: []float64{10, 20}}
	if d := cmp.Diff(want, SeriesOf(m.Scalars(), "a")); d != "" {
		t.Error(d)
	}
}

func TestColoursFollowNames(t *testing.T) {
	f := newGrid(Figure{Panels: []Panel{
		{Series: []Series{{Name: "a"}, {Name: "b"}}},
		{Series: []Series{{Name: "b"}, {Name: "c"}, {Name: "a"}}, Links: []Link{{0, 1, 0}}},
	}})
	var names []string
	for _, e := range f.legend {
		names = append(names, e.name)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "copied to"}, names); d != "" {
		t.Error(d)
	}
	if got := f.style(&f.Panels[1], 0).Color; got != palette[1] {
		t.Errorf("b changed its colour: %v", got)
	}
	seen := map[string]bool{}
	for n := range 4 * len(palette) {
		style := lineStyle(n, &Series{})
		key := strings.Join([]string{colourKey(style.Color), dashKey(style.Dashes)}, " ")
		if seen[key] {
			t.Fatalf("line style %d repeats", n)
		}
		seen[key] = true
	}
}

func colourKey(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return string([]byte{n.R, n.G, n.B})
}

func dashKey(d []vg.Length) string {
	s := ""
	for _, l := range d {
		s += " " + logLabel(float64(l))
	}
	return s
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{Linear.ticker(5), 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{Linear.ticker(5), -3, 312, "0 100 200 300"},
		{Linear.ticker(6), 0, 400_000, "0 100k 200k 300k 400k"},
		{Linear.ticker(6), 0, 1_500_000, "0 0.5M 1.0M 1.5M"},
		{Linear.ticker(5), 0.9501, 0.9799, "0.96 0.97"},
		{Linear.ticker(5), -1e-5, 1e-4, "0 5e-5 1e-4"},
		{Linear.ticker(5), -2, -1, "-2.0 -1.8 -1.6 -1.4 -1.2 -1.0"},
		{Linear.ticker(5), 1, 1, ""},
		{Log.ticker(5), 1e-5, 1e-2, "1e-5 1e-4 1e-3 0.01"},
		{Log.ticker(5), 1e-4, 1e-3, "1e-4 2e-4 5e-4 1e-3"},
		{Log.ticker(5), 3.1e-4, 3.9e-4, "3.2e-4 3.4e-4 3.6e-4 3.8e-4"},
		{Complement.ticker(5), 0.89, 0.9995, "0.999 0.99 0.9"},
		{Complement.ticker(5), 0.3, 0.9999995, "0.999999 0.99999 0.9999 0.999 0.99 0.9"},
		{Complement.ticker(5), 0.93, 0.99, "0.98 0.96 0.94"},
		{Complement.ticker(5), 0.9, 0.99, "0.90 0.92 0.94 0.96 0.98"},
		{Log.ticker(5), 1, 1e12, "1 100 1e4 1e6 1e8 1e10 1e12"},
	} {
		var labels []string
		for _, tick := range tt.ticker.Ticks(tt.lo, tt.hi) {
			if tick.Value < tt.lo-1e-9*math.Abs(tt.lo) || tick.Value > tt.hi+1e-9*math.Abs(tt.hi) {
				t.Errorf("[%v, %v]: tick at %v", tt.lo, tt.hi, tick.Value)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("[%v, %v]: %s, want %s", tt.lo, tt.hi, got, tt.want)
		}
	}
}

func TestScaleFor(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		values []float64
		want   Scale
	}{
		{nil, Linear}, {[]float64{nan}, Linear}, {[]float64{1, 4.9}, Linear}, {[]float64{1, nan, 5}, Log},
		{[]float64{0, 5}, Linear}, {[]float64{-1, 5}, Linear}, {[]float64{0.9, 0.99}, Complement},
		{[]float64{0.9, 1}, Linear}, {[]float64{0.9, math.Nextafter(1, 0)}, Linear}, {[]float64{0.1, 0.99},
			Log}, {[]float64{0.97, 0.99}, Linear}, {[]float64{math.Inf(1), 1}, Linear},
	} {
		if got := ScaleFor(tt.values...); got != tt.want {
			t.Errorf("%v: scale %d, want %d", tt.values, got, tt.want)
		}
	}
	for _, s := range []Scale{Linear, Log, Complement} {
		for _, v := range []float64{0.2, 0.5, 0.95} {
			if got := s.value(s.measure(v)); math.Abs(got-v) > 1e-12 {
				t.Errorf("scale %d: %v becomes %v", s, v, got)
			}
		}
	}
}

// An event's label keeps clear of curves and of other labels, as long as there is room.
func TestEventLabelsKeepClear(t *testing.T) {
	c := draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}}
	size := vg.Point{X: 10, Y: 40}
	top, bottom := []vg.Point{{X: 0, Y: 90}, {X: 200, Y: 90}}, []vg.Point{{X: 0, Y: 30}, {X: 200, Y: 10}}
	right := []vg.Point{{X: 105, Y: 0}, {X: 105, Y: 100}}
	for name, tt := range map[string]struct {
		lines [][]vg.Point
		min   vg.Point
	}{
		"nothing":          {nil, vg.Point{X: 101, Y: 59}},
		"a curve above":    {[][]vg.Point{top}, vg.Point{X: 101, Y: 47}},
		"above and below":  {[][]vg.Point{top, bottom}, vg.Point{X: 101, Y: 47}},
		"at the right":     {[][]vg.Point{right}, vg.Point{X: 89, Y: 59}},
		"one across a box": {[][]vg.Point{{{X: 99, Y: 99}, {X: 120, Y: 60}}}, vg.Point{X: 89, Y: 55}},
		"everywhere":       {[][]vg.Point{top, bottom, right, {{X: 95, Y: 0}, {X: 95, Y: 100}}}, vg.Point{X: 101, Y: 59}},
	} {
		if got := place(c, 100, size, tt.lines); got.Min != tt.min || got.Size() != size {
			t.Errorf("%s: the label is at %v, want %v", name, got.Min, tt.min)
		}
	}
	// Two events at one place, of a picture whose curve runs along the top.
	p := Panel{Series: []Series{{X: []float64{0, 10}, Y: []float64{1, 1}}, {X: []float64{0, 10}, Y: []float64{0, 1}}},
		Events: []Event{{5, "grows"}, {5, "shrinks"}}}
	var strokes recorder.Canvas
	g := newGrid(Figure{Panels: []Panel{p}})
	width, height := g.size()
	g.draw(draw.NewCanvas(&strokes, width, height))
	places := map[string]bool{}
	for _, a := range strokes.Actions {
		if s, ok := a.(*recorder.FillString); ok && (s.String == "grows" || s.String == "shrinks") {
			places[fmt.Sprint(s.Point)] = true
		}
	}
	if len(places) != 2 {
		t.Errorf("two labels stand at %v", places)
	}
}

// An element for a page has the classes of inks, tooltips where there are any, and text without markup.
func TestSVG(t *testing.T) {
	p := Panel{Title: "<b>", YLabel: "upward", Series: []Series{{Name: "a & b", X: []float64{0, 1}, Y: []float64{0, 1},
		Tip: `"tip"`}},
		Marks: []Mark{{X: 0.5, Y: math.NaN(), Sign: Ring, Color: Color(9), Tip: "ring"}}}
	page := string(Figure{Panels: []Panel{p}, Label: "<i>"}.Picture().SVG())
	for _, want := range []string{
		`<svg viewBox="0 0 390 276" role="img" aria-label="&lt;i&gt;">`, `class="k0 l t" d="M`, "<title>&#34;tip&#34;</title>",
		"&lt;b&gt;</text>", "a &amp; b</text>", `class="k9 f"`, `class="pa f"`, "<circle", "<title>ring</title>", `transform="rotate(-90 `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing in\n%s", want, page)
		}
	}
	if n := strings.Count(page, "<title>"); n != 3 { // the curve's, and the ring's inside and outside
		t.Errorf("%d tooltips", n)
	}
	if got := Styles(true, Color(9)); !strings.Contains(got, ".tx{color:#e6e6e6}") ||
		!strings.Contains(got, ".k9{color:#") {
		t.Error(got)
	}
}

// Points outside of the limits are gaps, and the axis has the limits.
func TestLimits(t *testing.T) {
	p := Panel{XLimits: [2]float64{0, 4}, YLimits: [2]float64{0, 1}, Events: []Event{{X: 9}},
		Series: []Series{{X: []float64{1, 2, 3, 5}, Y: []float64{0.2, 7, 0.4, 0.5}}}}
	if x, y, ok := p.extent(); x != [2]float64{1, 3} || y != [2]float64{0.2, 0.4} || !ok {
		t.Errorf("%v, %v, %v", x, y, ok)
	}
	if got := newGrid(Figure{Panels: []Panel{p}}).plot(&p); got.X.Min != 0 || got.X.Max != 4 {
		t.Errorf("the axis goes from %v to %v", got.X.Min, got.X.Max)
	}
}

// Thinning keeps the ends and the extremes.
func TestThin(t *testing.T) {
	const n = 100_000
	points := make([]vg.Point, n)
	for i := range points {
		points[i] = vg.Point{X: vg.Length(i) * 300 / n, Y: vg.Length(math.Sin(float64(i)))}
	}
	points[77_777].Y, points[12_345].Y = 50, -50
	got := thin(points, 4000)
	if len(got) > 5000 {
		t.Errorf("%d points are left", len(got))
	}
	lo, hi := vg.Length(0), vg.Length(0)
	for i, p := range got {
		lo, hi = min(lo, p.Y), max(hi, p.Y)
		if i > 0 && p.X < got[i-1].X {
			t.Fatal("out of order")
		}
	}
	if lo != -50 || hi != 50 || got[0] != points[0] || got[len(got)-1] != points[n-1] {
		t.Errorf("range [%v, %v], ends %v, %v", lo, hi, got[0], got[len(got)-1])
	}
}

func TestWritePNGErrorsLeaveTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plot.png")
	good := []Panel{{Series: []Series{{X: []float64{1, 2}, Y: []float64{1, 2}}}}}
	must(t, WritePNG(path, "", good, 1))
	before, err := os.ReadFile(path)
	must(t, err)
	for want, panels := range map[string][]Panel{
		"no panels":     nil,
		"2 x values":    {{Title: "p", Series: []Series{{Name: "s", X: []float64{1, 2}, Y: []float64{1}}}}},
		"link 0":        {{Series: good[0].Series, Links: []Link{{0, 1, 1}}}},
		"257 panels":    make([]Panel, 257),
		"from series -": {{Series: good[0].Series, Links: []Link{{-1, 0, 1}}}},
	} {
		err := WritePNG(path, "", panels, 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := (Figure{Panels: good}).Picture().EncodePNG(full{}); err == nil {
		t.Error("a failing writer goes unnoticed")
	}
	if err := WritePNG(filepath.Join(dir, "none", "plot.png"), "", good, 1); err == nil {
		t.Error("a missing folder goes unnoticed")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the picture has changed")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

// A faint curve is pale, thin and behind the others, has the colour of its name, or without one of the curve after it,
// and is not in the legend.
func TestPlotFaint(t *testing.T) {
	x := []float64{0, 1}
	named := Panel{Series: []Series{
		{Name: "a", X: x, Y: []float64{0, 1}, Faint: true}, {Name: "a", X: x, Y: []float64{0, 2}},
		{Name: "b", X: x, Y: []float64{0, 3}, Faint: true}, {Name: "b", X: x, Y: []float64{0, 4}},
	}}
	unnamed := Panel{Series: []Series{{X: x, Y: []float64{0, 1}, Faint: true}, {X: x, Y: []float64{0, 2}},
		{X: x, Y: []float64{0, 3}, Faint: true}, {X: x, Y: []float64{0, 4}}}}
	f := newGrid(Figure{Panels: []Panel{named, unnamed}, Columns: 1})
	var names []string
	for _, e := range f.legend {
		names = append(names, e.name)
		if e.style.Color == pale(palette[0]) {
			t.Error("the legend is pale")
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("legend (-want +got):\n%s", diff)
	}
	for i := range f.Panels {
		for j, want := range []color.Color{pale(palette[0]), palette[0], pale(palette[1]), palette[1]} {
			if got := f.style(&f.Panels[i], j); got.Color != want || (got.Width < vg.Points(1)) != (j%2 == 0) {
				t.Errorf("panel %d, series %d: %v, %v wide; want %v", i, j, got.Color, got.Width, want)
			}
		}
	}
	if got := pale(color.Black); got != (color.NRGBA{191, 191, 191, 255}) {
		t.Errorf("pale black is %v", got)
	}
	// Where both lie on each other only the one in front is seen, whichever comes first.
	cyan := color.NRGBA{0, 0xff, 0xff, 0xff}
	same := func(behindFirst bool) Panel {
		s := []Series{{X: x, Y: x, Color: cyan, Faint: true}, {X: x, Y: x, Color: magenta}}
		if !behindFirst {
			s[0], s[1] = s[1], s[0]
		}
		return Panel{Series: s}
	}
	for _, first := range []bool{true, false} {
		img := render(t, "", []Panel{same(first)}, 1)
		if _, n := inked(img, pale(cyan)); n > 0 {
			t.Errorf("%d pixels of the faint curve are over the other", n)
		}
		if _, n := inked(img, magenta); n == 0 {
			t.Error("there is no curve")
		}
	}
}

func TestSmoothed(t *testing.T) {
	s := Series{Name: "n", X: []float64{1, 2, 3, 4}, Y: []float64{4, 8, math.NaN(), 0}}
	got, err := s.Smoothed(0.5)
	// (0.5·4)/0.5; (0.5·2+0.5·8)/0.75; NaN; (0.5·5+0)/0.875
	want := []float64{4, 5 / 0.75, math.NaN(), 2.5 / 0.875}
	for i, y := range got.Y {
		if math.Abs(y-want[i]) > 1e-12 && !(math.IsNaN(y) && math.IsNaN(want[i])) {
			t.Errorf("value %d is %v, want %v", i, y, want[i])
		}
	}
	if err != nil || got.Name != "n" || s.Y[1] != 8 {
		t.Errorf("%+v, %v; the series itself is %v", got, err, s.Y)
	}
	if same, err := s.Smoothed(0); err != nil || same.Y[0] != 4 || same.Y[1] != 8 || same.Y[3] != 0 {
		t.Errorf("a weight of 0 gives %v, %v", same.Y, err)
	}
	for _, weight := range []float64{-0.1, 1, math.NaN()} {
		if _, err := s.Smoothed(weight); err == nil {
			t.Errorf("a weight of %v gives no error", weight)
		}
	}
}

func ExampleSeries_Smoothed() {
	s, _ := Series{X: []float64{1, 2, 3, 4}, Y: []float64{0, 10, 0, 10}}.Smoothed(0.5)
	fmt.Printf("%.2f\n", s.Y)
	// Output: [0.00 6.67 2.86 6.67]
}
