package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// A curve with a gap has no ink in it, a curve without has. A point between two gaps shows as a dot.
func TestPlotGaps(t *testing.T) {
	for _, c := range []struct {
		scale  Scale
		middle [3]float64
		ink    bool
	}{
		{Linear, [3]float64{1, 1, 1}, true},
		{Linear, [3]float64{math.NaN(), 1, math.NaN()}, true},
		{Linear, [3]float64{math.NaN(), math.Inf(1), 1e300}, false},
		{Log, [3]float64{-1, 0, -1}, false},
	} {
		curve := Series{X: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, Y: slices.Concat([]float64{1, 1, 1}, c.middle[:],
			[]float64{1, 1, 1})}
		frame := Series{X: []float64{0, 8}, Y: []float64{0.5, 2}}
		var b bytes.Buffer
		must.Do(t, newFigure("", []Panel{{Scale: c.scale, Series: []Series{curve, frame}}}, 0).encodePNG(&b))
		img := must.Get(png.Decode(&b))(t)
		size, ink := img.Bounds(), false
		for x := size.Dx() * 47 / 100; x < size.Dx()*58/100; x++ {
			for y := range size.Dy() {
				ink = ink || color.NRGBAModel.Convert(img.At(x, y)) == palette[0]
			}
		}
		must.Equal(t, fmt.Sprint("ink between the ends of ", curve.Y), c.ink, ink)
	}
}

func TestPlotSurvivesAnything(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var panels []Panel
	for name, s := range map[string]Series{
		"none":            {},
		"one at zero":     {X: []float64{0}, Y: []float64{0}},
		"nearly":          {X: []float64{0, 1}, Y: []float64{1, math.Nextafter(1, 2)}},
		"tiny":            {X: []float64{0, 1}, Y: []float64{5e-324, 1e-320}},
		"enormous":        {X: []float64{-1e149, 1e149}, Y: []float64{-1e149, 1e149}},
		"boundless steps": {X: []float64{inf, nan, -inf, 1}, Y: []float64{1, 1, 1, 1}},
		"backwards":       {X: []float64{5, 3, 4, 3}, Y: []float64{1, 2, 3, 4}, Dashed: true},
	} {
		for _, axis := range []Scale{Linear, Log} {
			panels = append(panels, Panel{Title: name, Scale: axis, Series: []Series{s, s}})
		}
	}
	f := newFigure("anything", panels, 3)
	var strokes recorder.Canvas // checks every drawing instruction without the time that pixels take
	f.draw(draw.NewCanvas(&strokes, f.width(), f.height()))
	for _, a := range strokes.Actions {
		if call := a.Call(); strings.Contains(call, "NaN") || strings.Contains(call, "Inf") {
			t.Fatalf("drawn at no place: %s", call)
		}
	}
	must.Not(t, len(strokes.Actions) < 350, "only %d drawing instructions", len(strokes.Actions))
}

