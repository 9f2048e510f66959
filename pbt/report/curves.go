package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
	"gonum.org/v1/plot/vg"
)

// The curves of a report are over environment steps of the member itself, from 0 to the greatest of any member, in all
// pictures of a page. A member's curve is cut where it takes over
// weights: every stretch of training between two copies is a curve of its own, in the colour of the member with which the
// weights began. On top lies one thick curve: the path that the best member's weights took through the population.

// maxNamed is the number of lineages up to which all are in the legend. Of more the first 7 are: more colours than that
// cannot be told apart.
const maxNamed = 8

// curves draws values of all members that have a lane; points gives those of a stretch, up to a number of the member's
// steps. steps holds each value until the next, as hyperparameters do.
func (f *facts) curves(steps bool, points func(s *stretch, to int64) []journal.Point) []plot.Series {
	opacity := 0.5
	if f.best == nil { // nothing lies in front of the curves
		opacity = 0.9
	}
	var all []plot.Series
	for _, s := range f.drawn() {
		c := plot.Series{Color: f.ink(s.founder).Fade(opacity), Steps: steps, Tip: fmt.Sprintf("member %d", s.member)}
		all = append(all, f.extended(c, points(s, math.MaxInt64)))
	}
	if len(f.ancestry) > 0 {
		best := plot.Series{Color: f.ink(f.ancestry[0].Member), Steps: steps, Strong: true, Tip: "the path of the best member's weights"}
		for _, a := range f.ancestry {
			if s := f.find(a); s != nil {
				best = f.extended(best, points(s, a.ToSteps))
			}
		}
		all = append(all, best)
	}
	return all
}

// drawn returns the stretches of the members that have a lane, by lineages as in the legend; those that it does not name
// are first, so that they lie behind the others.
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

// extended appends points to a curve. Steps below 0 or beyond the axis, which only a damaged journal has, lie at its ends.
func (f *facts) extended(c plot.Series, points []journal.Point) plot.Series {
	for _, p := range points {
		c.X, c.Y = append(c.X, float64(min(max(p.Steps, 0), f.span))), append(c.Y, p.Value)
	}
	return c
}

// chart returns the panel of curves, without a few values that lie so far from all others that these could not be told
// apart beside them. scaled allows a logarithmic axis.
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
	room := 10 * (high - low)
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

// objective is the panel of the objective. The curve of a member that took over weights begins at the source's objective;
// crosses and diamonds at the lower edge are failures and divergences, which have no objective.
func (f *facts) objective() plot.Panel {
	title := plot.Plain(f.Run.Objective, 120)
	if f.Run.Minimise {
		title += " (lower is better)"
	}
	p := f.chart(title, f.Run.Minimise, f.curves(false, func(s *stretch, to int64) []journal.Point {
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
	}))
	for i, s := range f.drawn() {
		p.Series[i].Name = f.name(s.founder)
	}
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
// beginning, and what follows up to what is handed on at its end. A journal has two points at an interval's end at which a
// value changed, before and after the decision; the second belongs to the next stretch if the member took over weights
// there, and is not handed on by a member that was copied at that very moment.
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

// objectivePicture is as wide as the page.
func (f *facts) objectivePicture() plot.Picture {
	return wide(f.objective(), 380, "the objective of all members over environment steps")
}

// hyperparameterPictures are all hyperparameters in one picture, or one that says that there are none.
func (f *facts) hyperparameterPictures() plot.Picture {
	var panels []plot.Panel
	for _, key := range f.keys {
		panels = append(panels, f.hyperparameter(key))
	}
	if panels == nil {
		panels = []plot.Panel{{Title: "the journal has no hyperparameters"}}
	}
	return half("hyperparameters over environment steps", panels...)
}

// textScale makes the text of curves as large as that of the other pictures on the page.
const textScale = 1.2

// wide returns a picture of one panel that is as wide as the page.
func wide(p plot.Panel, height vg.Length, label string) plot.Picture {
	const edges = 20 // of both sides of a figure
	f := plot.Figure{Panels: []plot.Panel{p}, PanelWidth: pageWidth - edges, PanelHeight: height, TextScale: textScale, Label: label}
	return f.Picture()
}

// half returns a picture of panels of half the page's width, two in a row.
func half(label string, panels ...plot.Panel) plot.Picture {
	const edges = 34 // of both sides, and the gap between two columns
	return plot.Figure{Panels: panels, Columns: 2, PanelWidth: (pageWidth - edges) / 2, TextScale: textScale, Label: label}.Picture()
}
