package report

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/pbt"
)

const (
	pageWidth  = 960
	marginLeft = 58
	fontSize   = 11
)

// tree lays out the lineage: a lane for every member, along its environment steps, and curves from those that were
// copied to those that took over.
type tree struct {
	*facts
	scene  *scene
	left   float64 // of the lanes
	right  float64
	top    float64
	height float64 // of one lane
	turn   float64 // how far a curve reaches to the right
	width  float64 // of a line
}

func (f *facts) lineage() *scene {
	t := &tree{facts: f, left: marginLeft, right: pageWidth - 84}
	n := float64(len(f.lanes))
	t.height = min(max(620/n, 8), 30)
	if n > 100 {
		t.height = 5
	}
	t.width = min(max(t.height/8, 1.2), 2.6)
	t.scene = &scene{width: pageWidth, label: fmt.Sprintf("lineage of %d members over environment steps", len(f.lanes))}
	t.top = t.legend() + 34
	bottom := t.top + n*t.height
	t.scene.height = bottom + 42
	perInterval := (t.right - t.left) / float64(max(1, f.intervals))
	t.turn = min(14, 0.55*perInterval)
	t.grid(bottom)
	t.lanesAndCurves()
	t.path()
	t.marks()
	t.labels()
	return t.scene
}

func (t *tree) x(steps int64) float64 {
	return t.left + (t.right-t.left)*float64(min(max(steps, 0), t.span))/float64(t.span)
}

func (t *tree) y(member int) float64 { return t.top + (float64(t.lane[member])+0.5)*t.height }

func (t *tree) drawn(member int) bool { return t.lane[member] >= 0 }

// grid is a line for every interval's end where there is room, with numbers of intervals above and steps below.
func (t *tree) grid(bottom float64) {
	s := t.scene
	if size := t.Run.IntervalSteps; size > 0 {
		step := roundUp(float64(t.intervals) / 24)
		for k := int64(0); k <= t.intervals && k < 1000; k += step {
			if k > t.span/size {
				break
			}
			x := t.x(k * size)
			s.add(item{kind: stroke, ink: inkGrid, width: 1, path: path{{'M', [3]point{2: {x, t.top}}}, {'L', [3]point{2: {x, bottom}}}}})
			s.words(x, t.top-6, 10, inkMuted, toMiddle, fmt.Sprint(k))
		}
		s.words(t.left-8, t.top-6, 10, inkMuted, toRight, "interval")
	}
	for _, k := range (axis{lo: 0, hi: float64(t.span)}).ticks(7) {
		x := t.left + (t.right-t.left)*k.at
		s.add(item{kind: stroke, ink: inkMuted, width: 1, path: path{{'M', [3]point{2: {x, bottom}}}, {'L', [3]point{2: {x, bottom + 4}}}}})
		s.words(x, bottom+16, fontSize, inkMuted, toMiddle, k.label)
	}
	s.words((t.left+t.right)/2, bottom+34, fontSize, inkMuted, toMiddle, "environment steps of the member itself")
}

// roundUp is the least of 1, 2, 5, 10, 20, ... that is not below x.
func roundUp(x float64) int64 {
	step := int64(1)
	for k := 0; float64(step) < x && step < 1<<60; k++ {
		step = step * []int64{2, 5, 2}[k%3] / []int64{1, 2, 1}[k%3]
	}
	return step
}

// landing is where the curve of a copy meets the lane.
func (t *tree) landing(s *stretch) float64 {
	x := t.x(s.fromSteps)
	if s.copied == nil {
		return x
	}
	return x + min(t.turn, max(0.6*(t.x(s.toSteps)-x), 3))
}

// arc leads from the source's lane to where the copying member goes on.
func (t *tree) arc(s *stretch) (p path, end point) {
	from := point{t.x(s.copied.ParentSteps), t.y(s.copied.Parent)}
	end = point{t.landing(s), t.y(s.member)}
	reach := max(end.x-t.x(s.fromSteps), 3)
	p.move(from.x, from.y)
	p.curve(from.x+reach, from.y, end.x-reach, end.y, end.x, end.y)
	return p, end
}

