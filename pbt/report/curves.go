package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// The curves of a report are over environment steps of the member itself, from 0 to the greatest of any member, in
// all pictures of a page. A member's curve is cut where it takes over weights: every stretch of training between two
// copies is a curve of its own, in the colour of the member with which the weights began. On top lies one thick
// curve: the path that the best member's weights took through the population.

// maxNamed is the number of lineages up to which all are in the legend. Of more the first 7 are: more colours than that
// cannot be told apart.
const maxNamed = 8

// pathTip is the tooltip of the best's path.
const pathTip = "the path of the best member's weights"

// curves returns a curve for every stretch of drawn, in its order, and the best's path as the last one. points
// returns the values of a stretch up to a number of the member's own environment steps: the path leaves an ancestor
// where it was copied, while the ancestor's own curve goes on. steps holds each value until the next, as
// hyperparameters do. The curves are pale where the best's path lies in front of them.
func (f *facts) curves(steps bool, points func(s *stretch, to int64) []journal.Point) []plot.Series {
	opacity := 0.5
	if f.best == nil { // there is no such path
		opacity = 0.9
	}
	var all []plot.Series
	for _, s := range f.drawn() {
		c := plot.Series{Color: f.ink(s.founder).Fade(opacity), Steps: steps, Tip: fmt.Sprintf("member %d", s.member)}
		all = append(all, f.extended(c, points(s, math.MaxInt64)))
	}
	if len(f.ancestry) > 0 {
		best := plot.Series{Color: f.ink(f.ancestry[0].Member), Steps: steps, Strong: true, Tip: pathTip}
		// One line through all ancestors: at a copy it goes on at the steps of the member that copied. If members
		// are not in step it jumps back or forth there.
		for _, a := range f.ancestry {
			if s := f.find(a); s != nil {
				best = f.extended(best, points(s, a.ToSteps))
			}
		}
		all = append(all, best)
	}
	return all
}

// drawn returns the stretches of the members that have a lane, by lineages as in the legend; those that it does not
// name are first, so that they lie behind the others.
func (f *facts) drawn() []*stretch {
	var all []*stretch
	for _, member := range f.lanes {
		for i := range f.courses[member] {
			all = append(all, &f.courses[member][i])
		}
	}
	order := func(s *stretch) int {
		if f.name(s.founder) == "" {
			return -1
		}
		return s.founder
	}
	slices.SortStableFunc(all, func(a, b *stretch) int { return order(a) - order(b) })
	return all
}

// name returns what the legend says of the curves of a lineage, "" for one that has no entry.
func (f *facts) name(founder int) string {
	if len(f.Members) > maxNamed && f.rank[founder] >= maxNamed-1 {
		return ""
	}
	return fmt.Sprintf("from member %d", founder)
}

// extended appends points to a curve. Steps below 0 or beyond the axis, which only a damaged journal has, lie at its
// ends.
func (f *facts) extended(c plot.Series, points []journal.Point) plot.Series {
	for _, p := range points {
		c.X, c.Y = append(c.X, float64(min(max(p.Steps, 0), f.span))), append(c.Y, p.Value)
	}
	return c
}

// chart returns the panel of curves, without a few values that lie so far from all others that these could not be
// told apart beside them: a policy that fell over once may have a return a thousand times below all others. The title
// then says how many are left out. scaled allows a logarithmic axis where values differ by a factor of 5 or more,
// which suits learning rates and losses; on such an axis no value is far outside.
func (f *facts) chart(title string, scaled bool, curves []plot.Series) plot.Panel {
	var values []float64
	for _, c := range curves {
		if !c.Strong { // it repeats values of the others
			values = append(values, c.Y...)
		}
	}
	p := plot.Panel{Title: title, XLabel: "environment steps", XLimits: [2]float64{0, float64(f.span)}, Series: curves}
	if scaled {
		p.Scale = plot.ScaleFor(values...)
	}
	if p.Scale == plot.Linear {
		var beyond int
		if p.YLimits, beyond = outliers(values); beyond > 0 {
			p.Title += fmt.Sprintf(" (%d values far outside are not shown)", beyond)
		}
	}
	return p
}