// A curve has the colour of its name in every panel. A faint one has it pale, and is not in the legend.
func TestColoursFollowNames(t *testing.T) {
	f := newFigure("", []Panel{
		{Series: []Series{{Name: "a"}, {Name: "b"}}},
		{Series: []Series{{Name: "b"}, {Name: "c"}, {Name: "a", Faint: true}, {Name: "a"}}},
	}, 0)
	must.Equal(t, "curves in the legend", 3, len(f.legend))
	for series, want := range []color.Color{palette[1], palette[2], fade(palette[0], 0.25), palette[0]} {
		must.Equal(t, fmt.Sprint("the colour of series ", series), want, f.style(&f.panels[1], series).Color)
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{Linear.ticker(5), 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{Linear.ticker(6), 0, 400_000, "0 100k 200k 300k 400k"},
		{Linear.ticker(6), 0, 1_500_000, "0 0.5M 1.0M 1.5M"},
		{Linear.ticker(5), 0.9501, 0.9799, "0.96 0.97"},
		{Linear.ticker(4), 1.0001e-5, 1.0005e-5, "1.0001e-5 1.0002e-5 1.0003e-5 1.0004e-5 1.0005e-5"},
		{Linear.ticker(5), -1e-5, 1e-4, "0 5e-5 1e-4"},
		{Linear.ticker(5), 1, 1, ""},
		{Log.ticker(5), 1e-4, 1e-3, "1e-4 2e-4 5e-4 1e-3"},
		{Log.ticker(5), 3.1e-4, 3.9e-4, "3.2e-4 3.4e-4 3.6e-4 3.8e-4"},
		{Log.ticker(5), 1, 1e12, "1 100 1e4 1e6 1e8 1e10 1e12"},
	} {
		var labels []string
		for _, tick := range tt.ticker.Ticks(tt.lo, tt.hi) {
			must.Not(t, tick.Value < tt.lo-1e-9*math.Abs(tt.lo) || tick.Value > tt.hi+1e-9*math.Abs(tt.hi),
				"[%v, %v]: tick at %v", tt.lo, tt.hi, tick.Value)
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		must.Equal(t, fmt.Sprint("ticks from ", tt.lo, " to ", tt.hi), tt.want, strings.Join(labels, " "))
	}
}

// Thinning keeps the ends and the extremes.
func TestThin(t *testing.T) {
	const n = 100_000
	points := make(plotter.XYs, n)
	for i := range points {
		points[i] = plotter.XY{X: float64(i) * 300 / n, Y: math.Sin(float64(i))}
	}
	points[77_777].Y, points[12_345].Y = 50, -50
	got := thin(points, 4000)
	must.Not(t, len(got) > 5000, "%d points are left", len(got))
	low, high := got[0].Y, got[0].Y
	for i, p := range got {
		low, high = min(low, p.Y), max(high, p.Y)
		must.Is(t, i > 0 && p.X < got[i-1].X, false, "point %d is before the last", i)
	}
	must.Equal(t, "range and ends", []plotter.XY{{X: -50, Y: 50}, points[0], points[n-1]},
		[]plotter.XY{{X: low, Y: high}, got[0], got[len(got)-1]})
}

func TestWritePNGErrorsLeaveTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plot.png")
	good := []Panel{{Series: []Series{{X: []float64{1, 2}, Y: []float64{1, 2}}}}}
	must.Do(t, WritePNG(path, "", good, 1))
	before := must.Read(t, path)
	bad := []Panel{{Title: "p", Series: []Series{{Name: "s", X: []float64{1, 2}, Y: []float64{1}}}}}
	must.Refuse(t, WritePNG(path, "", bad, 1), "2 x values", path)
	must.Refuse(t, WritePNG(path, "", nil, 1), "no panels", path)
	must.Refuse(t, WritePNG(filepath.Join(dir, "none", "plot.png"), "", good, 1), "none")
	entries, _ := os.ReadDir(dir)
	must.Not(t, !bytes.Equal(before, must.Read(t, path)) || len(entries) != 1,
		"the picture has changed, or something is left over: %v", entries)
}

func TestSmoothed(t *testing.T) {
	s := Series{Name: "n", X: []float64{1, 2, 3, 4}, Y: []float64{4, 8, math.NaN(), 0}}
	// (0.5·4)/0.5; (0.5·2+0.5·8)/0.75; NaN; (0.5·5+0)/0.875
	want := []float64{4, 5 / 0.75, math.NaN(), 2.5 / 0.875}
	got := must.Get(s.Smoothed(0.5))(t).Y
	must.Equal(t, "the smoothed curve", want, got, cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateNaNs())
	must.Is(t, s.Y[1], 8, "a value of the series itself")
	for _, weight := range []float64{-0.1, 1, math.NaN()} {
		must.Refused(s.Smoothed(weight))(t)
	}
}

// The area between the bounds of a curve is filled, with a gap where a bound is missing, and the axis shows all of it.
func TestBounds(t *testing.T) {
	s := Series{X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 1, 1, 1, 1}, Low: []float64{0, 0, math.NaN(), 0, 0},
		High: []float64{1, 9, 9, 9, 1}}
	p := Panel{Series: []Series{s}}
	y := newFigure("", []Panel{p}, 0).plot(&p).Y
	must.Not(t, y.Min > 0 || y.Max < 9 || y.Max > 10, "the axis shows %v to %v", y.Min, y.Max)
	areas := func() int {
		var strokes recorder.Canvas
		f := newFigure("", []Panel{p}, 0)
		f.draw(draw.NewCanvas(&strokes, f.width(), f.height()))
		n := 0
		for _, a := range strokes.Actions {
			if _, ok := a.(*recorder.Fill); ok {
				n++
			}
		}
		return n
	}
	with := areas()
	p.Series[0].Low, p.Series[0].High = nil, nil
	must.Equal(t, "filled areas", 2, with-areas())
	p.Series[0].Low = []float64{1}
	must.Refuse(t, WritePNG(filepath.Join(t.TempDir(), "p.png"), "", []Panel{p}, 0),
		"1 lower and 0 upper bounds of 5 values")
}