func (t *tree) lanesAndCurves() {
	dim := 0.55
	if t.best == nil {
		dim = 0.9
	}
	faint := dim
	if len(t.lanes) > 40 {
		faint = 0.35
	}
	many := t.copies > 1500 // then tooltips would make up most of the page
	together := map[ink]path{}
	for _, member := range t.lanes {
		for i := range t.courses[member] {
			s := &t.courses[member][i]
			k := t.inks[s.founder]
			way := path{{'M', [3]point{2: {t.landing(s), t.y(member)}}}, {'L', [3]point{2: {max(t.landing(s), t.x(s.toSteps)), t.y(member)}}}}
			title := fmt.Sprintf("member %d, weights that began with member %d", member, s.founder)
			if s.copied != nil && t.drawn(s.copied.Parent) {
				arc, end := t.arc(s)
				if many {
					together[k] = append(together[k], arc...)
				} else {
					t.scene.add(item{kind: stroke, ink: k, width: 1.1, opacity: faint, path: arc, title: copyTitle(s)})
					t.scene.add(item{kind: fill, ink: k, opacity: dim, path: head(end, min(t.height/5, 4))})
				}
			}
			if many {
				together[k] = append(together[k], way...)
				continue
			}
			t.scene.add(item{kind: stroke, ink: k, width: t.width, opacity: dim, path: way, title: title})
		}
	}
	for k := range ink(len(t.inks)) {
		if p := together[k]; p != nil {
			t.scene.add(item{kind: stroke, ink: k, width: 1, opacity: 0.4, path: p})
		}
	}
}

func copyTitle(s *stretch) string {
	return fmt.Sprintf("interval %d: member %d copied member %d. %s", s.copied.Iteration, s.member, s.copied.Parent, s.copied.Cause)
}

// head is an arrow's, pointing to the right.
func head(at point, size float64) path {
	return polygon(point{at.x + size, at.y}, point{at.x - size*0.7, at.y - size}, point{at.x - size*0.7, at.y + size})
}

// path draws the way of the best's weights over everything else, bordered.
func (t *tree) path() {
	var p path
	for i, a := range t.ancestry {
		s := t.find(a)
		if s == nil || !t.drawn(a.Member) {
			continue
		}
		if s.copied != nil && t.drawn(s.copied.Parent) {
			arc, _ := t.arc(s)
			p = append(p, arc...)
		} else {
			p.move(t.landing(s), t.y(a.Member))
		}
		end := t.x(a.ToSteps)
		if i == len(t.ancestry)-1 {
			end = t.x(t.best.point.Steps)
		}
		p.line(max(end, t.landing(s)), t.y(a.Member))
	}
	if len(t.ancestry) > 0 {
		t.scene.add(
			item{kind: stroke, ink: inkText, width: t.width + 3.2, path: p},
			item{kind: stroke, ink: t.inks[t.ancestry[0].Member], width: t.width + 1, path: p, title: "the way of the best's weights"},
		)
	}
}

// marks are failures, divergences, mutations on the spot, and the best.
func (t *tree) marks() {
	size := min(max(t.height/5, 2), 4.2)
	for _, m := range t.troubles {
		if !t.drawn(m.member) {
			continue
		}
		at := point{t.x(m.steps), t.y(m.member)}
		t.scene.add(t.mark(m.kind, at, size, fmt.Sprintf("member %d, %s: %s", m.member, m.kind, m.cause))...)
	}
	if t.ever != nil && t.drawn(t.ever.member) {
		at := point{t.x(t.ever.point.Steps), t.y(t.ever.member)}
		t.scene.add(item{kind: fill, ink: inkBest, path: star(at, size+3.5), title: fmt.Sprintf("the best there was: member %d, interval %d, %s %s", t.ever.member, t.ever.point.Iteration, t.Run.Objective, short(t.ever.point.Value))})
	}
}

