package tracking

import (
	"bytes"
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
)

func render(t *testing.T, title string, panels []Panel, columns int) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := EncodePNG(&b, title, panels, columns); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
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
		f := newFigure("", panels[:tt.panels], tt.columns)
		width, height := f.size()
		wantWidth, wantHeight := tt.wantColumns*(panelWidth+panelGap)-panelGap+2*margin, tt.wantRows*(panelHeight+panelGap)-panelGap+2*margin
		if f.rows != tt.wantRows || f.columns != tt.wantColumns || width != vg.Length(wantWidth) || height != vg.Length(wantHeight) {
			t.Errorf("%+v: %d rows, %d columns, %v × %v", tt, f.rows, f.columns, width, height)
		}
	}
	got := render(t, "", panels[:1], 1).Bounds().Size()
	if want := (image.Point{(panelWidth + 2*margin) * dotsPerInch / 72, (panelHeight + 2*margin) * dotsPerInch / 72}); got != want {
		t.Errorf("%v pixels, want %v", got, want)
	}
}

// A curve with a gap has no ink in it, a curve without has.
func TestPlotGaps(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	middle := func(y []float64, logY bool) int {
		frame := Series{X: []float64{0, 8}, Y: []float64{0.5, 2}, Color: color.Transparent}
		p := Panel{LogY: logY, Series: []Series{{X: x, Y: y, Color: magenta}, frame}}
		img := render(t, "", []Panel{p}, 1)
		b := img.Bounds()
		third := image.Rect(b.Dx()*47/100, 0, b.Dx()*58/100, b.Dy())
		_, n := inked(img.(interface {
			SubImage(image.Rectangle) image.Image
		}).SubImage(third), magenta)
		return n
	}
	for name, hole := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1), "huge": 1e300} {
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
		"tiny":            {X: []float64{0, 1}, Y: []float64{5e-324, 1e-320}},
		"enormous":        {X: []float64{-1e149, 1e149}, Y: []float64{-1e149, 1e149}},
		"boundless steps": {X: []float64{inf, nan, -inf, 1}, Y: []float64{1, 1, 1, 1}},
		"backwards":       {X: []float64{5, 3, 4, 3}, Y: []float64{1, 2, 3, 4}, Steps: true, Markers: true, Dashed: true},
	} {
		for _, logY := range []bool{false, true} {
			panels = append(panels, Panel{Title: name, LogY: logY, Series: []Series{s, s}, Links: []Link{{0, 1, 1}, {1, 0, nan}}, Events: []Event{{1, "e"}, {nan, "n"}, {inf, "i"}}})
		}
	}
	f := newFigure("anything", panels, 3)
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
		{&steps, false, 1.99, 1, true}, {&steps, false, 4, 4, true}, {&steps, false, 5, 16, true}, {&line, false, nan, 0, false},
	} {
		p := Panel{LogY: tt.log}
		if y, ok := p.at(tt.s, tt.x); math.Abs(y-tt.y) > 1e-12 || ok != tt.ok {
			t.Errorf("%+v: %v, %v", tt, y, ok)
		}
	}
}

func TestSeriesOf(t *testing.T) {
	var m Memory
	m.Scalar("a", 1, 10)
	m.Scalar("b", 1, 11)
	m.Scalar("a", 2, 20)
	want := Series{Name: "a", X: []float64{1, 2}, Y: []float64{10, 20}}
	if d := cmp.Diff(want, m.Series("a")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a", "b"}, m.Tags()); d != "" {
		t.Error(d)
	}
}

func TestColoursFollowNames(t *testing.T) {
	f := &figure{names: map[string]int{}, panels: []Panel{
		{Series: []Series{{Name: "a"}, {Name: "b"}}},
		{Series: []Series{{Name: "b"}, {Name: "c"}, {Name: "a"}}, Links: []Link{{0, 1, 0}}},
	}}
	f.collectLegend()
	var names []string
	for _, e := range f.legend {
		names = append(names, e.name)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "copied to"}, names); d != "" {
		t.Error(d)
	}
	if got := f.style(&f.panels[1], 0).Color; got != palette[1] {
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
		{linearTicks{5}, 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{linearTicks{5}, -3, 312, "0 100 200 300"},
		{linearTicks{6}, 0, 400_000, "0 100k 200k 300k 400k"},
		{linearTicks{6}, 0, 1_500_000, "0 0.5M 1.0M 1.5M"},
		{linearTicks{5}, 0.9501, 0.9799, "0.96 0.97"},
		{linearTicks{5}, -1e-5, 1e-4, "0 5e-5 1e-4"},
		{linearTicks{5}, -2, -1, "-2.0 -1.8 -1.6 -1.4 -1.2 -1.0"},
		{linearTicks{5}, 1, 1, ""},
		{logTicks{}, 1e-5, 1e-2, "1e-5 1e-4 1e-3 0.01"},
		{logTicks{}, 1e-4, 1e-3, "1e-4 2e-4 5e-4 1e-3"},
		{logTicks{}, 3.1e-4, 3.9e-4, "3.2e-4 3.4e-4 3.6e-4 3.8e-4"},
		{logTicks{}, 1, 1e12, "1 100 1e4 1e6 1e8 1e10 1e12"},
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

// Thinning keeps the ends and the extremes.
func TestThin(t *testing.T) {
	const n = 100_000
	points := make([]vg.Point, n)
	for i := range points {
		points[i] = vg.Point{X: vg.Length(i) * 300 / n, Y: vg.Length(math.Sin(float64(i)))}
	}
	points[77_777].Y, points[12_345].Y = 50, -50
	got := thin(points)
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
	if err := WritePNG(path, "", good, 1); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := EncodePNG(new(bytes.Buffer), "", panels, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("EncodePNG: error %v, want %q", err, want)
		}
	}
	if err := EncodePNG(&brokenWriter{}, "", good, 1); err == nil {
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

// A faint curve is pale, thin and behind the others, has the colour of its name, or without one of the curve after it, and
// is not in the legend.
func TestPlotFaint(t *testing.T) {
	x := []float64{0, 1}
	named := Panel{Series: []Series{
		{Name: "a", X: x, Y: []float64{0, 1}, Faint: true}, {Name: "a", X: x, Y: []float64{0, 2}},
		{Name: "b", X: x, Y: []float64{0, 3}, Faint: true}, {Name: "b", X: x, Y: []float64{0, 4}},
	}}
	unnamed := Panel{Series: []Series{{X: x, Y: []float64{0, 1}, Faint: true}, {X: x, Y: []float64{0, 2}}, {X: x, Y: []float64{0, 3}, Faint: true}, {X: x, Y: []float64{0, 4}}}}
	f := newFigure("", []Panel{named, unnamed}, 1)
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
	for i := range f.panels {
		for j, want := range []color.Color{pale(palette[0]), palette[0], pale(palette[1]), palette[1]} {
			if got := f.style(&f.panels[i], j); got.Color != want || (got.Width < vg.Points(1)) != (j%2 == 0) {
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
