package strategy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Limited keeps a population diverse: in one generation at most MaxCopies members take over the same source. Who is to
// copy a source is settled from the lowest objective upwards, members that diverged first. A member whose source is
// taken that often takes the best other healthy member instead that is ahead of it, is itself not being replaced, and
// has been taken over less often; without such a member it is kept. A diverged member counts and takes another source
// where it can, but is rescued in any case.
type Limited struct {
	// Strategy decides; it must not be nil.
	Strategy Strategy
	// MaxCopies is at least 1.
	MaxCopies int
}

// Validate checks the limit.
func (s Limited) Validate() error {
	if s.Strategy == nil {
		return errors.New("pbt: Limited.Strategy is nil; give the strategy whose copies are to be limited")
	}
	if s.MaxCopies < 1 {
		return fmt.Errorf("pbt: Limited.MaxCopies is %d; give at least 1", s.MaxCopies)
	}
	return nil
}

// ValidateMembers checks the strategy behind the limit, also against the population's size.
func (s Limited) ValidateMembers(members int) error { return Check(s.Strategy, members) }

// Decide implements Strategy. It draws what the strategy behind it draws and nothing more.
func (s Limited) Decide(g Generation, rng *rand.Rand) []Decision {
	decisions := s.Strategy.Decide(g, rng)
	var takers []int // indices of decisions
	replaced := make(map[int]bool)
	for i, d := range decisions {
		if d.Action == Replace && d.Member >= 0 && d.Member < len(g.Members) { // Ask refuses others
			takers = append(takers, i)
			replaced[d.Member] = true
		}
	}
	slices.SortStableFunc(takers, func(i, j int) int {
		return compareNeed(g, decisions[i].Member, decisions[j].Member)
	})
	copies := make(map[int]int)
	for _, i := range takers {
		d := &decisions[i]
		if copies[d.Source] >= s.MaxCopies {
			s.divert(g, d, replaced, copies)
		}
		if d.Action == Replace {
			copies[d.Source]++
		}
	}
	return decisions
}

// compareNeed puts those first that need other weights most.
func compareNeed(g Generation, a, b int) int {
	x, y := g.Members[a], g.Members[b]
	for _, m := range []*Status{&x, &y} {
		if m.Diverged() {
			m.Objective = math.Inf(-1)
		}
	}
	return cmp.Or(cmp.Compare(x.Objective, y.Objective), cmp.Compare(a, b))
}

// divert finds another source, or keeps the member.
func (s Limited) divert(g Generation, d *Decision, replaced map[int]bool, copies map[int]int) {
	m := g.Members[d.Member]
	for _, other := range descending(sound(g), objectiveOf) {
		if !replaced[other.Member] && copies[other.Member] < s.MaxCopies &&
			(m.Diverged() || other.Objective > m.Objective) {
			d.Reason += fmt.Sprintf("; %d has reached the limit of %d, so %d", d.Source, s.MaxCopies, other.Member)
			if d.Origin() == d.Source {
				d.From = Donor{}
			}
			d.Source = other.Member
			return
		}
	}
	if m.Diverged() {
		d.Reason += fmt.Sprintf("; beyond the limit of %d, as nobody else can rescue", s.MaxCopies)
		return
	}
	*d = Keeping(m, "%s; %d has reached the limit of %d, and there is no other source", d.Reason, d.Source, s.MaxCopies)
}
