package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// maxLanes is the number of members that are drawn and listed: those on the path to the best, then the best ones.
const maxLanes = 100

// maxKeys is the number of hyperparameters that are shown.
const maxKeys = 24

// marked are the kinds of events that get a sign on a member's lane, besides copies.
var marked = []journal.Kind{journal.Failed, journal.Diverged, journal.SelfMutate, journal.ApplyFailed}

// facts are what the page and the pictures show. They are taken from a history once, so that all of them agree on who
// is the best, which stretches of training there are, and which colour a lineage has.
type facts struct {
	*journal.History
	// keys are the hyperparameters shown, in the order of panels and columns; moreKeys, where above 0, is how many
	// there are beside these.
	keys     []string
	moreKeys int
	// state says in words whether the population still trains.
	state string
	// intervals is the last interval that has ended for any member, steps the greatest number of environment steps of
	// any member. Members that are not in step, or failed, have less.
	intervals, steps int64
	// span is the number of steps at the right end of horizontal axes. It is never 0.
	span int64
	// How often it happened, in all of the journal. A rescue is a copy by a member that had failed or diverged.
	// happened has the kinds of events, and counts a divergence once, however many intervals the member stays diverged.
	copies, rescues int
	happened        map[journal.Kind]int

	// lanes are the members that are drawn, in the order of their numbers; lane is, by member, its place in lanes, or
	// -1.
	lanes []int
	lane  []int
	// best is the best member now, nil while no finite objective is known; ever the best that any member was at any
	// interval's end. They differ where the best was replaced since, or got worse.
	best, ever *stand
	// ancestry are the stretches that the best's weights went through, oldest first.
	ancestry []journal.Ancestor
	// courses are, by member, its stretches in order.
	courses [][]stretch
	// copied is, by member, how often others copied it.
	copied []int
	// troubles are what gets a sign, in the order of the journal.
	troubles []trouble
	// alive is, by founder, how many members have weights now that began with it; a founder without any has no entry.
	alive map[int]int
	// rank is, by founder, its place in the order of colours and of the legend.
	rank []int

	// networks are, by member, the descriptions of its networks where they changed. They are empty for a population
	// whose networks do not evolve.
	networks [][]network
}

// stand is a member at an interval's end, with the objective that it had there.
type stand struct {
	member int
	point  journal.Point
}

// stretch is a member's training from one copy to the next, or from its beginning, or to its end. A member that was
// never replaced has one. After a copy it trains other weights, so a stretch is what a curve is drawn of.
type stretch struct {
	member int
	// It goes from one number of the member's own environment steps to another, and from one interval's end to
	// another's.
	fromSteps, toSteps int64
	from, to           int64
	// founder is the member with which the weights began: the member itself, until it copies another.
	founder int
	// copied is the copy that the stretch began with, nil for a member's first.
	copied *journal.Copy
}

// trouble is something that gets a sign on a member's lane: a failure, a divergence, a decision that could not be
// applied, or a mutation without a copy.
type trouble struct {
	member           int
	iteration, steps int64
	kind             journal.Kind
	cause            string
}

// drawable values are finite, and so are their differences.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

