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

// facts are what the page shows of a history. They are taken from it once, so that all parts of the page agree on who
// is the best, which stretches of training there are, and which colour a lineage has.
type facts struct {
	*journal.History
	// page is what is known so far of the page's data. Its Best and Ever differ where the best was replaced since, or
	// got worse.
	page *Population
	// lanes are the members that are drawn, in the order of their numbers.
	lanes []int
	// ancestry are the stretches that the best's weights went through, oldest first.
	ancestry []journal.Ancestor
	// courses are, by member, its stretches in order.
	courses [][]Stretch
	// copied is, by member, how often others copied it.
	copied []int
	// marks are, by member, its signs in the order of the journal.
	marks [][]Mark
	// alive is, by founder, how many members have weights now that began with it; a founder without any has no entry.
	alive map[int]int
	// rank is, by founder, its place in the order of colours and of the legend.
	rank []int
	// sizes are, by member, the numbers of hidden nodes of its networks where they changed, and architectures their
	// last descriptions. They are empty for a population whose networks do not evolve.
	sizes         [][]journal.Point
	architectures []string
}

// drawable values are finite, and so are their differences.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

// gather takes the facts from a history. A history without members is an error: there is nothing to draw.
func gather(h *journal.History) (*facts, error) {
	switch {
	case h == nil:
		return nil, errors.New("report: there is no history; make one with journal.NewHistory")
	case len(h.Members) == 0:
		return nil, errors.New("report: the journal has no members yet: the population has not begun to train")
	}
	n, run := len(h.Members), h.Run
	p := &Population{Objective: cut(run.Objective), Minimise: run.Minimise, Strategy: cut(run.Strategy), Seed: run.Seed,
		Members: run.Members, IntervalSteps: run.IntervalSteps, Keys: append([]string{}, h.Tuned()...),
		EventsTotal: len(h.Events)}
	f := &facts{History: h, page: p, courses: make([][]Stretch, n), copied: make([]int, n), marks: make([][]Mark, n),
		alive: make(map[int]int), sizes: make([][]journal.Point, n), architectures: make([]string, n)}
	for _, t := range h.Members {
		for _, c := range t.Copies {
			f.copied[c.Parent]++
		}
		p.Intervals, p.Steps = max(p.Intervals, t.Iteration), max(p.Steps, t.Steps)
	}
	// Before the first interval's end there are no steps; the axes then show one interval.
	if p.Span = p.Steps; p.Span == 0 {
		p.Span = max(1, run.IntervalSteps)
	}
	if more := len(p.Keys) - maxKeys; more > 0 {
		p.Keys, p.Hidden = p.Keys[:maxKeys], fmt.Sprintf("%d more hyperparameters are not shown.", more)
	}
	// The order matters: what is chosen to be drawn depends on the best, and the best's ancestry on the copies.
	f.stretches()
	f.count()
	if err := f.findBest(); err != nil {
		return nil, err
	}
	f.choose()
	return f, nil
}

// stretches cuts the training of every member at its copies. A damaged journal may have a copy after fewer steps than
// the one before it; its stretch is then empty, and never runs backwards.
func (f *facts) stretches() {
	for i, t := range f.Members {
		s := Stretch{member: i, Founder: i, Parent: -1}
		for _, c := range t.Copies {
			s.To, s.end = max(s.From, c.Steps), c.Iteration
			f.courses[i] = append(f.courses[i], s)
			s = Stretch{member: i, Founder: c.Founder, From: s.To, Parent: c.Parent, ParentSteps: c.ParentSteps,
				Interval: c.Iteration, Cause: cut(c.Cause)}
		}
		s.To, s.end = max(s.From, t.Steps), t.Iteration
		f.courses[i] = append(f.courses[i], s)
		f.alive[s.Founder]++
	}
}

