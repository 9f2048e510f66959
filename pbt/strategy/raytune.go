package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Quantile is the rule of Ray Tune's population based training. The m members with an objective are sorted by it, of
// equals the lower number lower; n = ceil(m·Fraction) of them, but at most half of m, are the lower quantile, and as
// many the upper one. Each member of the lower quantile is replaced by one of the upper quantile, drawn uniformly,
// unless that is no better. Everyone else is kept. With fewer than two objectives nothing is decided.
//
// Ranked are members with a finite objective. A member that failed or whose objective is NaN or infinite is rescued by
// one of the upper quantile, or, if there is none, by the best healthy member.
//
// Ray Tune's default is a Fraction of 0.25; see [DefaultQuantile]. The explorer that goes with it is [Perturbation] or
// [PB2].
type Quantile struct {
	// Fraction is the share of lowest and of highest members. With 0 no member is replaced.
	//
	// A larger one copies more and loses diversity sooner.
	Fraction float64 `yaml:"quantile_fraction" config:"min=0,max=0.5"`
	// Strict reproduces the original where it differs: a source is copied even where it is no better, infinite
	// objectives rank like others, NaN, which the original sorts arbitrarily, ranks lowest, and failed members are left
	// out. A member whose source turns out not to be finite is kept, as nothing can copy it.
	Strict bool `yaml:"-"`
}

// DefaultQuantile has Ray Tune's default fraction.
func DefaultQuantile() Quantile { return Quantile{Fraction: 0.25} }

// Validate checks that the fraction is from 0 to 0.5.
func (s Quantile) Validate() error {
	if !(s.Fraction >= 0 && s.Fraction <= 0.5) {
		return fmt.Errorf("pbt: Quantile.Fraction is %v; give a fraction from 0 to 0.5, e.g. 0.25", s.Fraction)
	}
	return nil
}

// Quantiles are the members of both quantiles, each from the lowest objective to the highest.
func (s Quantile) Quantiles(g Generation) (lower, upper []int) {
	members := s.ranked(g)
	if len(members) < 2 {
		return nil, nil
	}
	sorted := descending(members, objectiveOf)
	slices.Reverse(sorted)
	n := min(share(s.Fraction, len(sorted)), len(sorted)/2)
	return numbersOf(sorted[:n]), numbersOf(sorted[len(sorted)-n:])
}

func (s Quantile) ranked(g Generation) []Status {
	if s.Strict {
		return filter(g, Status.known)
	}
	return sound(g)
}

// Decide implements Strategy. In order of member numbers it draws a source for each member of the lower quantile, and
// for each that diverged if there is an upper quantile.
func (s Quantile) Decide(g Generation, rng *rand.Rand) []Decision {
	lower, upper := s.Quantiles(g)
	ranked := len(s.ranked(g))
	return each(g.Members, func(m Status) Decision {
		switch {
		case !s.Strict && m.Diverged() && !m.Absent:
			return rescue(g, m, "upper member", upper, rng)
		case !m.known():
			return unranked(m)
		case ranked < 2:
			return Keeping(m, "nobody to compare with")
		case slices.Contains(lower, m.Member):
			source := g.Members[upper[rng.IntN(len(upper))]]
			if source.Healthy() && (s.Strict || source.Objective > m.Objective) {
				return Copying(m, source.Member, "lower quantile of %d; copies %d of the upper", len(lower),
					source.Member)
			}
			return Keeping(m, "lower quantile of %d; source %d has an objective of %v", len(lower), source.Member,
				source.Objective)
		case slices.Contains(upper, m.Member):
			return Keeping(m, "upper quantile of %d", len(upper))
		}
		return Keeping(m, "between the quantiles")
	})
}
