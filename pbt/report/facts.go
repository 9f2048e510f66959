package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// maxLanes is the number of members that are drawn; those on the way to the best come first.
const maxLanes = 300

// maxKeys is the number of hyperparameters that are shown.
const maxKeys = 24

// facts are what the pages and pictures show, taken from a history once.
type facts struct {
	*journal.History
	keys      []string // the hyperparameters worth showing
	moreKeys  int      // how many beside these
	state     string   // for people
	intervals int64
	steps     int64 // the greatest of any member
	span      int64 // what the axes of steps show; never 0

	copies, selfMutations, failures, divergences, rescues, notApplied int

	lanes    []int // the members drawn, in order
	lane     []int // where in lanes a member is, -1 for nowhere
	best     *stand
	ever     *stand // the best that anybody has been at any interval's end
	ancestry []journal.Ancestor
	courses  [][]stretch // by member
	copied   []int       // how often each member was copied
	troubles []trouble
	alive    map[int]int // by founder, how many members have weights that began with it
	rank     []int       // by founder, its place in the order of colours and of the legend

	evolves   bool              // networks do, so far as the journal says
	changes   [][]change        // by member, of those that evolve
	nodes     [][]journal.Point // by member, hidden nodes of all networks
	mostNodes int
}

// stand is a member at an interval's end.
type stand struct {
	member int
	point  journal.Point
}

// stretch is a member's training between two times that it took over weights.
type stretch struct {
	member             int
	fromSteps, toSteps int64
	from, to           int64         // iterations
	founder            int           // the member with which the weights began
	copied             *journal.Copy // that it began with; nil for the first
}

// trouble is something worth a mark on a member's lane.
type trouble struct {
	member int
	steps  int64
	kind   journal.Kind
	cause  string
}

// tip is the tooltip of its sign.
func (m trouble) tip() string { return fmt.Sprintf("member %d, %s: %s", m.member, m.kind, m.cause) }

// drawable values are finite, and so are their differences.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

func gather(h *journal.History) (*facts, error) {
	switch {
	case h == nil:
		return nil, errors.New("report: there is no history; make one with journal.NewHistory")
	case len(h.Members) == 0:
		return nil, errors.New("report: the journal has no members yet: the population has not begun to train")
	}
	f := &facts{History: h, alive: make(map[int]int), copied: make([]int, len(h.Members))}
	for i, t := range h.Members {
		if t.Member != i {
			return nil, fmt.Errorf("report: the history's member %d has the number %d; make it with journal.NewHistory", i, t.Member)
		}
		for _, c := range t.Copies {
			if c.Parent < 0 || c.Parent >= len(h.Members) || c.Founder < 0 || c.Founder >= len(h.Members) {
				return nil, fmt.Errorf("report: member %d copied member %d, which the history does not have; make it with journal.NewHistory", i, c.Parent)
			}
			f.copied[c.Parent]++
		}
		f.intervals, f.steps = max(f.intervals, t.Iteration), max(f.steps, t.Steps)
		f.copies += len(t.Copies)
	}
	if f.span = f.steps; f.span == 0 {
		f.span = max(1, f.Run.IntervalSteps)
	}
	f.tuned()
	f.stretches()
	if err := f.count(); err != nil {
		return nil, err
	}
	if err := f.findBest(); err != nil {
		return nil, err
	}
	f.evolve()
	f.choose()
	return f, nil
}

// tuned finds the hyperparameters worth showing: those that were tuned, or else all.
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

