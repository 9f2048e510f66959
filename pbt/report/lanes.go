package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// Sizes in points, which are pixels on the page.
const (
	pageWidth  = 960
	marginLeft = 58 // where curves and lanes begin: right of the members' numbers
	fontSize   = 11
	smallSize  = 10 // of interval numbers and the headings of columns
)

// The inks of signs, beside those of lineages. Mutations have colours of the palette, in an order of their own.
var (
	inkBad            = plot.NewInk("ba", 0xcf222e, 0xff6b6b)
	inkBest           = plot.NewInk("be", 0xb58900, 0xf2c037)
	inkArchitecture   = plot.NewInk("ma", 0x0072b2, 0x4aa8e0)
	inkWeights        = plot.NewInk("mw", 0x009e73, 0x2fc79b)
	inkActivation     = plot.NewInk("mt", 0xb8578f, 0xdf8fba)
	inkHyperparameter = plot.NewInk("mh", 0xd98200, 0xf0a830)

	ownInks = []plot.Ink{inkBad, inkBest, inkArchitecture, inkWeights, inkActivation, inkHyperparameter}
)

// laneChart lays out a picture in which every member has a horizontal lane, one below the other in the order of their numbers,
// along the environment steps that the member has trained. A legend stands above; interval numbers and steps stand at the
// upper and the lower end of the lanes. Coordinates are in points from the upper left corner of the picture.
type laneChart struct {
	*facts
	canvas      draw.Canvas
	left, right float64 // of the lanes
	top         float64
	height      float64 // of one lane
	legend      []entry
}

// entry is a sign in the legend with its explanation.
type entry struct {
	words string
	width float64 // of the sign
	draw  func(t *laneChart, x, y float64)
}

// newLaneChart returns lanes that end at the given place and are at most so high, but fill about the given height together.
// More than a hundred members get 5 points each, which is enough for a line but not for its number.
func (f *facts) newLaneChart(right, together, highest float64) *laneChart {
	n := float64(len(f.lanes))
	t := &laneChart{facts: f, left: marginLeft, right: right, height: min(max(together/n, 8), highest)}
	if n > 100 {
		t.height = 5
	}
	return t
}

// picture returns the picture of the legend, the grid, and what show draws in the lanes.
func (t *laneChart) picture(label string, show func(t *laneChart)) plot.Picture {
	const aboveLanes, belowLanes, entryGap, row = 34, 42, 18, 17
	style := plot.Font(fontSize, plot.Muted, false)
	x, y := t.left, 14.0
	places := make([][2]float64, len(t.legend))
	for i, e := range t.legend {
		width := e.width + style.Width(e.words).Points() + entryGap
		if x+width > pageWidth {
			x, y = t.left, y+row
		}
		places[i] = [2]float64{x, y}
		x += width
	}
	t.top = y + aboveLanes
	bottom := t.top + float64(len(t.lanes))*t.height
	height := vg.Length(bottom + belowLanes)
	return plot.Picture{Width: pageWidth, Height: height, Label: label, Draw: func(c draw.Canvas) {
		drawn := *t
		drawn.canvas = c
		for i, e := range drawn.legend {
			e.draw(&drawn, places[i][0], places[i][1]-4) // the middle of the letters
			drawn.write(places[i][0]+e.width, places[i][1], fontSize, plot.Muted, toLeft, e.words)
		}
		drawn.grid(bottom)
		show(&drawn)
	}}
}

// x is where a number of steps lies on the horizontal axis. Steps outside of it, which only a damaged journal has, lie at
// its ends.
func (t *laneChart) x(steps int64) float64 {
	return t.left + (t.right-t.left)*float64(min(max(steps, 0), t.span))/float64(t.span)
}

// y is the middle of a member's lane.
func (t *laneChart) y(member int) float64 { return t.top + (float64(t.lane[member])+0.5)*t.height }

// has reports whether the member has a lane: of more than maxLanes members not all have.
func (t *laneChart) has(member int) bool { return t.lane[member] >= 0 }

