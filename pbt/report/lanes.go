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

// The inks of signs, in addition to those of lineages. Mutations have colours of the palette, in an order of their own.
var (
	inkBad            = plot.NewInk("ba", 0xcf222e, 0xff6b6b)
	inkBest           = plot.NewInk("be", 0xb58900, 0xf2c037)
	inkArchitecture   = plot.NewInk("ma", 0x0072b2, 0x4aa8e0)
	inkWeights        = plot.NewInk("mw", 0x009e73, 0x2fc79b)
	inkActivation     = plot.NewInk("mt", 0xb8578f, 0xdf8fba)
	inkHyperparameter = plot.NewInk("mh", 0xd98200, 0xf0a830)

	ownInks = []plot.Ink{inkBad, inkBest, inkArchitecture, inkWeights, inkActivation, inkHyperparameter}
)

// laneChart lays out a picture in which every member has a horizontal lane, one below the other in the order of their
// numbers, along the environment steps that the member has trained:
//
//	           sign words   sign words                    the legend, in rows of 17 points
//	interval   0      1      2      3                     numbers above lines of the grid
//	       0   ───────────────────────────   88.6  ┐
//	       1   ──────────╮                   86.2  │ lanes; numbers of members at the left, at the
//	       2   ──────────╰────────────────   85.7  ┘ right what the picture says of each
//	           0          5k          10k                 environment steps
//	           left                  right
//
// Coordinates are in points from the upper left corner of the picture, y grows downwards. A lane is between 8 and
// some 30 points high, or 5 where there are more than a hundred; sizes of lines, signs and text follow from its
// height, so that a picture of three members and one of three hundred are both legible.
type laneChart struct {
	*facts
	canvas      draw.Canvas // what it is drawn on; set while it is drawn
	left, right float64     // of the lanes: where steps 0 and span are
	top         float64     // of the first lane
	height      float64     // of one lane
	width       float64     // of a line of the lineage
	turn        float64     // how far the curve of a copy reaches to the right
	legend      []entry
}

// entry is a sign in the legend with its explanation. draw gets the place where the entry begins, at the middle of the
// letters' height.
type entry struct {
	words string
	width float64 // of the sign, with the gap to the words
	draw  func(t *laneChart, x, y float64)
}

// explain adds an entry to the legend.
func (t *laneChart) explain(words string, width float64, draw func(t *laneChart, x, y float64)) {
	t.legend = append(t.legend, entry{words, width, draw})
}

// newLaneChart returns lanes that end at the given place and are at most so high, but fill about the given height
// together. More than a hundred members get 5 points each, which is enough for a line but not for its number.
func (f *facts) newLaneChart(right, together, highest float64) *laneChart {
	n := float64(len(f.lanes))
	t := &laneChart{facts: f, left: marginLeft, right: right, height: min(max(together/n, 8), highest)}
	if n > 100 {
		t.height = 5
	}
	return t
}

// picture returns the picture of the legend, the grid, and what show draws in the lanes. The layout is made once,
// here: the legend's rows decide where the lanes begin, and with their number how high the picture is. It may be
// drawn several times, as SVG and as PNG, each time from a copy with a canvas.
func (t *laneChart) picture(label string, show func(t *laneChart)) plot.Picture {
	const (
		row        = 17 // of the legend
		entryGap   = 18 // between two entries in a row
		aboveLanes = 34 // room for interval numbers and a heading
		belowLanes = 42 // room for steps and the axis' label
	)
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

// x is where a number of steps lies on the horizontal axis. Steps outside of it, which only a damaged journal has,
// lie at its ends.
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

// stroke draws lines and curves, whose points are on the canvas already.
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

// write writes in one line; the letters stand on the height of y.
func (t *laneChart) write(x, y, size float64, ink plot.Ink, to draw.XAlignment, words string, bold ...bool) {
	style := plot.Font(vg.Length(size), ink, len(bold) > 0 && bold[0])
	style.XAlign = to
	plot.Write(t.canvas, style, t.at(x, y), words)
}

// sign draws a sign with a tooltip, if there is one, around a place.
func (t *laneChart) sign(sign plot.Sign, ink plot.Ink, x, y, radius float64, tip string) {
	plot.Tip(t.canvas, tip)
	sign.Draw(t.canvas, ink, t.at(x, y), vg.Length(radius))
	plot.Tip(t.canvas, "")
}

// grid draws a line for every interval's end where there is room, at most 25 of them, with numbers of intervals above
// and steps below. A line stands at the steps that as many whole intervals have. A member whose training failed
// within an interval has fewer steps from there on: what happens to it then lies left of its interval's line.
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

// roundUp returns the least of 1, 2, 5, 10, 20, ... that is not below x, so that the intervals with a line have round
// numbers.
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
