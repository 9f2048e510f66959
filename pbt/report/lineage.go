package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// manyCopies is the number of copies above which lines have no tooltips.
const manyCopies = 1500

// lineage returns the picture of who descends from whom: a lane for every member, and a curve with an arrow head from
// the lane of a member that was copied to the lane of the member that took over its weights. A line has the colour of
// the member with which the weights began, so it changes its colour where a curve reaches it. The path of the best
// member's weights is thick and has a dark border.
func (f *facts) lineage() plot.Picture {
	const numbers = 84 // at the right: room for objectives
	t := f.newLaneChart(pageWidth-numbers, 620, 30)
	t.width = min(max(t.height/8, 1.2), 2.6)
	// Curves of successive intervals keep apart: they end before the next interval does.
	perInterval := (t.right - t.left) / float64(max(1, f.intervals))
	t.turn = min(14, 0.55*perInterval)
	t.lineageLegend()
	return t.picture(fmt.Sprintf("lineage of %d members over environment steps", len(f.lanes)), func(t *laneChart) {
		t.members()
		t.bestPath()
		t.troubleSigns()
		t.numbers()
	})
}

// lineageLegend explains the signs that are in the picture.
func (t *laneChart) lineageLegend() {
	if len(t.ancestry) > 0 { // the line and its border, as thick as in the lanes
		t.explain("the best's weights", 26, func(t *laneChart, x, y float64) {
			t.line(plot.Text, t.width+3.2, x, y, x+20, y)
			t.line(t.ink(t.ancestry[0].Member), t.width+1, x, y, x+20, y)
		})
	}
	if t.copies > 0 { // a small curve with a head, as between two lanes
		t.explain("copied to; the colour is that of the founding lineage", 28, func(t *laneChart, x, y float64) {
			var arc vg.Path
			arc.Move(t.at(x, y-3))
			arc.CubeTo(t.at(x+12, y-3), t.at(x+2, y+3), t.at(x+14, y+3))
			t.stroke(plot.Muted, 1.1, arc)
			t.head(plot.Muted, x+14, y+3, 3.5)
		})
	}
	for _, k := range []struct {
		kind  journal.Kind
		words string
	}{
		{journal.Failed, "training failed"}, {journal.Diverged, "diverged"},
		{journal.SelfMutate, "mutated itself"}, {journal.ApplyFailed, "not applied"},
	} {
		if slices.ContainsFunc(t.troubles, func(m trouble) bool { return m.kind == k.kind }) {
			t.explain(k.words, 16, func(t *laneChart, x, y float64) { t.trouble(k.kind, x+6, y, 3.6, "") })
		}
	}
	if t.ever != nil {
		t.explain("the best there was", 16, func(t *laneChart, x, y float64) {
			t.sign(plot.Star, inkBest, x+6, y, 6.5, "")
		})
	}
}

// landing returns where the curve of a copy meets the lane of the member that copied: turn points right of the copy,
// or less where the stretch that it begins is short, so that something of the stretch is still seen behind the curve.
// A member's first stretch, which no curve leads to, begins at its steps.
func (t *laneChart) landing(s *stretch) float64 {
	x := t.x(s.fromSteps)
	if s.copied == nil {
		return x
	}
	return x + min(t.turn, max(0.6*(t.x(s.toSteps)-x), 3))
}

// arc returns the curve of the copy that a stretch begins with: from the source's lane, at the steps at which it was
// copied, to the landing. It is a cubic Bézier curve whose control points lie on the two lanes, so that it leaves the
// one and enters the other horizontally, as a track does:
//
//	──────────╮ from, on the source's lane
//	          │
//	          ╰───▶ landing, on the member's lane
//
// If members are not in step the source may have more steps than the member: the curve then runs backwards.
func (t *laneChart) arc(s *stretch) (p vg.Path) {
	fromX, fromY := t.x(s.copied.ParentSteps), t.y(s.copied.Parent)
	x, y := t.landing(s), t.y(s.member)
	reach := max(x-t.x(s.fromSteps), 3)
	p.Move(t.at(fromX, fromY))
	p.CubeTo(t.at(fromX+reach, fromY), t.at(x-reach, y), t.at(x, y))
	return p
}

// arrives reports whether a stretch begins with a curve. It does unless it is a member's first, or the source has no
// lane.
func (t *laneChart) arrives(s *stretch) bool { return s.copied != nil && t.has(s.copied.Parent) }

// head draws an arrow's head, which points to the right.
func (t *laneChart) head(ink plot.Ink, x, y, size float64) {
	back := x - size*0.7
	t.canvas.FillPolygon(ink, []vg.Point{t.at(x+size, y), t.at(back, y-size), t.at(back, y+size)})
}

