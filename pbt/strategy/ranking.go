package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// uninitialized is the objective that Isaac Lab and IsaacGymEnvs give to members they know nothing about.
const uninitialized = -1e9

// known reports whether a strategy that does not care for soundness knows the member's objective. Members that failed or
// are absent publish nothing.
func (s Status) known() bool { return s.HasObjective && !s.Failed && !s.Absent }

// sound are the members that may be ranked and copied: those that train and have a finite objective.
func sound(g Generation) []Status {
	return filter(g, func(m Status) bool { return m.Healthy() && !m.Absent })
}

func filter(g Generation, include func(Status) bool) []Status {
	var kept []Status
	for _, m := range g.Members {
		if include(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

// descending returns the members from the highest value to the lowest; of equals the higher number comes first. NaN
// is below everything.
func descending(members []Status, value func(Status) float64) []Status {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b Status) int {
		if c := cmp.Compare(value(b), value(a)); c != 0 { // NaN compares as the least
			return c
		}
		return cmp.Compare(b.Member, a.Member)
	})
	return sorted
}

func objectiveOf(m Status) float64 { return m.Objective }

func objectives(members []Status) []float64 {
	values := make([]float64, len(members))
	for i, m := range members {
		values[i] = m.Objective
	}
	return values
}

func numbersOf(members []Status) []int {
	var numbers []int
	for _, m := range members {
		numbers = append(numbers, m.Member)
	}
	return numbers
}

// statusOf is the member with a number; the zero Status where there is none.
func statusOf(g Generation, number int) Status {
	for _, m := range g.Members {
		if m.Member == number {
			return m
		}
	}
	return Status{Member: number}
}

// share is the number of members in a fraction of n, rounded up.
func share(fraction float64, n int) int {
	return min(int(math.Ceil(fraction*float64(n))), n)
}

// best is the healthy member with the highest objective, of equals the first.
func (g Generation) Best() (Status, bool) {
	var best Status
	found := false
	for _, m := range g.Members {
		if m.Healthy() && !m.Absent && (!found || m.Objective > best.Objective) {
			best, found = m, true
		}
	}
	return best, found
}

// Keeping returns the decision to leave member m as it is. reason is a format for args.
func Keeping(m Status, reason string, args ...any) Decision {
	return Decision{Member: m.Member, Action: Keep, Source: m.Member, From: m.Member, Reason: fmt.Sprintf(reason, args...)}
}

// Mutating returns the decision to mutate the hyperparameters of member m and to keep its weights. reason is a format
// for args.
func Mutating(m Status, reason string, args ...any) Decision {
	return Decision{
		Member: m.Member, Action: SelfMutate, Source: m.Member, From: m.Member, Mutate: true, Reason: fmt.Sprintf(reason, args...),
	}
}

// Copying returns the decision to give member m the weights of source and a mutation of the source's hyperparameters.
// reason is a format for args.
func Copying(m Status, source int, reason string, args ...any) Decision {
	return Decision{
		Member: m.Member, Action: Replace, Source: source, From: source, Mutate: true, Reason: fmt.Sprintf(reason, args...),
	}
}

// rescue decides about a member that diverged: it copies one of the sources, drawn uniformly, or, where there are none,
// the best healthy member. role names what a source is. One number is drawn where there are sources, else none.
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
