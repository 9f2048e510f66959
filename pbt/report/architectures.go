package report

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/gorl-dev/gorl/tracking/plot"
)

// maxMutations is the number of signs up to which mutations that did nothing have one, too; up to four times as many
// have tooltips.
const maxMutations = 3000

// A band's description is written in this size above it, in lanes of at least wordedHeight points.
const (
	descriptionSize = 9
	wordedHeight    = 22
)

// mutationSigns are the legend's words for each kind of mutation, the form and the ink of its sign, and the sign's
// radius relative to the others'.
var mutationSigns = []struct {
	words  string
	sign   plot.Sign
	ink    plot.Ink
	radius float64
}{
	mutationArchitecture:   {"architecture", plot.Square, inkArchitecture, 1},
	mutationActivation:     {"activation", plot.Diamond, inkActivation, 1},
	mutationParameters:     {"weights", plot.Triangle, inkWeights, 1},
	mutationHyperparameter: {"hyperparameter", plot.Dot, inkHyperparameter, 0.85},
	mutationNone:           {"none", plot.Ring, plot.Muted, 0.6},
	mutationOther:          {"other mutation", plot.Dot, plot.Text, 0.85},
}

// architectures returns the picture of what the members' networks are: a lane for every member, in it a band that is
// the thicker the more hidden nodes its networks have, with the description of the leading network where it changes,
// and a sign for every mutation at the steps after which it was made.
func (f *facts) architectures() plot.Picture {
	const words = 200 // at the right: room for what the networks are now
	t := f.newLaneChart(pageWidth-words, 700, 34)
	has, marks := make(map[mutation]bool), 0
	for _, member := range f.lanes {
		for _, c := range f.changes[member] {
			has[c.kind] = true
			marks++
		}
	}
	for kind, s := range mutationSigns {
		if kind := mutation(kind); kind != mutationAbsent && has[kind] {
			t.explain(s.words, 16, func(t *laneChart, x, y float64) {
				t.sign(s.sign, s.ink, x+6, y, 4*s.radius, "")
			})
		}
	}
	t.explain("thicker: more hidden nodes", 0, func(*laneChart, float64, float64) {})
	label := fmt.Sprintf("architectures of %d members over environment steps", len(f.lanes))
	return t.picture(label, func(t *laneChart) {
		// All bands before all signs: a sign at the edge of its lane must not lie below the band of the next.
		for _, member := range f.lanes {
			t.bands(member)
		}
		for _, member := range f.lanes {
			t.mutations(member, marks)
		}
		t.now()
	})
}

// base returns the height of the middle of a member's band. In lanes that are high enough for descriptions it lies a
// fifth of a lane below the middle, which leaves room for them above the band.
func (t *laneChart) base(member int) float64 {
	if t.height >= wordedHeight {
		return t.y(member) + 0.2*t.height
	}
	return t.y(member)
}

// bands draws a band from each change of a member's networks to the next. Its thickness grows in proportion to the
// number of hidden nodes, from 1.2 points, of networks without hidden nodes, to about a third of the lane for the
// most that any member ever had: one scale for all lanes, so that bands can be compared. A description is left out
// where it repeats the one before it, or would touch it or the text at the right; the tooltip of the band has all of
// it, of all networks.
func (t *laneChart) bands(member int) {
	y, free, said := t.base(member), t.left, "" // free is where the lane has room for words
	changes := t.changes[member]
	for i, c := range changes {
		from, to := t.x(c.steps), t.x(t.Members[member].Steps)
		if i+1 < len(changes) {
			to = t.x(changes[i+1].steps)
		}
		half := 0.6 // of the thickness
		if t.mostNodes > 0 {
			half += 0.15 * t.height * float64(c.nodes) / float64(t.mostNodes)
		}
		if to > from {
			plot.Tip(t.canvas, fmt.Sprintf("member %d from interval %d on: %s", member, c.iteration, c.architecture))
			t.canvas.FillPolygon(plot.Muted.Fade(0.35), []vg.Point{
				t.at(from, y-half), t.at(to, y-half), t.at(to, y+half), t.at(from, y+half),
			})
			plot.Tip(t.canvas, "")
		}
		words := plot.Plain(leading(c.architecture), 34)
		end := from + plot.Font(descriptionSize, plot.Text, false).Width(words).Points() + 8
		if t.height >= wordedHeight && words != said && from >= free && end <= t.right {
			t.write(from+1, t.y(member)-0.06*t.height, descriptionSize, plot.Text, toLeft, words)
			free = end
		}
		said = words
	}
}

// mutations draws a member's signs; marks is the number of those of all members. If they are very many, those of
// mutations that did nothing are left out, then the tooltips: pages of long evolutions would become too large to
// open.
func (t *laneChart) mutations(member, marks int) {
	size := min(max(t.height/7, 1.8), 4)
	for _, c := range t.changes[member] {
		if c.kind == mutationAbsent || c.kind == mutationNone && marks > maxMutations {
			continue
		}
		tip := ""
		if marks <= 4*maxMutations {
			tip = c.tip(member)
		}
		s := mutationSigns[c.kind]
		t.sign(s.sign, s.ink, t.x(c.steps), t.base(member), size*s.radius, tip)
	}
}

// tip is the tooltip of a change's sign: when, which member, whose weights it took over, what was mutated, what came
// of it.
func (c change) tip(member int) string {
	tip := fmt.Sprintf("interval %d: member %d", c.iteration, member)
	if c.parent >= 0 {
		tip += fmt.Sprintf(" copied member %d", c.parent)
	}
	return fmt.Sprintf("%s, %s; %s", tip, plot.Plain(c.mutation, 120), c.architecture)
}

// now writes the members' numbers at the left and what their networks are now at the right, as many as fit, cut to
// the width that is left.
func (t *laneChart) now() {
	for i, member := range t.lanes {
		if i%t.every() != 0 {
			continue
		}
		size := min(10, t.height+1)
		y := t.base(member) + size*0.36
		best := t.best != nil && t.best.member == member
		t.write(t.left-8, y, size, plot.Text, toRight, fmt.Sprint(member), best)
		if changes := t.changes[member]; len(changes) > 0 {
			const gaps = 16 // before and after it
			style := plot.Font(vg.Length(size), plot.Text, best)
			shape := leading(changes[len(changes)-1].architecture)
			n := 36
			for n > 1 && style.Width(plot.Plain(shape, n)).Points() > pageWidth-t.right-gaps {
				n--
			}
			t.write(t.right+10, y, size, plot.Text, toLeft, plot.Plain(shape, n), best)
		}
	}
	t.write(t.right+10, t.top-6, smallSize, plot.Muted, toLeft, "now")
}