// members draws the lanes and the curves between them, pale enough for the best's path to stand out. With very many
// copies it leaves out tooltips and arrow heads, because they would make up most of a page of many megabytes.
func (t *laneChart) members() {
	opacity := 0.55
	if t.best == nil {
		opacity = 0.9
	}
	curves := opacity      // of the curves of copies
	if len(t.lanes) > 40 { // their curves cover each other
		curves = 0.35
	}
	many := t.copies > manyCopies
	tip := func(format string, args ...any) {
		if !many {
			plot.Tip(t.canvas, fmt.Sprintf(format, args...))
		}
	}
	for _, member := range t.lanes {
		for i := range t.courses[member] {
			s := &t.courses[member][i]
			ink, y, from := t.ink(s.founder), t.y(member), t.landing(s)
			if t.arrives(s) { // below the lane, which covers its end
				tip("interval %d: member %d copied member %d. %s", s.copied.Iteration, member, s.copied.Parent,
					s.copied.Cause)
				t.stroke(ink.Fade(curves), 1.1, t.arc(s))
				tip("")
				if !many {
					t.head(ink.Fade(opacity), from, y, min(t.height/5, 4))
				}
			}
			tip("member %d, weights that began with member %d", member, s.founder)
			t.line(ink.Fade(opacity), t.width, from, y, max(from, t.x(s.toSteps)), y)
			tip("")
		}
	}
}

// bestPath draws the path of the best's weights over everything else, from the founding member to the best's last
// objective: along the lane of each ancestor for as long as its training is part of the best's, and from lane to lane
// by the curves of the copies. The thick line in the dark ink of text below it becomes its border.
func (t *laneChart) bestPath() {
	var p vg.Path
	for i, a := range t.ancestry {
		s := t.find(a) // a damaged journal may have an ancestor without a stretch: the path then has a gap
		if s == nil || !t.has(a.Member) {
			continue
		}
		if t.arrives(s) {
			p = append(p, t.arc(s)...)
		} else {
			p.Move(t.at(t.landing(s), t.y(a.Member)))
		}
		end := t.x(a.ToSteps) // where the next ancestor copied it
		if i == len(t.ancestry)-1 {
			end = t.x(t.best.point.Steps)
		}
		p.Line(t.at(max(end, t.landing(s)), t.y(a.Member)))
	}
	if len(t.ancestry) > 0 {
		t.stroke(plot.Text, t.width+3.2, p)
		plot.Tip(t.canvas, pathTip)
		t.stroke(t.ink(t.ancestry[0].Member), t.width+1, p)
		plot.Tip(t.canvas, "")
	}
}

// troubleSigns draws failures, divergences, decisions that were not applied, mutations without a copy, and a star at
// the best there was. They lie over the lanes, since they are what a reader looks for.
func (t *laneChart) troubleSigns() {
	size := min(max(t.height/5, 2), 4.2)
	for _, m := range t.troubles {
		if t.has(m.member) {
			t.trouble(m.kind, t.x(m.steps), t.y(m.member), size, m.tip())
		}
	}
	if e := t.ever; e != nil && t.has(e.member) {
		tip := fmt.Sprintf("the best there was: member %d, interval %d, %s %s",
			e.member, e.point.Iteration, t.Run.Objective, short(e.point.Value))
		t.sign(plot.Star, inkBest, t.x(e.point.Steps), t.y(e.member), size+3.5, tip)
	}
}

// trouble draws the sign of a kind of event.
func (t *laneChart) trouble(kind journal.Kind, x, y, size float64, tip string) {
	ink := inkBad
	if kind == journal.SelfMutate { // which is nothing bad
		ink, size = plot.Text, size*0.7
	}
	t.sign(signs[kind], ink, x, y, size, tip)
}

// numbers writes the members' numbers at the left and their last objectives at the right. In low lanes only every
// second or third number fits; the best's is always there, in bold, and those that would touch it are left out.
func (t *laneChart) numbers() {
	every := t.every() // so many lanes share one number
	first := -1        // the best's lane
	if t.best != nil {
		first = t.lane[t.best.member]
	}
	for i, member := range t.lanes {
		best := i == first
		if !best && (i%every != 0 || first >= 0 && i > first-every && i < first+every) {
			continue
		}
		size := min(fontSize, t.height+1)
		y := t.y(member) + size*0.36 // the middle of digits on the line
		t.write(t.left-8, y, size, plot.Text, toRight, fmt.Sprint(member), best)
		if track := t.Members[member]; len(track.Objective) > 0 {
			value := short(track.Objective[len(track.Objective)-1].Value)
			t.write(t.right+12, y, size, plot.Text, toLeft, value, best)
		}
	}
	// Above the intervals' numbers there is room for a long name.
	t.write(pageWidth-6, t.top-20, smallSize, plot.Muted, draw.XRight, plot.Plain(t.Run.Objective, 60))
}
