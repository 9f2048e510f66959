package report

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// A member's curve is cut where it takes over weights: every stretch of training between two copies is a line of its
// own, in the colour of the member with which the weights began. The path of the best weights is one line through all
// ancestors: at a copy it goes on at the steps of the member that copied, and leaves an ancestor where it was copied.

// panels returns the curves of the objective, of each hyperparameter, and of the size of networks that evolve.
func (f *facts) panels() []Panel {
	list := []Panel{f.panel(f.Run.Objective, false, f.objective)}
	for _, key := range f.page.Keys {
		list = append(list, f.panel(key, true, func(s *Stretch, to int64) []journal.Point {
			return f.within(s, f.Members[s.member].Hyperparameters[key], to)
		}))
	}
	if slices.ContainsFunc(f.sizes, func(own []journal.Point) bool { return len(own) > 0 }) {
		list = append(list, f.panel("hidden nodes", true, func(s *Stretch, to int64) []journal.Point {
			return f.within(s, f.sizes[s.member], to)
		}))
	}
	return list
}

// panel returns the curves whose values points returns, of a stretch up to a number of the member's own steps.
func (f *facts) panel(key string, constant bool, points func(s *Stretch, to int64) []journal.Point) Panel {
	p := Panel{Key: cut(key), Constant: constant}
	for _, member := range f.lanes {
		for i := range f.courses[member] {
			s := &f.courses[member][i]
			line := Line{Member: member, Color: s.Color, Points: f.xy(points(s, math.MaxInt64))}
			if n := len(line.Points); constant && n > 0 && line.Points[n-1][0] < Number(s.To) {
				line.Points = append(line.Points, XY{Number(s.To), line.Points[n-1][1]})
			}
			p.Lines = append(p.Lines, line)
		}
	}
	for _, a := range f.ancestry {
		if s := f.find(a); s != nil {
			p.Path = append(p.Path, f.xy(points(s, a.ToSteps))...)
		}
	}
	if n := len(p.Path); constant && n > 0 {
		p.Path = append(p.Path, XY{Number(f.page.Best.Steps), p.Path[n-1][1]})
	}
	return p
}

// xy returns points that can be drawn. Steps below 0 or beyond the axis, which only a damaged journal has, lie at its
// ends.
func (f *facts) xy(points []journal.Point) []XY {
	list := []XY{}
	for _, p := range points {
		if drawable(p.Value) {
			list = append(list, XY{Number(min(max(p.Steps, 0), f.page.Span)), Number(p.Value)})
		}
	}
	return list
}

// objective returns the objectives of a stretch up to a number of steps, one at every interval's end. A copy begins at
// the source's objective, at the member's own steps: with the source's weights it performs as the source does.
func (f *facts) objective(s *Stretch, to int64) (points []journal.Point) {
	if s.Parent >= 0 {
		// What the source had when it was copied, if that was measured: a member that was rescued within an interval
		// copied one whose last objective is of fewer steps.
		for _, p := range slices.Backward(f.Members[s.Parent].Objective) {
			if p.Steps == s.ParentSteps {
				p.Steps = s.From
				points = append(points, p)
				break
			}
		}
	}
	for _, p := range f.Members[s.member].Objective {
		if p.Iteration > s.Interval && p.Iteration <= s.end && p.Steps <= to || s.Parent < 0 && p.Iteration == 0 {
			points = append(points, p)
		}
	}
	return points
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
func (f *facts) within(s *Stretch, all []journal.Point, to int64) []journal.Point {
	begin := 0
	if s.Parent >= 0 {
		for i, p := range all {
			if p.Iteration <= s.Interval {
				begin = i // the last at that interval's end is what the decision set
			}
		}
	}
	end := len(all)
	if course := f.courses[s.member]; s != &course[len(course)-1] {
		for end > begin && all[end-1].Iteration > s.end {
			end--
		}
		if end-1 > begin && all[end-1].Iteration == s.end {
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
