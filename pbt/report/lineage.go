package report

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// manyCopies is the number of copies from which lines of one colour are drawn as one, without tooltips: these would make
// up most of the page.
const manyCopies = 1500

// tree is the picture of the lineage: a lane for every member, and a curve with an arrow head from the lane of a member
// that was copied to the lane of the member that took over its weights. A line has the colour of the member with which the
// weights began, so it changes its colour where a curve reaches it. The path of the best member's weights is thick and has
// a dark border.
type tree struct {
	*laneChart
	turn  float64 // how far a curve of a copy reaches to the right, in points
	width float64 // of a line
}

// lineage returns the picture of who descends from whom.
func (f *facts) lineage() plot.Picture {
	const numbers = 84 // at the right: room for objectives
	t := tree{laneChart: f.newLaneChart(pageWidth-numbers, 620, 30)}
	t.width = min(max(t.height/8, 1.2), 2.6)
	// Curves of successive intervals keep apart: they end before the next interval does.
	perInterval := (t.right - t.left) / float64(max(1, f.intervals))
	t.turn = min(14, 0.55*perInterval)
	t.explain()
	label := fmt.Sprintf("lineage of %d members over environment steps", len(f.lanes))
	return t.picture(label, func(drawn *laneChart) {
		t := tree{drawn, t.turn, t.width}
		t.members()
		t.bestPath()
		t.troubleSigns()
		t.numbers()
	})
}

