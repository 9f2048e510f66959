package pbt

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/pbt/strategy"
)

// decide asks the strategy about a generation, completes and checks what it says, and settles it.
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
		case d.Action == strategy.Replace && (d.From < 0 || d.From >= len(g.Members)):
			return nil, wrong("From must be a member there is: the source, the member itself or another")
		case d.Action == strategy.Replace && !g.Members[d.Source].Healthy():
			return nil, wrong("only healthy members can be copied")
		}
		seen[d.Member] = true
		decisions[d.Member] = d
	}
	return settle(decisions, g, o), nil
}

// settle applies to a strategy's decisions what holds for every strategy: nothing becomes of a member before
// Options.InitialDelay and Options.StartAfter (and Options.SettleMutations) unless it needs rescue, and nobody mutates a reference member's
// hyperparameters. It is a pure function.
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
			why = fmt.Sprintf("nothing is decided before %d steps", o.InitialDelay)
		case o.SettleMutations && m.SinceChange < min(m.SinceCopy, o.StartAfter):
			why = fmt.Sprintf("only %d of %d steps since it mutated itself", m.SinceChange, o.StartAfter)
		case m.SinceCopy < o.StartAfter:
			why = fmt.Sprintf("only %d of %d steps since it started or took over weights", m.SinceCopy, o.StartAfter)
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

// isReference reports whether a member's hyperparameters are never mutated.
func (o *Options) isReference(id int) bool { return slices.Contains(o.Reference, id) }

// target is the number of own steps that ends an interval.
func (o *Options) target(iteration int64) int64 {
	if iteration >= o.lastIteration() {
		return o.TotalSteps
	}
	return iteration * o.IntervalSteps
}

// lastIteration is the number of the interval that ends training.
func (o *Options) lastIteration() int64 {
	return (o.TotalSteps-1)/o.IntervalSteps + 1
}

// pause is the number of own steps at which a member of so many steps is next looked at.
func (o *Options) pause(iteration, steps int64) int64 {
	end := o.target(iteration)
	if o.ProgressSteps > 0 {
		start := o.target(iteration - 1)
		end = min(end, start+((steps-start)/o.ProgressSteps+1)*o.ProgressSteps)
	}
	return end
}