// count goes through the events.
func (f *facts) count() error {
	f.state = fmt.Sprintf("in progress, %d intervals ended", f.intervals)
	lost := make(map[int]bool) // members that failed or diverged since they last trained well
	for _, e := range f.Events {
		if e.Member < 0 || e.Member >= len(f.Members) {
			return fmt.Errorf("report: the history has an event of member %d, which it does not have; make it with journal.NewHistory", e.Member)
		}
		diverged := e.HasObjective && (math.IsNaN(e.Objective) || math.IsInf(e.Objective, 0))
		mark := func() {
			f.troubles = append(f.troubles, trouble{member: e.Member, steps: e.Steps, kind: e.Kind, cause: e.Cause})
		}
		switch e.Kind {
		case journal.Failed:
			f.failures++
			lost[e.Member] = true
			mark()
			continue
		case journal.Diverged:
			f.divergences++
			lost[e.Member] = true
			mark()
			continue
		case journal.SelfMutate:
			f.selfMutations++
			mark()
		case journal.ApplyFailed:
			f.notApplied++
			mark()
		case journal.Hopeless:
			f.state = "given up: no healthy member was left"
		case journal.Final:
			f.state = "finished"
		}
		if diverged && e.Kind != journal.Start && !lost[e.Member] {
			f.divergences++
			f.troubles = append(f.troubles, trouble{member: e.Member, steps: e.Steps, kind: journal.Diverged, cause: fmt.Sprintf("%s is %v", f.Run.Objective, e.Objective)})
		}
		if e.Kind == journal.Replace && (lost[e.Member] || diverged) {
			f.rescues++
		}
		// A failed member stays so, in silence, until it is rescued.
		lost[e.Member] = e.Kind != journal.Replace && (lost[e.Member] && !e.HasObjective || diverged)
	}
	return nil
}

// better compares objectives as the population does.
func (f *facts) better(a, b float64) bool {
	if f.Run.Minimise {
		return a < b
	}
	return a > b
}

// findBest finds the best member there is and the best there ever was.
func (f *facts) findBest() (err error) {
	var replaced *stand // the best whose weights have been replaced since
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
	if f.best == nil {
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

// find is the stretch that an ancestor trained in, nil for none.
func (f *facts) find(a journal.Ancestor) *stretch {
	for i := range f.courses[a.Member] {
		if s := &f.courses[a.Member][i]; s.from == a.From && s.fromSteps == a.FromSteps {
			return s
		}
	}
	return nil
}

// choose picks the members that are drawn, and the colours of lineages: the first to those that most members descend from.
func (f *facts) choose() {
	first := make(map[int]bool)
	for _, a := range f.ancestry {
		if len(first) < maxLanes {
			first[a.Member] = true
		}
	}
	for i := range f.Members {
		if len(first) < maxLanes {
			first[i] = true
		}
	}
	f.lanes = slices.Sorted(maps.Keys(first))
	f.lane = make([]int, len(f.Members))
	for i := range f.lane {
		f.lane[i] = -1
	}
	for i, member := range f.lanes {
		f.lane[member] = i
	}
	founders := make([]int, len(f.Members))
	descendants := make([]int, len(f.Members))
	for i, course := range f.courses {
		founders[i] = i
		for _, s := range course {
			descendants[s.founder]++
		}
	}
	onPath := -1
	if len(f.ancestry) > 0 {
		onPath = f.ancestry[0].Member
	}
	slices.SortStableFunc(founders, func(a, b int) int {
		return cmp.Or(compareBool(b == onPath, a == onPath), cmp.Compare(f.alive[b], f.alive[a]), cmp.Compare(descendants[b], descendants[a]))
	})
	f.rank = make([]int, len(founders))
	for i, founder := range founders {
		f.rank[founder] = i
	}
}

// maxInks is the number of lineages after which colours begin again.
const maxInks = 2 * maxLanes

// ink returns the colour of a lineage.
func (f *facts) ink(founder int) plot.Ink { return plot.Color(f.rank[founder] % maxInks) }

// inks returns all inks that the page's pictures have.
func (f *facts) inks() []plot.Ink {
	inks := slices.Clone(ownInks)
	for k := range min(len(f.Members), maxInks) {
		inks = append(inks, plot.Color(k))
	}
	return inks
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
