package strategy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

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
	all := make([]standing, len(g.Members))
	for i, m := range g.Members {
		all[i].Status = m
		all[i].fitness, all[i].sound = Fitness(m, evalLoop)
	}
	return all
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
