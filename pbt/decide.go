package pbt

import (
	"fmt"
	"math/rand/v2"

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