// explain makes the legend, of the signs that are in the picture.
func (t tree) explain() {
	add := func(words string, width float64, show func(t tree, x, y float64)) {
		width0, turn := t.width, t.turn
		t.legend = append(t.legend, entry{words, width, func(l *laneChart, x, y float64) { show(tree{l, turn, width0}, x, y) }})
	}
	if len(t.ancestry) > 0 {
		add("the best's weights", 26, func(t tree, x, y float64) {
			t.line(plot.Text, t.width+3.2, x, y, x+20, y)
			t.line(t.ink(t.ancestry[0].Member), t.width+1, x, y, x+20, y)
		})
	}
	if t.copies > 0 {
		add("copied to; the colour is that of the founding lineage", 28, func(t tree, x, y float64) {
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
		for _, m := range t.troubles {
			if m.kind == k.kind {
				add(k.words, 16, func(t tree, x, y float64) { t.trouble(k.kind, x+6, y, 3.6, "") })
				break
			}
		}
	}
	if t.ever != nil {
		add("the best there was", 16, func(t tree, x, y float64) { t.sign(plot.Star, inkBest, x+6, y, 6.5, "") })
	}
}

// landing is where the curve of a copy meets the lane: a little right of the copy, but within the stretch that it begins.
func (t tree) landing(s *stretch) float64 {
	x := t.x(s.fromSteps)
	if s.copied == nil {
		return x
	}
	return x + min(t.turn, max(0.6*(t.x(s.toSteps)-x), 3))
}

// arc leads from the source's lane, at the steps at which it was copied, to where the copying member goes on. Its ends are
// horizontal, so that it flows out of one lane and into the other.
func (t tree) arc(s *stretch) (p vg.Path) {
	fromX, fromY := t.x(s.copied.ParentSteps), t.y(s.copied.Parent)
	x, y := t.landing(s), t.y(s.member)
	reach := max(x-t.x(s.fromSteps), 3)
	p.Move(t.at(fromX, fromY))
	p.CubeTo(t.at(fromX+reach, fromY), t.at(x-reach, y), t.at(x, y))
	return p
}

// arrives reports whether a stretch begins with a curve: the lane of the source is in the picture.
func (t tree) arrives(s *stretch) bool { return s.copied != nil && t.has(s.copied.Parent) }

// head draws an arrow's head, which points to the right.
func (t tree) head(ink plot.Ink, x, y, size float64) {
	back := x - size*0.7
	t.canvas.FillPolygon(ink, []vg.Point{t.at(x+size, y), t.at(back, y-size), t.at(back, y+size)})
}

// members draws the lanes and the curves between them, pale enough for the best's path to stand out.
func (t tree) members() {
	opacity := 0.55
	if t.best == nil {
		opacity = 0.9
	}
	curves := opacity
	if len(t.lanes) > 40 { // their curves cover each other
		curves = 0.35
	}
	many := t.copies > manyCopies
	together := make(map[plot.Ink]vg.Path)
	for _, member := range t.lanes {
		for i := range t.courses[member] {
			s := &t.courses[member][i]
			ink, y, from := t.ink(s.founder), t.y(member), t.landing(s)
			to := max(from, t.x(s.toSteps))
			if many {
				if t.arrives(s) {
					together[ink] = append(together[ink], t.arc(s)...)
				}
				p := together[ink]
				p.Move(t.at(from, y))
				p.Line(t.at(to, y))
				together[ink] = p
				continue
			}
			if t.arrives(s) {
				plot.Tip(t.canvas, fmt.Sprintf("interval %d: member %d copied member %d. %s", s.copied.Iteration, member, s.copied.Parent, s.copied.Cause))
				t.stroke(ink.Fade(curves), 1.1, t.arc(s))
				plot.Tip(t.canvas, "")
				t.head(ink.Fade(opacity), from, y, min(t.height/5, 4))
			}
			plot.Tip(t.canvas, fmt.Sprintf("member %d, weights that began with member %d", member, s.founder))
			t.line(ink.Fade(opacity), t.width, from, y, to, y)
			plot.Tip(t.canvas, "")
		}
	}
	for k := range maxInks {
		if p := together[plot.Color(k)]; p != nil {
			t.stroke(plot.Color(k).Fade(0.4), 1, p)
		}
	}
}

// bestPath draws the path of the best's weights over everything else, from the founding member to the best's last
// objective.
func (t tree) bestPath() {
	var p vg.Path
	for i, a := range t.ancestry {
		s := t.find(a)
		if s == nil || !t.has(a.Member) {
			continue
		}
		if t.arrives(s) {
			p = append(p, t.arc(s)...)
		} else {
			p.Move(t.at(t.landing(s), t.y(a.Member)))
		}
		end := t.x(a.ToSteps)
		if i == len(t.ancestry)-1 {
			end = t.x(t.best.point.Steps)
		}
		p.Line(t.at(max(end, t.landing(s)), t.y(a.Member)))
	}
	if len(t.ancestry) > 0 {
		t.stroke(plot.Text, t.width+3.2, p)
		plot.Tip(t.canvas, "the path of the best member's weights")
		t.stroke(t.ink(t.ancestry[0].Member), t.width+1, p)
		plot.Tip(t.canvas, "")
	}
}

// troubleSigns draws failures, divergences, mutations of a member without a copy, and a star at the best there was.
func (t tree) troubleSigns() {
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

func (t tree) trouble(kind journal.Kind, x, y, size float64, tip string) {
	ink := inkBad
	if kind == journal.SelfMutate { // which is nothing bad
		ink, size = plot.Text, size*0.7
	}
	t.sign(signs[kind], ink, x, y, size, tip)
}

// numbers writes the members' numbers at the left and their last objectives at the right, as many as fit; the best's is
// always there, in bold.
func (t tree) numbers() {
	every := t.every()
	first := -1 // the best's lane
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
		t.writeBold(t.left-8, y, size, plot.Text, toRight, best, fmt.Sprint(member))
		if track := t.Members[member]; len(track.Objective) > 0 {
			value := short(track.Objective[len(track.Objective)-1].Value)
			t.writeBold(t.right+12, y, size, plot.Text, toLeft, best, value)
		}
	}
	// Above the intervals' numbers there is room for a long name.
	t.write(pageWidth-6, t.top-20, smallSize, plot.Muted, draw.XRight, plot.Plain(t.Run.Objective, 60))
}