func (t *tree) mark(kind pbt.EventKind, at point, size float64, title string) []item {
	switch kind {
	case pbt.EventFailed:
		var cross path
		cross.move(at.x-size, at.y-size)
		cross.line(at.x+size, at.y+size)
		cross.move(at.x-size, at.y+size)
		cross.line(at.x+size, at.y-size)
		return []item{{kind: stroke, ink: inkBad, width: 2, path: cross, title: title}}
	case pbt.EventDiverged:
		size *= 1.2
		return []item{{kind: fill, ink: inkBad, hollow: true, title: title,
			path: polygon(point{at.x, at.y - size}, point{at.x + size, at.y}, point{at.x, at.y + size}, point{at.x - size, at.y})}}
	case pbt.EventApplyFailed:
		return []item{{kind: fill, ink: inkBad, hollow: true, title: title,
			path: polygon(point{at.x - size, at.y - size}, point{at.x + size, at.y - size}, point{at.x + size, at.y + size}, point{at.x - size, at.y + size})}}
	}
	return []item{{kind: dot, ink: inkText, hollow: true, at: at, radius: size * 0.7, title: title}}
}

// star has five points.
func star(at point, radius float64) path {
	var points []point
	for k := range 10 {
		r := radius
		if k%2 == 1 {
			r *= 0.42
		}
		angle := math.Pi * (float64(k)/5 - 0.5)
		points = append(points, point{at.x + r*math.Cos(angle), at.y + r*math.Sin(angle)})
	}
	return polygon(points...)
}

// labels are the members' numbers at the left and their objectives at the right.
func (t *tree) labels() {
	every := max(1, int(math.Ceil(9/t.height)))
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
		y := t.y(member) + size*0.36
		t.scene.add(item{kind: text, ink: inkText, at: point{t.left - 8, y}, size: size, align: toRight, text: fmt.Sprint(member), bold: best})
		if track := t.Members[member]; len(track.Objective) > 0 {
			value := short(track.Objective[len(track.Objective)-1].Value)
			t.scene.add(item{kind: text, ink: inkText, at: point{t.right + 12, y}, size: size, text: value, bold: best})
		}
	}
	t.scene.words(t.right+12, t.top-6, 10, inkMuted, toLeft, plain(t.Run.Objective, 16))
}

// legend explains the marks there are, at the top; it ends at y.
func (t *tree) legend() (bottom float64) {
	x, y := float64(t.left), 14.0
	entry := func(words string, width float64, items ...item) {
		t.scene.add(items...)
		t.scene.words(x+width, y, fontSize, inkMuted, toLeft, words)
		x += width + wordsWidth(words, fontSize) + 18
	}
	line := func(k ink, width float64) item {
		return item{kind: stroke, ink: k, width: width, path: path{{'M', [3]point{2: {x, y - 4}}}, {'L', [3]point{2: {x + 20, y - 4}}}}}
	}
	place := func() point {
		if x+130 > pageWidth {
			x, y = t.left, y+17
		}
		return point{x + 6, y - 4}
	}
	if len(t.ancestry) > 0 {
		k := t.inks[t.ancestry[0].Member]
		entry("the best's weights", 26, line(inkText, t.width+3.2), line(k, t.width+1))
	}
	if t.copies > 0 {
		at := place()
		var arc path
		arc.move(at.x-6, at.y-3)
		arc.curve(at.x+6, at.y-3, at.x-4, at.y+3, at.x+8, at.y+3)
		entry("copied to; the colour is that of the founding lineage", 22, item{kind: stroke, ink: inkMuted, width: 1.1, path: arc}, item{kind: fill, ink: inkMuted, path: head(point{at.x + 8, at.y + 3}, 3.5)})
	}
	for _, k := range []struct {
		kind  pbt.EventKind
		words string
	}{{pbt.EventFailed, "training failed"}, {pbt.EventDiverged, "diverged"}, {pbt.EventSelfMutate, "mutated itself"}, {pbt.EventApplyFailed, "not applied"}} {
		for _, m := range t.troubles {
			if m.kind == k.kind {
				entry(k.words, 16, t.mark(k.kind, place(), 3.6, "")...)
				break
			}
		}
	}
	if t.ever != nil {
		entry("the best there was", 16, item{kind: fill, ink: inkBest, path: star(place(), 6.5)})
	}
	return y
}
