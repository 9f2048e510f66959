package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// IsaacLab is the rule of Isaac Lab's population based training. With μ and σ the mean and population standard
// deviation (divided by n) of the objectives and m = max(ThresholdStd·σ, ThresholdAbs), members above μ+m are leaders
// and members below μ-m underperformers, both strictly. Every underperformer is replaced by a leader drawn uniformly,
// or mutates itself if there is no leader. Everyone else is kept. Members whose objective is not known yet are
// left out.
//
// A member that failed or whose objective is NaN or infinite ranks worst: it is left out of μ and σ, never copied, and
// replaced by a leader, or, if there is none, by the best healthy member (of equals the lowest number).
//
// Isaac Lab's tasks use ThresholdStd 0.1 and ThresholdAbs 0.025; see [DefaultIsaacLab]. Fields left at zero mean zero.
type IsaacLab struct {
	// ThresholdStd is the margin around the mean, in standard deviations of the objectives.
	//
	// A larger one replaces fewer members. Raise it if the objective is noisy, so that luck decides less; lower it if
	// members lie close together and too few are replaced.
	ThresholdStd float64 `yaml:"threshold_std" config:"min=0"`
	// ThresholdAbs is the least margin, in units of the objective.
	ThresholdAbs float64 `yaml:"threshold_abs" config:"min=0"`
	// Strict reproduces the original where it differs: objectives that are NaN or not above -1e9 are ignored, so
	// that a diverged member stays as it is for ever and does not train when it has failed; one infinite objective
	// stops all decisions.
	Strict bool `yaml:"-"`
}

// DefaultIsaacLab has the thresholds of Isaac Lab's task configurations.
func DefaultIsaacLab() IsaacLab { return IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.025} }

// Bands is how IsaacLab divides a generation.
type Bands struct {
	// Mean and Std are over the members that are ranked; NaN when there are none.
	Mean, Std float64
	// Upper and Lower are the cuts.
	Upper, Lower float64
	// Leaders, Underperformers and Diverged are member numbers in ascending order. Strict has no Diverged.
	Leaders, Underperformers, Diverged []int
}

// Validate checks that both thresholds are finite and not negative.
func (s IsaacLab) Validate() error {
	return cmp.Or(checkThreshold("IsaacLab.ThresholdStd", s.ThresholdStd, "0.1"),
		checkThreshold("IsaacLab.ThresholdAbs", s.ThresholdAbs, "0.025, in units of the objective"))
}

// Bands divides a generation into leaders, underperformers and the rest.
func (s IsaacLab) Bands(g Generation) Bands {
	var b Bands
	var ranked []Status
	for _, m := range g.Members {
		switch {
		case s.ranks(m):
			ranked = append(ranked, m)
		case !s.Strict && m.Diverged() && !m.Absent:
			b.Diverged = append(b.Diverged, m.Member)
		}
	}
	// Without ranked members both are NaN: no member is then above or below the cuts.
	b.Mean, b.Std = stat.PopMeanStdDev(each(ranked, objectiveOf), nil)
	margin := math.Max(s.ThresholdStd*b.Std, s.ThresholdAbs)
	b.Upper, b.Lower = b.Mean+margin, b.Mean-margin
	for _, m := range ranked {
		if m.Objective > b.Upper {
			b.Leaders = append(b.Leaders, m.Member)
		}
		if m.Objective < b.Lower {
			b.Underperformers = append(b.Underperformers, m.Member)
		}
	}
	return b
}

func (s IsaacLab) ranks(m Status) bool {
	if s.Strict {
		return m.known() && m.Objective > uninitialized // false for NaN
	}
	return m.Healthy() && !m.Absent
}

// Decide implements Strategy. It draws one random number for every underperformer or diverged member, in order of
// member numbers, when there is at least one leader, and none otherwise.
func (s IsaacLab) Decide(g Generation, rng *rand.Rand) []Decision {
	b := s.Bands(g)
	return each(g.Members, func(m Status) Decision {
		under := slices.Contains(b.Underperformers, m.Member)
		switch {
		case slices.Contains(b.Diverged, m.Member):
			return rescue(g, m, "leader", b.Leaders, rng)
		case under && len(b.Leaders) > 0:
			leader := b.Leaders[rng.IntN(len(b.Leaders))]
			return Copying(m, leader, "underperformer: %.6g < %.6g; copies leader %d", m.Objective, b.Lower, leader)
		case under:
			return Mutating(m, "underperformer: %.6g < %.6g; no leader above %.6g", m.Objective, b.Lower, b.Upper)
		case !s.ranks(m):
			return unranked(m)
		case m.Objective > b.Upper:
			return Keeping(m, "leader: %.6g > %.6g", m.Objective, b.Upper)
		}
		return Keeping(m, "between %.6g and %.6g", b.Lower, b.Upper)
	})
}