// gather takes the facts from a history. A history that does not fit together, because a program made or changed it
// by hand, is an error; so is one without members, of which there is nothing to draw.
func gather(h *journal.History) (*facts, error) {
	switch {
	case h == nil:
		return nil, errors.New("report: there is no history; make one with journal.NewHistory")
	case len(h.Members) == 0:
		return nil, errors.New("report: the journal has no members yet: the population has not begun to train")
	}
	f := &facts{
		History: h, alive: make(map[int]int), copied: make([]int, len(h.Members)), happened: make(map[journal.Kind]int),
	}
	for i, t := range h.Members {
		if t.Member != i {
			return nil, fmt.Errorf("report: the history's member %d has the number %d; make it with journal.NewHistory",
				i,
				t.Member)
		}
		for _, c := range t.Copies {
			if c.Parent < 0 || c.Parent >= len(h.Members) || c.Founder < 0 || c.Founder >= len(h.Members) {
				return nil, fmt.Errorf("report: member %d copied member %d, which the history does not have; "+
					"make it with journal.NewHistory", i, c.Parent)
			}
			f.copied[c.Parent]++
		}
		f.intervals, f.steps = max(f.intervals, t.Iteration), max(f.steps, t.Steps)
		f.copies += len(t.Copies)
	}
	// Before the first interval's end there are no steps; the axes then show one interval.
	if f.span = f.steps; f.span == 0 {
		f.span = max(1, f.Run.IntervalSteps)
	}
	// The order matters: what is chosen to be drawn depends on the best, and the best's ancestry on the copies.
	f.tuned()
	f.stretches()
	if err := f.count(); err != nil {
		return nil, err
	}
	if err := f.findBest(); err != nil {
		return nil, err
	}
	f.describeNetworks()
	f.choose()
	return f, nil
}

// tuned finds the hyperparameters to show: those that were set, sampled or may be mutated, or else all that the
// journal has.
func (f *facts) tuned() {
	has := make(map[string]bool)
	for _, t := range f.Members {
		for key := range t.Hyperparameters {
			has[key] = true
		}
	}
	for _, key := range f.Run.Tuned {
		if has[key] {
			f.keys = append(f.keys, key)
		}
	}
	if len(f.keys) == 0 {
		f.keys = slices.Sorted(maps.Keys(has))
	}
	if f.moreKeys = len(f.keys) - maxKeys; f.moreKeys > 0 {
		f.keys = f.keys[:maxKeys]
	}
}

// stretches cuts the training of every member at its copies. A damaged journal may have a copy after fewer steps than
// the one before it; its stretch is then empty, and never runs backwards.
func (f *facts) stretches() {
	f.courses = make([][]stretch, len(f.Members))
	for i, t := range f.Members {
		s := stretch{member: i, founder: i}
		for j := range t.Copies {
			c := &t.Copies[j]
			s.toSteps, s.to = max(s.fromSteps, c.Steps), c.Iteration
			f.courses[i] = append(f.courses[i], s)
			s = stretch{member: i, fromSteps: s.toSteps, from: c.Iteration, founder: c.Founder, copied: c}
		}
		s.toSteps, s.to = max(s.fromSteps, t.Steps), t.Iteration
		f.courses[i] = append(f.courses[i], s)
		f.alive[s.founder]++
	}
}

// count goes through the events in the order of the journal: how often what happened, what gets a sign, and in which
// state the population is. An objective that is not finite is a divergence too, where the journal has no event of its
// own for it.
func (f *facts) count() error {
	f.state = fmt.Sprintf("in progress, %d intervals ended", f.intervals)
	lost := make(map[int]bool) // members that failed or diverged since they last trained well
	for _, e := range f.Events {
		if e.Member < 0 || e.Member >= len(f.Members) {
			return fmt.Errorf("report: the history has an event of member %d, which it does not have; "+
				"make it with journal.NewHistory", e.Member)
		}
		// An objective that is not finite. The population replaces such a member like one that failed.
		diverged := e.HasObjective && !number.Finite(e.Objective)
		f.happened[e.Kind]++
		if slices.Contains(marked, e.Kind) {
			f.troubles = append(f.troubles, trouble{e.Member, e.Iteration, e.Steps, e.Kind, e.Cause})
		}
		switch e.Kind {
		case journal.Failed, journal.Diverged:
			lost[e.Member] = true
			continue // the event has no objective, and says nothing of a rescue
		case journal.Hopeless:
			f.state = "given up: no healthy member was left"
		case journal.Final:
			f.state = "finished"
		}
		if diverged && e.Kind != journal.Start && !lost[e.Member] {
			f.happened[journal.Diverged]++
			cause := fmt.Sprintf("%s is %v", f.Run.Objective, e.Objective)
			f.troubles = append(f.troubles, trouble{e.Member, e.Iteration, e.Steps, journal.Diverged, cause})
		}
		if e.Kind == journal.Replace && (lost[e.Member] || diverged) {
			f.rescues++
		}
		// A failed member has no further events until it is rescued or reports an objective again.
		lost[e.Member] = e.Kind != journal.Replace && (lost[e.Member] && !e.HasObjective || diverged)
	}
	return nil
}