// outliers returns limits that leave out values farther from the middle nine tenths than ten times their range, and how
// many values that are. Without such values, and of fewer than 20, it returns no limits.
func outliers(values []float64) (limits [2]float64, beyond int) {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !drawable(v) })
	slices.Sort(values)
	n := len(values)
	if n < 20 {
		return limits, 0
	}
	low, high := values[n/20], values[n-1-n/20]
	room := 10 * (high - low) // 0 where nearly all values are equal: then none is far
	if room == 0 || values[0] >= low-room && values[n-1] <= high+room {
		return limits, 0
	}
	limits = [2]float64{max(values[0], low-room/10), min(values[n-1], high+room/10)}
	for _, v := range values {
		if v < limits[0] || v > limits[1] {
			beyond++
		}
	}
	return limits, beyond
}

// objective returns the panel of the objective, which has a point at every interval's end. The curve of a member that
// took over weights begins at the source's objective, at the member's own environment steps: with the source's weights
// it performs as the source does, and the curve shows what it made of them. The axis is logarithmic only for objectives
// of which less is better: these are losses, which fall by orders of magnitude. Crosses and diamonds at the lower edge
// are failures and divergences, which have no value; the star is the best there was.
func (f *facts) objective() plot.Panel {
	title := plot.Plain(f.Run.Objective, 120)
	if f.Run.Minimise {
		title += " (lower is better)"
	}
	p := f.chart(title, f.Run.Minimise, f.curves(false, func(s *stretch, to int64) []journal.Point {
		var points []journal.Point
		if s.copied != nil {
			// What the source had when it was copied, if that was measured: a member that was rescued within an
			// interval copied one whose last objective is of fewer steps.
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
	}))
	// Only this panel has a legend: the colours are the same in all others.
	for i, s := range f.drawn() {
		p.Series[i].Name = f.name(s.founder)
	}
	// Mutations and decisions that were not applied are in the lineage: an objective was measured there, and has its
	// point.
	for _, m := range f.troubles {
		if m.kind == journal.Failed || m.kind == journal.Diverged {
			p.Marks = append(p.Marks, plot.Mark{
				X: float64(m.steps), Y: math.NaN(), Sign: signs[m.kind], Color: inkBad, Tip: m.tip(),
			})
		}
	}
	if f.ever != nil && f.lane[f.ever.member] >= 0 {
		p.Marks = append(p.Marks, plot.Mark{
			X: float64(f.ever.point.Steps), Y: f.ever.point.Value, Sign: plot.Star, Color: inkBest,
			Tip: fmt.Sprintf("the best there was: member %d, %s", f.ever.member, short(f.ever.point.Value)),
		})
	}
	return p
}

// hyperparameter is the panel of one of them, on a logarithmic axis where its values differ by a factor of 5 or more.
func (f *facts) hyperparameter(key string) plot.Panel {
	p := f.chart(plot.Plain(key, 60), true, f.curves(true, func(s *stretch, to int64) []journal.Point {
		return f.within(s, f.Members[s.member].Hyperparameters[key], to)
	}))
	switch p.Scale {
	case plot.Log:
		p.Title += " (logarithmic)"
	case plot.Complement:
		p.Title += " (logarithmic below 1)"
	}
	return p
}

// within returns the points of a stretch, of all values of a member such as a hyperparameter's: what was set at its
// beginning, and what follows up to what is handed on at its end. A journal has two points at an interval's end at
// which a value changed, before and after the decision; the second belongs to the next stretch if the member took
// over weights there, and is not handed on by a member that was copied at that very moment. Of a member that mutated
// itself at the end of interval 2, and copied another at the end of interval 4:
//
//	interval   0   2   2   4   4   6
//	value      1   1   3   3   5   5
//	stretch    1   1   1   1   2   2
//
// A member that copied it at the end of interval 2 took over weights that were trained with 1. The 3 was decided at the
// same moment: with to at the steps of that moment, within ends before it.
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
	for end > begin+1 && all[end-1].Steps > to { // but one point stays: what the stretch began with
		end--
	}
	for end > begin+1 && all[end-1].Steps == to && all[end-2].Steps == to {
		end-- // what was decided there was not handed on
	}
	return all[begin:end]
}

// halfHeight is the height of a panel of half the page's width.
const halfHeight = 235

// figure returns a picture of panels, so many in a row that is as wide as the page, of the given height each. The text
// is as large as that of the other pictures on the page.
func figure(label string, columns int, height vg.Length, panels ...plot.Panel) plot.Picture {
	const edges, gap, textScale = 20, 14, 1.2 // of both sides, and between two columns
	return plot.Figure{
		Label: label, Panels: panels, Columns: columns, TextScale: textScale,
		PanelWidth: vg.Length(pageWidth-edges-gap*(columns-1)) / vg.Length(columns), PanelHeight: height,
	}.Picture()
}
