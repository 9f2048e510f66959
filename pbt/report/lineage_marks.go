package report

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/pbt/journal"
)

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

func (t *tree) mark(kind journal.Kind, at point, size float64, title string) []item {
	switch kind {
	case journal.Failed:
		var cross path
		cross.move(at.x-size, at.y-size)
		cross.line(at.x+size, at.y+size)
		cross.move(at.x-size, at.y+size)
		cross.line(at.x+size, at.y-size)
		return []item{{kind: stroke, ink: inkBad, width: 2, path: cross, title: title}}
	case journal.Diverged:
		size *= 1.2
		return []item{{kind: fill, ink: inkBad, hollow: true, title: title,
			path: polygon(point{at.x, at.y - size}, point{at.x + size, at.y}, point{at.x, at.y + size}, point{at.x - size, at.y})}}
	case journal.ApplyFailed:
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
		kind  journal.Kind
		words string
	}{{journal.Failed, "training failed"}, {journal.Diverged, "diverged"}, {journal.SelfMutate, "mutated itself"}, {journal.ApplyFailed, "not applied"}} {
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