// at turns a place, whose y grows downwards, into one on the canvas, whose y grows upwards.
func (t *laneChart) at(x, y float64) vg.Point {
	return vg.Point{X: t.canvas.Min.X + vg.Length(x), Y: t.canvas.Max.Y - vg.Length(y)}
}

// line draws a straight line.
func (t *laneChart) line(ink plot.Ink, width, x1, y1, x2, y2 float64) {
	style := draw.LineStyle{Color: ink, Width: vg.Length(width)}
	t.canvas.StrokeLines(style, []vg.Point{t.at(x1, y1), t.at(x2, y2)})
}

// stroke draws lines and curves.
func (t *laneChart) stroke(ink plot.Ink, width float64, path vg.Path) {
	t.canvas.SetLineStyle(draw.LineStyle{Color: ink, Width: vg.Length(width)})
	t.canvas.Stroke(path)
}

// The alignments of text: it begins at its place, has its middle there, or ends there.
const (
	toLeft   = draw.XLeft
	toMiddle = draw.XCenter
	toRight  = draw.XRight
)

func (t *laneChart) write(x, y, size float64, ink plot.Ink, to draw.XAlignment, words string) {
	t.writeBold(x, y, size, ink, to, false, words)
}

func (t *laneChart) writeBold(x, y, size float64, ink plot.Ink, to draw.XAlignment, bold bool, words string) {
	style := plot.Font(vg.Length(size), ink, bold)
	style.XAlign = to
	plot.Write(t.canvas, style, t.at(x, y), words)
}

// sign draws a sign with a tooltip.
func (t *laneChart) sign(sign plot.Sign, ink plot.Ink, x, y, radius float64, tip string) {
	plot.Tip(t.canvas, tip)
	plot.DrawSign(t.canvas, sign, ink, t.at(x, y), vg.Length(radius))
	plot.Tip(t.canvas, "")
}

// grid draws a line for every interval's end where there is room, with numbers of intervals above and steps below. Members
// that train at their own pace end their intervals at other steps: the lines are then those of a member that never waited.
func (t *laneChart) grid(bottom float64) {
	if size := t.Run.IntervalSteps; size > 0 {
		step := roundUp(float64(t.intervals) / 24)
		for k := int64(0); k <= t.intervals && k < 1000 && k <= t.span/size; k += step {
			x := t.x(k * size)
			t.line(plot.Grid, 1, x, t.top, x, bottom)
			t.write(x, t.top-6, smallSize, plot.Muted, toMiddle, fmt.Sprint(k))
		}
		t.write(t.left-8, t.top-6, smallSize, plot.Muted, toRight, "interval")
	}
	for _, k := range plot.Ticks(0, float64(t.span), 7) {
		x := t.left + (t.right-t.left)*k.Value/float64(t.span)
		t.line(plot.Muted, 1, x, bottom, x, bottom+4)
		t.write(x, bottom+16, fontSize, plot.Muted, toMiddle, k.Label)
	}
	t.write((t.left+t.right)/2, bottom+34, fontSize, plot.Muted, toMiddle, "environment steps of the member itself")
}

// roundUp is the least of 1, 2, 5, 10, 20, ... that is not below x.
func roundUp(x float64) int64 {
	step := int64(1)
	for k := 0; float64(step) < x && step < 1<<60; k++ {
		step = step * []int64{2, 5, 2}[k%3] / []int64{1, 2, 1}[k%3]
	}
	return step
}

// every is the number of lanes after which a member's number fits below the last: 1 unless lanes are very low.
func (t *laneChart) every() int { return max(1, int(math.Ceil(9/t.height))) }

// signs of what goes wrong or happens to a member without a copy.
var signs = map[journal.Kind]plot.Sign{
	journal.Failed: plot.Cross, journal.Diverged: plot.HollowDiamond,
	journal.SelfMutate: plot.Ring, journal.ApplyFailed: plot.HollowSquare,
}
