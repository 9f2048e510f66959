// Package strategy decides which member of a population copies which.
//
// A [Strategy] is a pure function from a [Generation], where all members stand at the end of an interval, to one
// [Decision] a member. It knows neither agents nor files: it can be tested by tables, simulated, and replayed from a
// journal. Package pbt applies the decisions.
//
// [IsaacLab], [IsaacGymEnvs], [SampleFactory] and [Quantile] (Ray Tune) are the rules of those systems, [Tournament]
// and [MultiFrequency] those of AgileRL. [Limited] bounds how often a source is copied, and [Never] is the control
// group. Each has a file of its own. Where an original treats failed members or NaN badly gorl differs; Strict
// reproduces the original.
package strategy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
)

// Generation is a population at the end of an interval: all that a Strategy sees.
type Generation struct {
	// Iteration counts intervals; the first one ends as iteration 1.
	Iteration int64
	// Members are in order of their numbers 0, 1, 2, ...
	Members []Status
}

// Status is where one member stands.
type Status struct {
	// Member is the member's number, 0 to N-1.
	Member int
	// Steps is the number of environment steps the member itself has trained for. Taking over another member's
	// weights does not change it.
	Steps int64
	// Objective is the value to maximise (for Measure.Minimise the figure times -1); it means something only where
	// HasObjective is true.
	Objective float64
	// HasObjective is false as long as nothing is known about the member's present weights.
	HasObjective bool
	// Failed is true when the member's training ended in an error or a panic; it does not train until rescued.
	Failed bool
	// Absent is true for a member that never started or has been silent for too long; it has no objective. Members
	// of one process are never absent.
	Absent bool
	// Iteration is the interval at whose end the objective was measured. In a population of processes it may lie
	// before the generation's.
	Iteration int64
	// WeightSteps is the number of environment steps behind the weights, those of ancestors included.
	WeightSteps int64
	// SinceCopy is the number of its own environment steps since the member started or last took over weights.
	SinceCopy int64
	// SinceChange is SinceCopy, or, where the member has mutated itself since, the number of its own environment steps
	// since then.
	SinceChange int64
	// Peak is the greatest objective seen during the interval; it means something only where HasPeak is true.
	Peak    float64
	HasPeak bool
	// Samples is the number of measurements (episodes, or readings) behind the objective; 0 where not known.
	Samples int
	// NotFinite is true when the weights hold NaN or infinities, whatever was measured; the objective is NaN then.
	NotFinite bool
	// Scores are the objectives at the last interval ends that the weights went through, oldest first, at most 100: a
	// copy has the scores of its source. The last is Objective, where that is known.
	Scores []float64
	// Hyperparameters are the member's present ones.
	Hyperparameters map[string]float64
}

// Clone shares nothing with the generation.
func (g Generation) Clone() Generation {
	g.Members = slices.Clone(g.Members)
	for i := range g.Members {
		g.Members[i].Hyperparameters = maps.Clone(g.Members[i].Hyperparameters)
		g.Members[i].Scores = slices.Clone(g.Members[i].Scores)
	}
	return g
}

// Healthy reports whether the member trains and its objective is a finite number: only such members may be copied.
func (s Status) Healthy() bool {
	return !s.Failed && s.HasObjective && number.Finite(s.Objective)
}

// Diverged reports whether the member is known to be in trouble: it failed, or its objective is NaN or infinite.
// A member without an objective is neither healthy nor diverged.
func (s Status) Diverged() bool {
	return s.Failed || s.HasObjective && !number.Finite(s.Objective)
}

// Trouble says why the member has Diverged, for a Decision's Reason; empty where it has not.
func (s Status) Trouble() string {
	switch {
	case s.Failed:
		return "training failed"
	case s.NotFinite:
		return "weights are not finite"
	case s.Diverged():
		return fmt.Sprintf("objective is %v", s.Objective)
	}
	return ""
}

