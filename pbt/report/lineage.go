package report

import (
	"fmt"
	"math"
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
	// Above the intervals' numbers there is room for a long name.
	t.scene.words(pageWidth-6, t.top-20, 10, inkMuted, toRight, plain(t.Run.Objective, 60))
}
