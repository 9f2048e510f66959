package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// chart is one pair of axes: environment steps to the right.
type chart struct {
	*facts
	scene                    *scene
	left, right, top, bottom float64
	titled                   float64 // about how wide the title is
	y                        axis
}

// newChart draws the frame.
func (f *facts) newChart(width, height float64, title string, y axis, label string) *chart {
	c := &chart{facts: f, left: marginLeft, right: width - 16, top: 30, bottom: height - 40, y: y}
	c.scene = &scene{width: width, height: height, label: label}
	s := c.scene
	if beyond := y.beyond; beyond > 0 {
		title += fmt.Sprintf(" (%d values far outside are not shown)", beyond)
	}
	title = plain(title, int((width-c.left)/7))
	c.titled = 1.2 * wordsWidth(title, 12.5)
	s.add(item{kind: text, ink: inkText, at: point{c.left, 16}, size: 12.5, bold: true, text: title})
	for _, k := range y.ticks(max(3, int((c.bottom-c.top)/34))) {
		at := c.bottom - (c.bottom-c.top)*k.at
		s.add(item{kind: stroke, ink: inkGrid, width: 1, path: path{{'M', [3]point{2: {c.left, at}}}, {'L', [3]point{2: {c.right, at}}}}})
		s.words(c.left-6, at+3.5, fontSize, inkMuted, toRight, k.label)
	}
	s.add(item{kind: stroke, ink: inkMuted, width: 1, path: path{{'M', [3]point{2: {c.left, c.bottom}}}, {'L', [3]point{2: {c.right, c.bottom}}}}})
	for _, k := range (axis{lo: 0, hi: float64(f.span)}).ticks(max(3, int((c.right-c.left)/110))) {
		x := c.left + (c.right-c.left)*k.at
		s.add(item{kind: stroke, ink: inkMuted, width: 1, path: path{{'M', [3]point{2: {x, c.bottom}}}, {'L', [3]point{2: {x, c.bottom + 4}}}}})
		s.words(x, c.bottom+16, fontSize, inkMuted, toMiddle, k.label)
	}
	s.words((c.left+c.right)/2, c.bottom+32, fontSize, inkMuted, toMiddle, "environment steps")
	return c
}

func (c *chart) place(steps int64, value float64) (point, bool) {
	at, ok := c.y.place(value)
	x := float64(min(max(steps, 0), c.span)) / float64(c.span)
	return point{c.left + (c.right-c.left)*x, c.bottom - (c.bottom-c.top)*at}, ok
}

// trail collects points into a path, with gaps where a value cannot be shown.
type trail struct {
	chart *chart
	steps bool // hold each value until the next
	path  path
	dots  []point // values that stand alone
	run   []point
}

func (t *trail) add(p journal.Point) {
	at, ok := t.chart.place(p.Steps, p.Value)
	if !ok {
		t.end()
		return
	}
	if n := len(t.run); t.steps && n > 0 && t.run[n-1].y != at.y {
		t.run = append(t.run, point{at.x, t.run[n-1].y})
	}
	t.run = append(t.run, at)
}

func (t *trail) end() {
	switch run := thin(t.run, t.chart.pointsPerCurve()); {
	case len(run) == 1:
		t.dots = append(t.dots, run[0])
	case len(run) > 1:
		t.path.move(run[0].x, run[0].y)
		for _, at := range run[1:] {
			t.path.line(at.x, at.y)
		}
	}
	t.run = t.run[:0]
}

func (c *chart) pointsPerCurve() int {
	return min(max(14_000/len(c.lanes), 60), 700)
}

// thin leaves about n points, of every stretch of a long run the first, the lowest, the highest and the last.
func thin(run []point, n int) []point {
	if len(run) <= n {
		return run
	}
	var out []point
	groups := max(1, n/4)
	for g := range groups {
		part := run[g*len(run)/groups : (g+1)*len(run)/groups]
		lo, hi := 0, 0
		for i, at := range part {
			if at.y < part[lo].y {
				lo = i
			}
			if at.y > part[hi].y {
				hi = i
			}
		}
		last := -1
		for _, i := range []int{0, min(lo, hi), max(lo, hi), len(part) - 1} {
			if i > last {
				out, last = append(out, part[i]), i
			}
		}
	}
	return out
}

// draw adds the curves of stretches, given their points, and then the way of the best over them.
func (c *chart) draw(steps bool, points func(s *stretch, to int64) []journal.Point) {
	dim := 0.5
	if c.best == nil {
		dim = 0.9
	}
	curve := func(s *stretch, to int64) trail {
		t := trail{chart: c, steps: steps}
		for _, p := range points(s, to) {
			t.add(p)
		}
		t.end()
		return t
	}
	for _, member := range c.lanes {
		for i := range c.courses[member] {
			s := &c.courses[member][i]
			t := curve(s, math.MaxInt64)
			k := c.inks[s.founder]
			if t.path != nil {
				c.scene.add(item{kind: stroke, ink: k, width: 1.3, opacity: dim, path: t.path, title: fmt.Sprintf("member %d", member)})
			}
			for _, at := range t.dots {
				c.scene.add(item{kind: dot, ink: k, opacity: dim, at: at, radius: 1.8, title: fmt.Sprintf("member %d", member)})
			}
		}
	}
	way := trail{chart: c, steps: steps}
	for _, a := range c.ancestry {
		if s := c.find(a); s != nil {
			for _, p := range points(s, a.ToSteps) {
				way.add(p)
			}
		}
	}
	way.end()
	const title = "the way of the best's weights"
	if way.path != nil {
		c.scene.add(
			item{kind: stroke, ink: inkText, width: 4.4, path: way.path},
			item{kind: stroke, ink: c.inks[c.ancestry[0].Member], width: 2.3, path: way.path, title: title},
		)
	}
	for _, at := range way.dots {
		c.scene.add(item{kind: dot, ink: inkText, at: at, radius: 3, title: title})
	}
}

