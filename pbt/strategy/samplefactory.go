package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// SampleFactory is the rule of Sample Factory's population based training. The members are sorted by objective, of
// equals the higher number first; the first and the last ceil(ReplaceFraction·N) are the best and the worst. The best
// are kept. One of the worst draws a candidate from the best and is replaced where the candidate is ahead by more than
// RewardGapAbsolute and, relative to the size of objectives, by more than RewardGap. Everybody else, the middle and
// those of the worst that were not replaced, mutates itself.
//
// A gap is relative to the greatest of the candidate's objective, the member's own (both without sign) and the
// distance between the quartiles of all, so that it means something for negative objectives and around zero. N are the
// members with a finite objective. Those that failed or whose objective is NaN or infinite are rescued by one of the
// best, or, where ReplaceFraction is 0, by the best healthy member. A population of one is left alone. The reference
// member is named by pbt.Options.Reference.
//
// See [DefaultSampleFactory] for the usual numbers. Fields left at zero mean zero.
type SampleFactory struct {
	// ReplaceFraction is the share of best and of worst members, rounded up.
	ReplaceFraction float64 `yaml:"pbt_replace_fraction" config:"min=0,max=1"`
	// RewardGap is the least gap relative to the size of objectives.
	//
	// Raise it if objectives are noisy, so that luck replaces fewer members; lower it to move faster towards the best.
	RewardGap float64 `yaml:"pbt_replace_reward_gap" config:"min=0"`
	// RewardGapAbsolute is the least gap, in units of the objective.
	RewardGapAbsolute float64 `yaml:"pbt_replace_reward_gap_absolute" config:"min=0"`
	// Strict reproduces the original where it differs. Nothing is decided as long as one objective is not known; a gap
	// is relative to the candidate's objective plus 1e-8, which explodes around zero; NaN, which the original sorts
	// arbitrarily, ranks last and is never replaced; no member is rescued. Member 0 is the reference: it may be
	// replaced but its hyperparameters are never mutated. Where the original would end with an error (ReplaceFraction
	// 0) members are kept.
	Strict bool `yaml:"-"`
}

// DefaultSampleFactory has the original's default numbers.
func DefaultSampleFactory() SampleFactory {
	return SampleFactory{ReplaceFraction: 0.3, RewardGap: 0.1, RewardGapAbsolute: 1e-6}
}

// Validate checks the fraction (0 to 1) and that the gaps are finite and not negative.
func (s SampleFactory) Validate() error {
	return cmp.Or(checkFraction("SampleFactory.ReplaceFraction", s.ReplaceFraction, "0.3"),
		checkThreshold("SampleFactory.RewardGap", s.RewardGap, "0.1"),
		checkThreshold("SampleFactory.RewardGapAbsolute", s.RewardGapAbsolute, "1e-6, in units of the objective"))
}

// Decide implements Strategy. In order of member numbers it draws a candidate for each of the worst, and a source for
// each that diverged.
func (s SampleFactory) Decide(g Generation, rng *rand.Rand) []Decision {
	members := sound(g)
	if s.Strict {
		members = filter(g, Status.known)
	}
	sorted := descending(members, objectiveOf)
	n := share(s.ReplaceFraction, len(sorted))
	best, worst := numbersOf(sorted[:n]), numbersOf(sorted[len(sorted)-n:])
	spread := interquartile(each(members, objectiveOf))
	decide := func(m Status) Decision {
		switch {
		case !s.Strict && m.Diverged() && !m.Absent:
			return rescue(g, m, "top member", best, rng)
		case !slices.ContainsFunc(members, func(o Status) bool { return o.Member == m.Member }):
			return unranked(m)
		case s.Strict && len(members) < len(g.Members):
			return Keeping(m, "%d of %d objectives are not known", len(g.Members)-len(members), len(g.Members))
		case len(members) < 2:
			return Keeping(m, "nobody to compare with")
		case slices.Contains(best, m.Member):
			return Keeping(m, "among the best %d", n)
		case n == 0 && s.Strict:
			return Keeping(m, "nobody is among the best: the original ends with an error")
		case slices.Contains(worst, m.Member):
			return s.compare(m, g.Members[best[rng.IntN(len(best))]], spread)
		}
		return Mutating(m, "neither among the best nor the worst %d", n)
	}
	return each(g.Members, func(m Status) Decision {
		d := decide(m)
		if s.Strict && m.Member == 0 {
			d = asReference(d)
		}
		return d
	})
}

// compare decides about one of the worst and its candidate.
func (s SampleFactory) compare(m, candidate Status, spread float64) Decision {
	gap := candidate.Objective - m.Objective
	relative := gap / max(math.Abs(candidate.Objective), math.Abs(m.Objective), spread)
	if gap == 0 {
		relative = 0 // also where everything is 0
	}
	if s.Strict {
		relative = math.Abs(gap / (candidate.Objective + 1e-8))
	}
	if gap > s.RewardGapAbsolute && relative > s.RewardGap {
		return Copying(m, candidate.Member, "among the worst; behind %d by %.6g > %.6g, relatively %.4g > %.4g",
			candidate.Member, gap, s.RewardGapAbsolute, relative, s.RewardGap)
	}
	return Mutating(m, "among the worst; behind candidate %d by %.6g, relatively %.4g, which is too little",
		candidate.Member, gap, relative)
}

// asReference turns a decision into one that mutates no hyperparameters.
func asReference(d Decision) Decision {
	switch d.Action {
	case Replace:
		d.Mutate = false
		d.Reason += "; the reference, unmutated"
	case SelfMutate:
		d.Action = Keep
		d.Reason += "; the reference is not mutated"
	}
	return d
}

// interquartile is the distance between the quartiles, 0 of nothing.
func interquartile(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return stat.Quantile(0.75, stat.Empirical, values, nil) - stat.Quantile(0.25, stat.Empirical, values, nil)
}
