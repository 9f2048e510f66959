package pbt

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
)

// IsaacLab is the rule of Isaac Lab's population based training. With μ and σ the mean and population standard
// deviation (divided by n) of the objectives and m = max(ThresholdStd·σ, ThresholdAbs), members above μ+m are leaders
// and members below μ-m underperformers, both strictly. Every underperformer is replaced by a leader drawn uniformly,
// or mutates itself where there is no leader. Everyone else is kept. Members whose objective is not known yet are
// left out.
//
// A member that failed or whose objective is NaN or infinite ranks worst: it is left out of μ and σ, never copied, and
// replaced by a leader, or, where there is none, by the best healthy member (of equals the lowest number).
//
// Isaac Lab's tasks use ThresholdStd 0.1 and ThresholdAbs 0.025; see [DefaultIsaacLab]. Fields left at zero mean zero.
type IsaacLab struct {
	// ThresholdStd is the margin as a multiple of the objectives' standard deviation.
	ThresholdStd float64
	// ThresholdAbs is the least margin, in units of the objective.
	ThresholdAbs float64
	// Strict reproduces the original where it differs: objectives that are NaN or not above -1e9 are ignored, so
	// that a diverged member stays as it is for ever and does not train when it has failed; one infinite objective
	// stops all decisions.
	Strict bool
}

// DefaultIsaacLab has the thresholds of Isaac Lab's task configurations.
func DefaultIsaacLab() IsaacLab { return IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.025} }

// uninitialized is the objective that Isaac Lab gives to members it knows nothing about.
const uninitialized = -1e9

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
	if !(s.ThresholdStd >= 0) || math.IsInf(s.ThresholdStd, 0) {
		return fmt.Errorf("pbt: IsaacLab.ThresholdStd is %v; give a finite number of 0 or more, e.g. 0.1", s.ThresholdStd)
	}
	if !(s.ThresholdAbs >= 0) || math.IsInf(s.ThresholdAbs, 0) {
		return fmt.Errorf("pbt: IsaacLab.ThresholdAbs is %v; give a finite number of 0 or more, in units of the objective", s.ThresholdAbs)
	}
	return nil
}

// Bands divides a generation into leaders, underperformers and the rest.
func (s IsaacLab) Bands(g Generation) Bands {
	var b Bands
	var ranked []Status
	for _, m := range g.Members {
		switch {
		case s.ranks(m):
			ranked = append(ranked, m)
		case !s.Strict && m.Diverged():
			b.Diverged = append(b.Diverged, m.Member)
		}
	}
	objectives := make([]float64, len(ranked)) // none leads to NaN cuts, which nobody is above or below
	for i, m := range ranked {
		objectives[i] = m.Objective
	}
	b.Mean, b.Std = stat.PopMeanStdDev(objectives, nil)
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
		return !m.Failed && m.HasObjective && m.Objective > uninitialized // false for NaN
	}
	return m.Healthy()
}

// Decide implements Strategy. It draws one random number for every underperformer or diverged member, in order of
// member numbers, when there is at least one leader, and none otherwise.
func (s IsaacLab) Decide(g Generation, rng *rand.Rand) []Decision {
	b := s.Bands(g)
	under, diverged := set(b.Underperformers), set(b.Diverged)
	best, hasBest := g.best()
	decisions := make([]Decision, 0, len(g.Members))
	for _, m := range g.Members {
		d := Decision{Member: m.Member, Action: Keep, Source: m.Member}
		switch {
		case diverged[m.Member]:
			why := m.Trouble()
			switch {
			case len(b.Leaders) > 0:
				d.Action, d.Source = Replace, b.Leaders[rng.IntN(len(b.Leaders))]
				d.Reason = fmt.Sprintf("%s; rescued by leader %d", why, d.Source)
			case hasBest:
				d.Action, d.Source = Replace, best.Member
				d.Reason = fmt.Sprintf("%s; no leader, rescued by the best, %d", why, d.Source)
			default:
				d.Reason = why + "; nobody healthy to copy"
			}
		case under[m.Member] && len(b.Leaders) > 0:
			d.Action, d.Source = Replace, b.Leaders[rng.IntN(len(b.Leaders))]
			d.Reason = fmt.Sprintf("underperformer: %.6g < %.6g; copies leader %d", m.Objective, b.Lower, d.Source)
		case under[m.Member]:
			d.Action = SelfMutate
			d.Reason = fmt.Sprintf("underperformer: %.6g < %.6g; no leader above %.6g", m.Objective, b.Lower, b.Upper)
		case !s.ranks(m):
			d.Reason = "objective not known"
			if m.Diverged() {
				d.Reason = m.Trouble() + "; not ranked"
			} else if m.HasObjective {
				d.Reason = fmt.Sprintf("objective is %v; not ranked", m.Objective)
			}
		case m.Objective > b.Upper:
			d.Reason = fmt.Sprintf("leader: %.6g > %.6g", m.Objective, b.Upper)
		default:
			d.Reason = fmt.Sprintf("between %.6g and %.6g", b.Lower, b.Upper)
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// best is the healthy member with the highest objective, of equals the first.
func (g Generation) best() (Status, bool) {
	var best Status
	found := false
	for _, m := range g.Members {
		if m.Healthy() && (!found || m.Objective > best.Objective) {
			best, found = m, true
		}
	}
	return best, found
}

func set(members []int) map[int]bool {
	in := make(map[int]bool, len(members))
	for _, m := range members {
		in[m] = true
	}
	return in
}