// count goes through the events in the order of the journal: how often what happened, what gets a sign, what networks
// the members have, and in which state the population is. An objective that is not finite is a divergence too, where
// the journal has no event of its own for it.
func (f *facts) count() {
	f.page.State = fmt.Sprintf("in progress, %d intervals ended", f.page.Intervals)
	// happened counts a divergence once, however many intervals the member stays diverged. A rescue is a copy by a
	// member that had failed or diverged.
	happened, rescues := make(map[journal.Kind]int), 0
	lost := make(map[int]bool) // members that failed or diverged since they last trained well
	for _, e := range f.Events {
		mark := func(kind journal.Kind, cause string) {
			f.marks[e.Member] = append(f.marks[e.Member], Mark{kind, e.Iteration, e.Steps, cut(cause)})
		}
		f.describe(e)
		// An objective that is not finite. The population replaces such a member like one that failed.
		diverged := e.HasObjective && !number.Finite(e.Objective)
		happened[e.Kind]++
		if slices.Contains(marked, e.Kind) {
			mark(e.Kind, e.Cause)
		}
		switch e.Kind {
		case journal.Failed, journal.Diverged:
			lost[e.Member] = true
			continue // the event has no objective, and says nothing of a rescue
		case journal.Hopeless:
			f.page.State = "given up: no healthy member was left"
		case journal.Final:
			f.page.State = "finished"
		}
		if diverged && e.Kind != journal.Start && !lost[e.Member] {
			happened[journal.Diverged]++
			mark(journal.Diverged, fmt.Sprintf("%s is %v", f.Run.Objective, e.Objective))
		}
		if e.Kind == journal.Replace && (lost[e.Member] || diverged) {
			rescues++
		}
		// A failed member has no further events until it is rescued or reports an objective again.
		lost[e.Member] = e.Kind != journal.Replace && (lost[e.Member] && !e.HasObjective || diverged)
	}
	for _, c := range []Count{
		{"copies", happened[journal.Replace]}, {"mutations without a copy", happened[journal.SelfMutate]},
		{"failures", happened[journal.Failed]}, {"divergences", happened[journal.Diverged]}, {"rescues", rescues},
		{"decisions not applied", happened[journal.ApplyFailed]}, {"surviving lineages", len(f.alive)},
	} {
		if c.N > 0 {
			f.page.Counts = append(f.page.Counts, c)
		}
	}
}

// worth returns an objective, or its negative if less of it is better. The journal has objectives as they were
// measured. An objective that cannot be drawn is worth −∞.
func (f *facts) worth(objective float64) float64 {
	switch {
	case !drawable(objective):
		return math.Inf(-1)
	case f.Run.Minimise:
		return -objective
	}
	return objective
}

// findBest finds the best member now, the best member so far, and the stretches that the best's weights went
// through. A member whose weights were replaced after its last objective counts only if all were: that objective
// is of other weights.
func (f *facts) findBest() (err error) {
	place := func(member int, at journal.Point) *Place {
		return &Place{member, at.Iteration, at.Steps, Number(at.Value)}
	}
	if member, at, ok := f.Best(); ok {
		f.page.Ever = place(member, at)
	}
	var best, replaced *Place // the best of all others, and of those
	for i, t := range f.Members {
		if len(t.Objective) == 0 {
			continue
		}
		at, to := t.Objective[len(t.Objective)-1], &best
		if n := len(t.Copies); n > 0 && t.Copies[n-1].Iteration >= at.Iteration {
			to = &replaced
		}
		if drawable(at.Value) && (*to == nil || f.worth(at.Value) > f.worth(float64((*to).Value))) {
			*to = place(i, at)
		}
	}
	if best = cmp.Or(best, replaced); best == nil {
		return nil
	}
	f.page.Best = best
	if f.ancestry, err = f.AncestryAt(best.Member, best.Interval); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// find returns the stretch that an ancestor of the best trained in, nil for none.
func (f *facts) find(a journal.Ancestor) *Stretch {
	for i := range f.courses[a.Member] {
		if s := &f.courses[a.Member][i]; s.Interval == a.From && s.From == a.FromSteps {
			return s
		}
	}
	return nil
}

// choose picks the members that are drawn, and the colours of lineages. Members that the best descends from are drawn
// first, then the others by their last objectives, of equals by their numbers. The best's lineage has the first colour,
// those that most members end in the next ones: the first colours are those that are told apart most easily.
func (f *facts) choose() {
	n := len(f.Members)
	order, worth := make([]int, n), make([]float64, n)
	for i, t := range f.Members {
		order[i], worth[i] = i, math.Inf(-1)
		if k := len(t.Objective); k > 0 {
			worth[i] = f.worth(t.Objective[k-1].Value)
		}
	}
	for _, a := range f.ancestry {
		worth[a.Member] = math.Inf(1)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	if f.lanes = slices.Sorted(slices.Values(order[:min(n, maxLanes)])); n > maxLanes {
		f.page.Hidden = fmt.Sprintf("Of %d members %d are shown one by one: those that the best descends from, and "+
			"those with the best last objectives. ", n, maxLanes) + f.page.Hidden
	}
	stretches := make([]int, n) // by founder, how many are of its weights
	for _, course := range f.courses {
		for _, s := range course {
			stretches[s.Founder]++
		}
	}
	// By how many members are of a lineage now, then by how much was trained of it; the best's lineage is first.
	size := maps.Clone(f.alive)
	if len(f.ancestry) > 0 {
		size[f.ancestry[0].Member] = n + 1
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(stretches[b], stretches[a]), cmp.Compare(a, b))
	})
	f.rank = make([]int, n)
	for i, founder := range order {
		f.rank[founder] = i
	}
	for _, course := range f.courses {
		for i := range course {
			course[i].Color = f.rank[course[i].Founder]
		}
	}
}