// Action is what a decision does to its member.
type Action string

const (
	// Keep leaves the member as it is.
	Keep Action = "keep"
	// Replace gives the member the weights of Decision.Source and the hyperparameters of Decision.Origin, mutated or
	// not.
	Replace Action = "replace"
	// SelfMutate keeps the member's weights and mutates its own hyperparameters.
	SelfMutate Action = "self-mutate"
)

// Decision is what a Strategy decides for one member. [Keeping], [Copying] and [Mutating] make the usual ones.
type Decision struct {
	// Member is the member that the decision is about, and Action what it does.
	Member int
	Action Action
	// Source is the member whose weights Replace copies: another, healthy one. Keep and SelfMutate ignore it.
	Source int
	// From is the member whose hyperparameters the replaced member continues with. The zero value is Source. Use
	// [HyperparametersOf] for the member itself or a third one. Keep and SelfMutate ignore it.
	From Donor
	// Mutate makes Replace explore: the copied hyperparameters are mutated on the way. Without it they are copied as
	// they are. SelfMutate always mutates, Keep never does.
	Mutate bool
	// Reason is for people; it goes into the journal and must not depend on anything but Decide's arguments.
	Reason string
}

// Origin returns the member whose hyperparameters a replaced member continues with: that of From if it is set,
// otherwise Source.
func (d Decision) Origin() int {
	if d.From.given {
		return d.From.member
	}
	return d.Source
}

// Donor is the member whose hyperparameters are copied. The zero Donor stands for the source of the weights.
type Donor struct {
	given  bool
	member int
}

// HyperparametersOf returns the Donor for the member of the given number.
func HyperparametersOf(member int) Donor { return Donor{true, member} }

// String returns "source" or "member 3".
func (d Donor) String() string {
	if !d.given {
		return "source"
	}
	return fmt.Sprintf("member %d", d.member)
}

// Strategy decides which member copies which. Decide is a pure function: equal generations and equally seeded random
// numbers give equal decisions. It must not change the generation. Members without a decision are kept.
//
// A strategy may also have a method Validate() error, or ValidateMembers(members int) error, which New calls.
type Strategy interface {
	Decide(g Generation, rng *rand.Rand) []Decision
}

// Describe returns a strategy's type and settings, for people to read in journals. Journals of format 1 name the types
// by the packages in which they were when the format was fixed.
func Describe(s Strategy) string {
	text := fmt.Sprintf("%T%+v", s, s)
	own, ok := strings.CutPrefix(text, "strategy.")
	switch s.(type) {
	case Tournament, MultiFrequency:
		return "evolution." + own
	}
	if ok {
		return "pbt." + own
	}
	return text
}

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

// statusOf is the member with a number; the zero Status if there is none.
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

// Best returns the healthy member with the highest objective, of equals the first; false where none is healthy.
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
	return Decision{Member: m.Member, Action: Keep, Source: m.Member, Reason: fmt.Sprintf(reason, args...)}
}

// Mutating returns the decision to mutate the hyperparameters of member m and to keep its weights. reason is a format
// for args.
func Mutating(m Status, reason string, args ...any) Decision {
	return Decision{
		Member: m.Member, Action: SelfMutate, Source: m.Member, Mutate: true, Reason: fmt.Sprintf(reason, args...),
	}
}

// Copying returns the decision to give member m the weights of source and a mutation of the source's hyperparameters.
// reason is a format for args.
func Copying(m Status, source int, reason string, args ...any) Decision {
	return Decision{
		Member: m.Member, Action: Replace, Source: source, Mutate: true, Reason: fmt.Sprintf(reason, args...),
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

// each decides about every member by itself, in order of their numbers.
func each(g Generation, decide func(m Status) Decision) []Decision {
	decisions := make([]Decision, 0, len(g.Members))
	for _, m := range g.Members {
		decisions = append(decisions, decide(m))
	}
	return decisions
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
