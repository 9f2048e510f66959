package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/number"
)

// IsaacGymEnvs is the rule of the decentralised population based training of IsaacGymEnvs (DexPBT). The members are
// sorted by objective, of equals the higher number first. A member among the worst ceil(ReplaceFractionWorst·N) whose
// peak within the interval did not reach the best ceil(ReplaceFractionBest·N) draws a candidate from the best. It is
// replaced where the candidate is ahead by more than ThresholdFracStd times the spread of the population and by more
// than ThresholdFracAbsolute times the candidate's objective without its sign, and mutates itself otherwise. The spread
// is the standard deviation (divided by n) without the floor(0.2·n) lowest objectives. A replaced member mutates the
// candidate's hyperparameters or, with even chances, its own. No decision is made until more than max(2, N/2) members
// have an objective; so populations of two never act.
//
// N are the members with a finite objective; in max(2, N/2) it is the members that are not absent. Failed members and
// those with an objective of NaN or infinity are rescued at any time: by one of the best, or, where
// ReplaceFractionBest is 0, by the best healthy member; they take the source's hyperparameters. A fraction of 0 means
// nobody: without worst members only rescues happen, without best ones the worst mutate themselves.
//
// See [DefaultIsaacGymEnvs] for the usual numbers. Fields left at zero mean zero. The original's timing (interval,
// start_after, initial_delay) is in [Options], where SettleMutations belongs to it.
type IsaacGymEnvs struct {
	// ReplaceFractionWorst and ReplaceFractionBest are the shares of worst and best members, rounded up.
	ReplaceFractionWorst float64 `yaml:"replace_fraction_worst" config:"min=0,max=1"`
	ReplaceFractionBest  float64 `yaml:"replace_fraction_best" config:"min=0,max=1"`
	// ThresholdFracStd is the least gap, in spreads of the objectives.
	ThresholdFracStd float64 `yaml:"replace_threshold_frac_std" config:"min=0"`
	// ThresholdFracAbsolute is the least gap, as a fraction of the candidate's objective without its sign.
	ThresholdFracAbsolute float64 `yaml:"replace_threshold_frac_absolute" config:"min=0"`
	// Debug counts all members among the worst, without protection by a peak or by too few objectives.
	Debug bool `yaml:"dbg_mode"`
	// Strict reproduces the original where it differs. Unknown objectives count as -1e9 and their members among the
	// worst, so that absent ones shield the live; NaN, which the original sorts arbitrarily, is below that. A worst
	// fraction of 0 makes everybody one of the worst. Where the original would end with an error (no best member, or a
	// candidate whose objective is not known) the member is kept. No member is rescued: one whose objective is NaN only
	// ever mutates itself.
	Strict bool `yaml:"-"`
}

// DefaultIsaacGymEnvs has the numbers of the original's default configuration.
func DefaultIsaacGymEnvs() IsaacGymEnvs {
	return IsaacGymEnvs{ReplaceFractionWorst: 0.125, ReplaceFractionBest: 0.3, ThresholdFracStd: 0.5,
		ThresholdFracAbsolute: 0.05}
}

// Validate checks the fractions (0 to 1) and that the thresholds are finite and not negative.
func (s IsaacGymEnvs) Validate() error {
	return cmp.Or(checkFraction("IsaacGymEnvs.ReplaceFractionWorst", s.ReplaceFractionWorst, "0.125"),
		checkFraction("IsaacGymEnvs.ReplaceFractionBest", s.ReplaceFractionBest, "0.3"),
		checkThreshold("IsaacGymEnvs.ThresholdFracStd", s.ThresholdFracStd, "0.5"),
		checkThreshold("IsaacGymEnvs.ThresholdFracAbsolute", s.ThresholdFracAbsolute, "0.05"))
}

// gymRanks is how IsaacGymEnvs divides a generation.
type gymRanks struct {
	sources     []int   // the best in order
	worst       []int   // in order
	floor       float64 // the least objective among the best, NaN where there are none
	spread      float64 // the standard deviation without the low outliers
	known, need int     // how many objectives are known, and how many must be exceeded
}

