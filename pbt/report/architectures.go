package report

import (
	"fmt"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// maxMutations is the number of marks up to which mutations that did nothing have one, too.
const maxMutations = 3000

// architectures are a lane for every member with what its networks are, over environment steps, and a mark for every
// mutation.
func (f *facts) architectures() *scene {
	t := &tree{facts: f, left: marginLeft, right: pageWidth - 200}
	n := float64(len(f.lanes))
	t.height = min(max(700/n, 8), 34)
	if n > 100 {
		t.height = 5
	}
	t.scene = &scene{width: pageWidth, label: fmt.Sprintf("architectures of %d members over environment steps", len(f.lanes))}
	t.top = t.mutationLegend() + 34
	bottom := t.top + n*t.height
	t.scene.height = bottom + 42
	t.grid(bottom)
	marks := 0
	for _, member := range t.lanes {
		marks += len(t.changes[member])
	}
	for _, member := range t.lanes {
		t.bands(member)
	}
	for _, member := range t.lanes {
		t.mutations(member, marks)
	}
	t.shapes()
	return t.scene
}

// worded says whether lanes are high enough for words in them.
func (t *tree) worded() bool { return t.height >= 22 }

// base is where a member's band lies: below its words.
func (t *tree) base(member int) float64 {
	if t.worded() {
		return t.y(member) + 0.2*t.height
	}
	return t.y(member)
}

// bands are as thick as the member's networks are wide.
func (t *tree) bands(member int) {
	changes := t.changes[member]
	y := t.base(member)
	free := t.left // where words of the lane may begin
	said := ""
	for i, c := range changes {
		from, to := t.x(c.steps), t.x(t.Members[member].Steps)
		if i+1 < len(changes) {
			to = t.x(changes[i+1].steps)
		}
		half := 0.6
		if t.mostNodes > 0 {
			half += 0.15 * t.height * float64(c.nodes) / float64(t.mostNodes)
		}
		if to > from {
			t.scene.add(item{kind: fill, ink: inkMuted, opacity: 0.35, title: fmt.Sprintf("member %d from interval %d on: %s", member, c.iteration, c.architecture),
				path: polygon(point{from, y - half}, point{to, y - half}, point{to, y + half}, point{from, y + half})})
		}
		words := plain(leading(c.architecture), 34)
		end := from + wordsWidth(words, 9) + 8
		if t.worded() && words != said && from >= free && end <= t.right {
			t.scene.words(from+1, y-0.26*t.height, 9, inkText, toLeft, words)
			free = end
		}
		said = words
	}
}

// mutations are a member's marks.
func (t *tree) mutations(member, marks int) {
	size := min(max(t.height/7, 1.8), 4)
	for _, c := range t.changes[member] {
		if c.kind == mutationAbsent || c.kind == mutationNone && marks > maxMutations {
			continue
		}
		title := ""
		if marks <= 4*maxMutations {
			title = c.title(member)
		}
		t.scene.add(mutationMark(c.kind, point{t.x(c.steps), t.base(member)}, size, title))
	}
}

func (c change) title(member int) string {
	title := fmt.Sprintf("interval %d: member %d", c.iteration, member)
	if c.parent >= 0 {
		title += fmt.Sprintf(" copied member %d", c.parent)
	}
	return plain(fmt.Sprintf("%s, %s; %s", title, plain(c.mutation, 120), c.architecture), 290)
}

// mutationMark has a form and a colour for every kind.
func mutationMark(kind mutation, at point, size float64, title string) item {
	it := item{kind: fill, title: title}
	switch kind {
	case mutationArchitecture:
		it.ink, it.path = inkArchitecture, polygon(point{at.x - size, at.y - size}, point{at.x + size, at.y - size}, point{at.x + size, at.y + size}, point{at.x - size, at.y + size})
	case mutationParameters:
		it.ink, it.path = inkWeights, polygon(point{at.x, at.y - 1.2*size}, point{at.x + 1.2*size, at.y + size}, point{at.x - 1.2*size, at.y + size})
	case mutationActivation:
		it.ink, it.path = inkActivation, polygon(point{at.x, at.y - 1.35*size}, point{at.x + 1.35*size, at.y}, point{at.x, at.y + 1.35*size}, point{at.x - 1.35*size, at.y})
	default:
		it = item{kind: dot, ink: inkHyperparameter, at: at, radius: 0.85 * size, title: title}
		switch kind {
		case mutationNone:
			it.ink, it.hollow, it.radius = inkMuted, true, 0.6*size
		case mutationOther:
			it.ink = inkText
		}
	}
	return it
}

// mutationLegend explains the marks there are, at the top; it ends at y.
func (t *tree) mutationLegend() (bottom float64) {
	has := map[mutation]bool{}
	for _, member := range t.lanes {
		for _, c := range t.changes[member] {
			has[c.kind] = true
		}
	}
	x, y := float64(t.left), 14.0
	for _, kind := range []mutation{mutationArchitecture, mutationActivation, mutationParameters, mutationHyperparameter, mutationNone, mutationOther} {
		if has[kind] {
			t.scene.add(mutationMark(kind, point{x + 6, y - 4}, 4, ""))
			t.scene.words(x+16, y, fontSize, inkMuted, toLeft, mutationNames[kind])
			x += 16 + wordsWidth(mutationNames[kind], fontSize) + 20
		}
	}
	t.scene.words(x, y, fontSize, inkMuted, toLeft, "thicker: more hidden nodes")
	return y
}

// shapes are the members' numbers at the left and what their networks are now at the right.
func (t *tree) shapes() {
	every := 1
	for float64(every)*t.height < 9 {
		every++
	}
	for i, member := range t.lanes {
		if i%every != 0 {
			continue
		}
		size := min(10, t.height+1)
		y := t.base(member) + size*0.36
		best := t.best != nil && t.best.member == member
		t.scene.add(item{kind: text, ink: inkText, at: point{t.left - 8, y}, size: size, align: toRight, text: fmt.Sprint(member), bold: best})
		if changes := t.changes[member]; len(changes) > 0 {
			shape := changes[len(changes)-1].architecture
			t.scene.add(item{kind: text, ink: inkText, at: point{t.right + 10, y}, size: size, text: plain(leading(shape), 36), bold: best})
		}
	}
	t.scene.words(t.right+10, t.top-6, 10, inkMuted, toLeft, "now")
}

// hidden is the number of hidden nodes of all networks of all members.
func (f *facts) hidden() *scene {
	var values []float64
	for _, member := range f.lanes {
		for _, p := range f.nodes[member] {
			values = append(values, p.Value)
		}
	}
	y := axisFor(values, true)
	title := "hidden nodes of all networks"
	if y.law == decades {
		title += " (logarithmic)"
	}
	c := f.newChart(pageWidth, 250, title, y, "hidden nodes of all networks of all members over environment steps")
	c.draw(true, func(s *stretch, to int64) []journal.Point { return f.within(s, f.nodes[s.member], to) })
	return c.scene
}

// evolution is both pictures in one.
func (f *facts) evolution() *scene {
	all := f.architectures()
	if f.mostNodes > 0 {
		below := f.hidden()
		all.put(below, 0, all.height+12)
		all.height += 12 + below.height
	}
	return all
}
