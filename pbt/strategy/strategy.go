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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/panics"
)

// Generation is a population at the end of an interval: all that a Strategy sees.
type Generation struct {
	// Iteration counts intervals; the first one ends as iteration 1.
	Iteration int64
	// Members are all members of the population, the absent ones included: Members[i] is the member with number i.
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

// each returns something of every member, in their order.
func each[M, T any](members []M, of func(m M) T) (all []T) {
	for _, m := range members {
		all = append(all, of(m))
	}
	return all
}

// Ask gives a strategy a copy of a generation. It returns one decision for each member, in the order of their numbers.
// Members that the strategy does not mention are kept. In a valid decision the members exist and the source is healthy.
// An invalid decision and a panic of the strategy are errors.
func Ask(s Strategy, g Generation, rng *rand.Rand) ([]Decision, error) {
	decisions := make([]Decision, len(g.Members))
	for i := range decisions {
		decisions[i] = Decision{Member: i, Action: Keep, Source: i}
	}
	var decided []Decision
	if err := panics.Guard("", func() error {
		decided = s.Decide(g.Clone(), rng)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("pbt: strategy %T: %w", s, err)
	}
	seen := make(map[int]bool)
	for _, d := range decided {
		wrong := func(what string) error {
			return fmt.Errorf("pbt: strategy %T decided %+v: %s", s, d, what)
		}
		switch {
		case d.Member < 0 || d.Member >= len(g.Members):
			return nil, wrong("there is no such member")
		case seen[d.Member]:
			return nil, wrong("the member has a decision already")
		case d.Action != Keep && d.Action != Replace && d.Action != SelfMutate:
			return nil, wrong("there is no such action")
		case d.Action == Replace && (d.Source < 0 || d.Source >= len(g.Members) || d.Source == d.Member):
			return nil, wrong("the source must be another member")
		case d.Action == Replace && (d.Origin() < 0 || d.Origin() >= len(g.Members)):
			return nil, wrong("From must be a member there is: the source, the member itself or another")
		case d.Action == Replace && !g.Members[d.Source].Healthy():
			return nil, wrong("only healthy members can be copied")
		}
		seen[d.Member] = true
		decisions[d.Member] = d
	}
	return decisions, nil
}

// Delays are numbers of environment steps that a member trains before decisions about it. A member that failed or
// diverged is rescued at any time, and every member can be copied at any time.
type Delays struct {
	// InitialDelay is the number of its own environment steps that a member trains before the first decision about it
	// (Ray Tune: burn_in_period). Default 0: from the first interval's end on.
	//
	// Early objectives say little about what a member will reach. Give a larger value where learning starts slowly.
	InitialDelay int64
	// StartAfter is the number of its own environment steps that a member trains, after it started or was last given a
	// copy, before the next decision about it. It can still be copied. Members that failed or diverged are rescued at
	// any time. Default 0.
	//
	// A larger value gives copied weights time to show what the mutated hyperparameters make of them, before the member
	// is compared again.
	StartAfter int64
	// SettleMutations lets StartAfter also count from a member's last mutation of its own, as IsaacGymEnvs does, whose
	// processes start again then. Default false.
	SettleMutations bool
}

// Settle applies the rules that hold for every strategy: a member is kept before InitialDelay and within StartAfter
// (and SettleMutations) unless it needs rescue, and the hyperparameters of reference members are never mutated. Reason
// then says which rule applied, and the strategy's reason in brackets. The given decisions, which [Ask] has checked,
// are not changed.
func Settle(decisions []Decision, g Generation, o Delays, reference []int) []Decision {
	settled := slices.Clone(decisions)
	for i, d := range settled {
		if d.Action == Keep {
			continue
		}
		m := g.Members[d.Member]
		isReference := slices.Contains(reference, d.Member)
		why := ""
		switch {
		case m.Diverged():
		case m.Steps < o.InitialDelay:
			why = fmt.Sprintf("nothing is decided before %d environment steps", o.InitialDelay)
		case o.SettleMutations && m.SinceChange < min(m.SinceCopy, o.StartAfter):
			why = fmt.Sprintf("only %d of %d environment steps since it mutated itself", m.SinceChange, o.StartAfter)
		case m.SinceCopy < o.StartAfter:
			why = fmt.Sprintf("only %d of %d environment steps since it started or took over weights", m.SinceCopy,
				o.StartAfter)
		}
		switch {
		case why != "":
		case isReference && d.Action == SelfMutate:
			why = "reference members are not mutated"
		case isReference:
			settled[i].Mutate = false
		}
		if why != "" {
			settled[i] = Keeping(m, "%s (%s)", why, d.Reason)
		}
	}
	return settled
}
