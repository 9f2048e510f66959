package pbt

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/pbt/strategy"
)

// decide asks the strategy about a generation and returns one decision for every member, in the order of their numbers:
// members that the strategy does not mention are kept. Decisions are checked here, so that applying them can rely on
// members that exist and sources that are healthy; [settle] has the last word.
func (o *Options) decide(g strategy.Generation, rng *rand.Rand) ([]strategy.Decision, error) {
	decisions := make([]strategy.Decision, len(g.Members))
	for i := range decisions {
		decisions[i] = strategy.Decision{Member: i, Action: strategy.Keep, Source: i}
	}
	var decided []strategy.Decision
	if err := guarded(func() error {
		decided = o.Strategy.Decide(g.Clone(), rng)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("pbt: strategy %T: %w", o.Strategy, err)
	}
	seen := make(map[int]bool)
	for _, d := range decided {
		wrong := func(what string) error {
			return fmt.Errorf("pbt: strategy %T decided %+v: %s", o.Strategy, d, what)
		}
		switch {
		case d.Member < 0 || d.Member >= len(g.Members):
			return nil, wrong("there is no such member")
		case seen[d.Member]:
			return nil, wrong("the member has a decision already")
		case d.Action != strategy.Keep && d.Action != strategy.Replace && d.Action != strategy.SelfMutate:
			return nil, wrong("there is no such action")
		case d.Action == strategy.Replace && (d.Source < 0 || d.Source >= len(g.Members) || d.Source == d.Member):
			return nil, wrong("the source must be another member")
		case d.Action == strategy.Replace && (d.Origin() < 0 || d.Origin() >= len(g.Members)):
			return nil, wrong("From must be a member there is: the source, the member itself or another")
		case d.Action == strategy.Replace && !g.Members[d.Source].Healthy():
			return nil, wrong("only healthy members can be copied")
		}
		seen[d.Member] = true
		decisions[d.Member] = d
	}
	return settle(decisions, g, o), nil
}

// settle applies the rules that hold for every strategy: a member is kept before Options.InitialDelay and within
// Options.StartAfter (and Options.SettleMutations) unless it needs rescue, and the hyperparameters of a reference
// member are never mutated. It is a pure function; Reason then says which rule applied, and the strategy's reason in
// brackets.
func settle(decisions []strategy.Decision, g strategy.Generation, o *Options) []strategy.Decision {
	status := make(map[int]strategy.Status, len(g.Members))
	for _, m := range g.Members {
		status[m.Member] = m
	}
	settled := slices.Clone(decisions)
	for i, d := range settled {
		if d.Action == strategy.Keep {
			continue
		}
		m := status[d.Member]
		reference := o.isReference(d.Member)
		why := ""
		switch {
		case m.Diverged():
		case m.Steps < o.InitialDelay:
			why = fmt.Sprintf("nothing is decided before %d environment steps", o.InitialDelay)
		case o.SettleMutations && m.SinceChange < min(m.SinceCopy, o.StartAfter):
			why = fmt.Sprintf("only %d of %d environment steps since it mutated itself", m.SinceChange, o.StartAfter)
		case m.SinceCopy < o.StartAfter:
			why = fmt.Sprintf("only %d of %d environment steps since it started or took over weights", m.SinceCopy, o.StartAfter)
		}
		switch {
		case why != "":
		case reference && d.Action == strategy.SelfMutate:
			why = "reference members are not mutated"
		case reference:
			settled[i].Mutate = false
		}
		if why != "" {
			settled[i] = strategy.Keeping(m, "%s (%s)", why, d.Reason)
		}
	}
	return settled
}

// isReference reports whether the member is one of Options.Reference.
func (o *Options) isReference(id int) bool { return slices.Contains(o.Reference, id) }

// target returns the number of own environment steps at which an interval ends.
func (o *Options) target(iteration int64) int64 {
	if iteration >= o.lastIteration() {
		return o.TotalSteps
	}
	return iteration * o.IntervalSteps
}

// lastIteration returns the number of the interval that ends training; it may be shorter than the others.
func (o *Options) lastIteration() int64 {
	return (o.TotalSteps-1)/o.IntervalSteps + 1
}

// pause returns the number of own environment steps at which a member with so many next reports progress: after
// Options.ProgressSteps, counted from the interval's beginning, or at its end.
func (o *Options) pause(iteration, steps int64) int64 {
	end := o.target(iteration)
	if o.ProgressSteps > 0 {
		start := o.target(iteration - 1)
		end = min(end, start+((steps-start)/o.ProgressSteps+1)*o.ProgressSteps)
	}
	return end
}
