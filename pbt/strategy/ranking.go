package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// uninitialized is the objective that Isaac Lab and IsaacGymEnvs give to members they know nothing about.
const uninitialized = -1e9

// known reports whether a strategy that does not care for soundness knows the member's objective. Members that failed
// or are absent publish nothing.
func (s Status) known() bool { return s.HasObjective && !s.Failed && !s.Absent }

// sound are the members that may be ranked and copied: those that train and have a finite objective.
func sound(g Generation) []Status {
	return filter(g, func(m Status) bool { return m.Healthy() && !m.Absent })
}

func filter(g Generation, include func(Status) bool) []Status {
	return slices.DeleteFunc(slices.Clone(g.Members), func(m Status) bool { return !include(m) })
}

// descending returns the members from the highest value to the lowest; of equals the higher number comes first. NaN
// is below everything.
func descending(members []Status, value func(Status) float64) []Status {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b Status) int {
		return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(b.Member, a.Member)) // NaN compares as the least
	})
	return sorted
}

func objectiveOf(m Status) float64 { return m.Objective }

func numbersOf(members []Status) []int { return each(members, func(m Status) int { return m.Member }) }

// share is the number of members in a fraction of n, rounded up.
func share(fraction float64, n int) int {
	return min(int(math.Ceil(fraction*float64(n))), n)
}

// rescue decides about a member that diverged. The member copies one of the sources, drawn uniformly. If there are no
// sources, it copies the best healthy member, and no number is drawn. role names what a source is.
func rescue(g Generation, m Status, role string, sources []int, rng *rand.Rand) Decision {
	why := m.Trouble()
	if len(sources) > 0 {
		source := sources[rng.IntN(len(sources))]
		return Copying(m, source, "%s; rescued by %s %d", why, role, source)
	}
	if best, ok := g.Best(); ok {
		return Copying(m, best.Member, "%s; no %s, rescued by the best, %d", why, role, best.Member)
	}
	return Keeping(m, "%s; nobody healthy to copy", why)
}

// unranked is the decision about a member that a strategy has nothing to go by.
func unranked(m Status) Decision {
	switch {
	case m.Absent:
		return Keeping(m, "absent")
	case m.Diverged():
		return Keeping(m, "%s; not ranked", m.Trouble())
	case m.HasObjective:
		return Keeping(m, "objective is %v; not ranked", m.Objective)
	default:
		return Keeping(m, "objective not known")
	}
}

// checkFraction checks a setting that is a share of the population.
func checkFraction(name string, value float64, usual string) error {
	if !(value >= 0 && value <= 1) {
		return fmt.Errorf("pbt: %s is %v; give a fraction from 0 to 1, e.g. %s", name, value, usual)
	}
	return nil
}

// checkThreshold checks a threshold.
func checkThreshold(name string, value float64, usual string) error {
	if !(value >= 0) || math.IsInf(value, 0) {
		return fmt.Errorf("pbt: %s is %v; give a finite number of 0 or more, e.g. %s", name, value, usual)
	}
	return nil
}

// Fitness is what selection goes by: the mean of a member's last n scores, or of as many as there are; with n of 0 or 1
// the objective. ok is false where it is not known or the member diverged. Scores that are not finite, which a member
// can have come back from, do not count.
func Fitness(m Status, n int) (fitness float64, ok bool) {
	if !m.Healthy() || m.Absent {
		return math.NaN(), false
	}
	if n <= 1 || len(m.Scores) == 0 {
		return m.Objective, true
	}
	scores := slices.Clone(m.Scores[max(0, len(m.Scores)-n):])
	scores = slices.DeleteFunc(scores, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	return stat.Mean(scores, nil), true // the last one is the objective, which is finite
}

// standing is a member with its fitness.
type standing struct {
	Status
	fitness float64
	sound   bool // fitness is known and finite, and the member trains
}

// standings are the members' in order of the generation.
func standings(g Generation, evalLoop int) []standing {
	return each(g.Members, func(m Status) standing {
		fitness, sound := Fitness(m, evalLoop)
		return standing{m, fitness, sound}
	})
}

// compare puts those first that are worth least: members that diverged or are absent, then those of which nothing is
// known, then by fitness.
func (s standing) compare(o standing) int {
	return cmp.Or(cmp.Compare(s.class(), o.class()), cmp.Compare(s.fitness, o.fitness))
}

func (s standing) class() int {
	switch {
	case s.sound:
		return 2
	case s.Diverged() || s.Absent:
		return 0
	}
	return 1
}

func (s standing) String() string {
	switch {
	case s.sound:
		return fmt.Sprintf("fitness %.6g", s.fitness)
	case s.Absent:
		return "absent"
	case s.Diverged():
		return s.Trouble()
	}
	return "fitness not known"
}

// selected replaces a member by the source that won its place, which may be the member itself.
func selected(m, source Status, reason string, args ...any) Decision {
	if m.Member == source.Member {
		return Mutating(m, reason, args...)
	}
	return Copying(m, source.Member, reason, args...)
}