// better reports whether objective a is better than b. The journal has objectives as they were measured: where less
// of them is better the population compares their negatives.
func (f *facts) better(a, b float64) bool {
	if f.Run.Minimise {
		return a < b
	}
	return a > b
}

// findBest finds the best member there is, the best there ever was, and the stretches that the best's weights went
// through. A member whose weights were replaced after its last objective counts only if all were: that objective
// is of other weights.
func (f *facts) findBest() (err error) {
	var replaced *stand // the best of those
	if member, at, ok := f.Best(); ok {
		f.ever = &stand{member, at}
	}
	for i, t := range f.Members {
		if len(t.Objective) == 0 {
			continue
		}
		s := &stand{i, t.Objective[len(t.Objective)-1]}
		to := &f.best
		if n := len(t.Copies); n > 0 && t.Copies[n-1].Iteration >= s.point.Iteration {
			to = &replaced
		}
		if drawable(s.point.Value) && (*to == nil || f.better(s.point.Value, (*to).point.Value)) {
			*to = s
		}
	}
	if f.best == nil { // every member has just copied another, or has no finite objective
		f.best = replaced
	}
	if f.best == nil {
		return nil
	}
	if f.ancestry, err = f.AncestryAt(f.best.member, f.best.point.Iteration); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// find returns the stretch that an ancestor of the best trained in, nil for none.
func (f *facts) find(a journal.Ancestor) *stretch {
	for i := range f.courses[a.Member] {
		if s := &f.courses[a.Member][i]; s.from == a.From && s.fromSteps == a.FromSteps {
			return s
		}
	}
	return nil
}

// worth returns a member's last objective. Higher is better. It is −∞ if there is no finite objective.
func (f *facts) worth(t journal.Track) float64 {
	n := len(t.Objective)
	switch {
	case n == 0 || !drawable(t.Objective[n-1].Value):
		return math.Inf(-1)
	case f.Run.Minimise:
		return -t.Objective[n-1].Value
	}
	return t.Objective[n-1].Value
}

// choose picks the members that are drawn, and the colours of lineages. Members that the best descends from are drawn
// first, then the others by their last objectives, of equals by their numbers. The best's lineage has the first colour,
// those that most members end in the next ones: the first colours are those that are told apart most easily.
func (f *facts) choose() {
	first := make(map[int]bool) // those that are drawn, as a set
	for _, a := range f.ancestry {
		if len(first) < maxLanes {
			first[a.Member] = true
		}
	}
	order := slices.Clone(f.Members)
	slices.SortStableFunc(order, func(a, b journal.Track) int { return cmp.Compare(f.worth(b), f.worth(a)) })
	for _, t := range order {
		if len(first) < maxLanes {
			first[t.Member] = true
		}
	}
	f.lanes = slices.Sorted(maps.Keys(first))
	f.lane = slices.Repeat([]int{-1}, len(f.Members))
	for i, member := range f.lanes {
		f.lane[member] = i
	}
	founders := make([]int, len(f.Members))
	stretches := make([]int, len(f.Members)) // by founder, how many are of its weights
	for i, course := range f.courses {
		founders[i] = i
		for _, s := range course {
			stretches[s.founder]++
		}
	}
	// By how many members are of a lineage now, then by how much was trained of it; the best's lineage is first.
	size := maps.Clone(f.alive)
	if len(f.ancestry) > 0 {
		size[f.ancestry[0].Member] = len(f.Members) + 1
	}
	slices.SortStableFunc(founders, func(a, b int) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(stretches[b], stretches[a]))
	})
	f.rank = make([]int, len(founders))
	for i, founder := range founders {
		f.rank[founder] = i
	}
}
