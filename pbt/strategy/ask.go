package strategy

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/internal/panics"
)

// Check lets a strategy check its own settings, where it can (see [Strategy]), for a population of so many members.
func Check(s Strategy, members int) error {
	if v, ok := s.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	if v, ok := s.(interface{ ValidateMembers(members int) error }); ok {
		return v.ValidateMembers(members)
	}
	return nil
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