// objective is the objective of all members; the curve of a member that took over weights begins at the source's.
func (f *facts) objective() *scene {
	var values []float64
	for _, member := range f.lanes {
		for _, p := range f.Members[member].Objective {
			values = append(values, p.Value)
		}
	}
	title := f.Run.Objective
	if f.Run.Minimise {
		title += " (lower is better)"
	}
	c := f.newChart(pageWidth, 380, title, axisFor(values, f.Run.Minimise), "the objective of all members over environment steps")
	c.key()
	if len(values) == 0 {
		c.scene.words((c.left+c.right)/2, (c.top+c.bottom)/2, 13, inkMuted, toMiddle, "no objective is known yet")
	}
	c.draw(false, func(s *stretch, to int64) []journal.Point {
		var points []journal.Point
		if s.copied != nil {
			for _, p := range slices.Backward(f.Members[s.copied.Parent].Objective) {
				if p.Steps == s.copied.ParentSteps {
					p.Steps = s.fromSteps
					points = append(points, p)
					break
				}
			}
		}
		for _, p := range f.Members[s.member].Objective {
			if p.Iteration > s.from && p.Iteration <= s.to && p.Steps <= to || s.copied == nil && p.Iteration == 0 {
				points = append(points, p)
			}
		}
		return points
	})
	c.lost()
	if f.ever != nil && f.lane[f.ever.member] >= 0 {
		if at, ok := c.place(f.ever.point.Steps, f.ever.point.Value); ok {
			c.scene.add(item{kind: fill, ink: inkBest, path: star(at, 7), title: fmt.Sprintf("the best there was: member %d, %s", f.ever.member, short(f.ever.point.Value))})
		}
	}
	return c.scene
}

// lost marks, at the bottom, where members failed or diverged.
func (c *chart) lost() {
	marks := &tree{facts: c.facts}
	for _, m := range c.troubles {
		if m.kind == journal.Failed || m.kind == journal.Diverged {
			at, _ := c.place(m.steps, 0)
			c.scene.add(marks.mark(m.kind, point{at.x, c.bottom - 6}, 3.2, fmt.Sprintf("member %d, %s: %s", m.member, m.kind, m.cause))...)
		}
	}
}

// hyperparameter is the course of one of them.
func (f *facts) hyperparameter(key string) *scene {
	var values []float64
	for _, member := range f.lanes {
		for _, p := range f.Members[member].Hyperparameters[key] {
			values = append(values, p.Value)
		}
	}
	y := axisFor(values, true)
	title := plain(key, 60)
	switch y.law {
	case decades:
		title += " (logarithmic)"
	case complement:
		title += " (logarithmic below 1)"
	}
	c := f.newChart(pageWidth/2-8, 230, title, y, "the hyperparameter "+key+" of all members over environment steps")
	c.key()
	c.draw(true, func(s *stretch, to int64) []journal.Point {
		return f.within(s, f.Members[s.member].Hyperparameters[key], to)
	})
	return c.scene
}

// within are those of all values of a member, such as a hyperparameter's, during a stretch: what was set at its beginning, and what follows up to
// what is handed on at its end.
func (f *facts) within(s *stretch, all []journal.Point, to int64) []journal.Point {
	begin := 0
	if s.copied != nil {
		for i, p := range all {
			if p.Iteration <= s.from {
				begin = i // the last at that interval's end is what the decision set
			}
		}
	}
	end := len(all)
	if course := f.courses[s.member]; s != &course[len(course)-1] {
		for end > begin && all[end-1].Iteration > s.to {
			end--
		}
		if end-1 > begin && all[end-1].Iteration == s.to {
			end-- // the next stretch's beginning
		}
	}
	for end > begin+1 && all[end-1].Steps > to {
		end--
	}
	for end > begin+1 && all[end-1].Steps == to && all[end-2].Steps == to {
		end-- // what was decided there was not handed on
	}
	return all[begin:end]
}

// panels are all hyperparameters in one picture.
func (f *facts) panels() *scene {
	const gap = 16
	columns := min(2, max(1, len(f.keys)))
	all := &scene{width: pageWidth, label: "hyperparameters over environment steps"}
	if columns == 1 {
		all.width = pageWidth/2 - 8
	}
	for i, key := range f.keys {
		panel := f.hyperparameter(key)
		all.put(panel, float64(i%columns)*(panel.width+gap), float64(i/columns)*(panel.height+gap))
		all.height = float64(i/columns+1)*(panel.height+gap) - gap
	}
	if len(f.keys) == 0 {
		all.height = 60
		all.words(all.width/2, 34, 13, inkMuted, toMiddle, "the journal has no hyperparameters")
	}
	return all
}