func (s IsaacGymEnvs) ranks(g Generation) gymRanks {
	sorted, initialized, present := sound(g), sound(g), len(filter(g, func(m Status) bool { return !m.Absent }))
	value := objectiveOf
	if s.Strict {
		sorted, present = g.Members, len(g.Members)
		initialized = filter(g, func(m Status) bool { return m.known() && m.Objective > uninitialized })
		value = func(m Status) float64 {
			if !m.known() {
				return uninitialized
			}
			return m.Objective
		}
	}
	sorted = descending(sorted, value)
	nBest, nWorst := share(s.ReplaceFractionBest, len(sorted)), share(s.ReplaceFractionWorst, len(sorted))
	if s.Debug || s.Strict && nWorst == 0 {
		nWorst = len(sorted)
	}
	r := gymRanks{sources: numbersOf(sorted[:nBest]), floor: math.NaN(),
		spread: robustStd(each(initialized, objectiveOf)),
		known:  len(initialized), need: max(2, present/2)}
	for _, m := range sorted[:nBest] {
		if v := value(m); !math.IsNaN(v) { // NaN comes last
			r.floor = v
		}
	}
	r.worst = numbersOf(sorted[len(sorted)-nWorst:])
	return r
}

// robustStd is the population standard deviation without the lowest fifth, NaN of nothing.
func robustStd(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return stat.PopStdDev(values[int(0.2*float64(len(values))):], nil)
}

// Decide implements Strategy. In order of member numbers it draws, for every member that gets so far, the candidate and
// then the coin that chooses the hyperparameters; for a diverged one the source only.
func (s IsaacGymEnvs) Decide(g Generation, rng *rand.Rand) []Decision {
	ranks := s.ranks(g)
	return each(g.Members, func(m Status) Decision { return s.decide(g, m, ranks, rng) })
}

func (s IsaacGymEnvs) decide(g Generation, m Status, r gymRanks, rng *rand.Rand) Decision {
	peak := m.Objective
	if m.HasPeak && (s.Strict || number.Finite(m.Peak)) && !(m.Peak <= peak) {
		peak = m.Peak
	}
	switch {
	case !s.Strict && m.Diverged() && !m.Absent:
		return rescue(g, m, "top member", r.sources, rng)
	case !m.known():
		return unranked(m)
	case !slices.Contains(r.worst, m.Member):
		return Keeping(m, "not among the worst %d", len(r.worst))
	case len(r.sources) == 0 && s.Strict:
		return Keeping(m, "nobody is among the best: the original ends with an error")
	case !s.Debug && peak >= r.floor:
		return Keeping(m, "peak %.6g reaches the best's %.6g", peak, r.floor)
	case !s.Debug && r.known <= r.need:
		return Keeping(m, "only %d objectives are known; more than %d are needed", r.known, r.need)
	case len(r.sources) == 0:
		return Mutating(m, "among the worst %d; nobody is among the best", len(r.worst))
	}
	candidate := g.Members[r.sources[rng.IntN(len(r.sources))]]
	own := rng.Float64() >= 0.5 // always drawn, so that equal seeds give equal draws
	if !candidate.known() {
		return Keeping(m, "nothing is known of candidate %d: the original ends with an error", candidate.Member)
	}
	gap := candidate.Objective - m.Objective
	byStd, byValue := s.ThresholdFracStd*r.spread, s.ThresholdFracAbsolute*math.Abs(candidate.Objective)
	if !(gap > byStd && gap > byValue) {
		return Mutating(m, "among the worst %d; %.6g behind candidate %d, not more than %.6g and %.6g", len(r.worst),
			gap, candidate.Member, byStd, byValue)
	}
	d := Copying(m, candidate.Member, "among the worst %d; %.6g behind %d, more than %.6g and %.6g", len(r.worst), gap,
		candidate.Member, byStd, byValue)
	if own {
		d.From = HyperparametersOf(m.Member)
		d.Reason += "; own hyperparameters"
	}
	return d
}
