package strategy

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// script is one case of a golden script: arguments, which are key=value, and a generation.
type script struct {
	t    *testing.T
	args map[string]string
	g    Generation
}

func (s script) parse(text string) float64 {
	s.t.Helper()
	return must.Get(strconv.ParseFloat(text, 64))(s.t)
}

// number returns an argument, or its usual value.
func (s script) number(key string, usual float64) float64 {
	s.t.Helper()
	if v, ok := s.args[key]; ok {
		return s.parse(v)
	}
	return usual
}

func (s script) whole(key string, usual int) int { return int(s.number(key, float64(usual))) }

func (s script) has(key string) bool { _, ok := s.args[key]; return ok }

// generation reads members: a number, or several with commas for scores of which the last is the objective; nan, inf; ?
// where none is known yet, x for a failed member, - for an absent one. A peak follows after ^, as in 3^5.
func (s script) generation(text string) Generation {
	g := Generation{Iteration: int64(s.whole("iteration", 1))}
	for i, word := range strings.Fields(text) {
		m := Status{Member: i, Steps: 100}
		word, peak, hasPeak := strings.Cut(word, "^")
		if m.HasPeak = hasPeak; hasPeak {
			m.Peak = s.parse(peak)
		}
		switch word {
		case "?":
		case "x":
			m.Failed = true
		case "-":
			m.Absent = true
		default:
			for score := range strings.SplitSeq(word, ",") {
				m.Objective, m.HasObjective = s.parse(score), true
				m.Scores = append(m.Scores, m.Objective)
			}
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// decide writes what a strategy decides, after what describe says of it. The argument seed is the generator's (1 by
// default).
func (s script) decide(rule Strategy, describe func() string) string {
	if v, ok := rule.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err.Error() + "\n"
		}
	}
	var out strings.Builder
	if describe != nil {
		out.WriteString(describe())
	}
	for _, d := range rule.Decide(s.g, rand.New(rand.NewPCG(uint64(s.whole("seed", 1)), 0))) {
		fmt.Fprintf(&out, "%d %s", d.Member, d.Action)
		if d.Action == Replace {
			fmt.Fprintf(&out, " from %d", d.Source)
			if d.Origin() == d.Member {
				out.WriteString(" own hyperparameters")
			}
			if !d.Mutate {
				out.WriteString(" unmutated")
			}
			if d.Origin() != d.Source && d.Origin() != d.Member {
				fmt.Fprintf(&out, " with hyperparameters of %d", d.Origin())
			}
		}
		fmt.Fprintf(&out, " (%s)\n", d.Reason)
	}
	return out.String()
}

// TestGolden runs the scripts in testdata against the strategies of the original systems.
func TestGolden(t *testing.T) {
	for dir, answer := range map[string]func(c script) string{
		"isaaclab": func(c script) string {
			s := IsaacLab{ThresholdStd: c.number("std", 0), ThresholdAbs: c.number("abs", 0), Strict: c.has("strict")}
			return c.decide(s, func() string {
				b := s.Bands(c.g)
				return fmt.Sprintf("mean %.6g std %.6g cuts %.6g %.6g\nleaders %v underperformers %v diverged %v\n",
					b.Mean, b.Std, b.Lower, b.Upper, b.Leaders, b.Underperformers, b.Diverged)
			})
		},
		"isaacgymenvs": func(c script) string {
			s := DefaultIsaacGymEnvs()
			s.ReplaceFractionWorst = c.number("worst", s.ReplaceFractionWorst)
			s.ReplaceFractionBest = c.number("best", s.ReplaceFractionBest)
			s.ThresholdFracStd = c.number("std", s.ThresholdFracStd)
			s.ThresholdFracAbsolute = c.number("abs", s.ThresholdFracAbsolute)
			s.Strict, s.Debug = c.has("strict"), c.has("debug")
			return c.decide(s, func() string {
				r := s.ranks(c.g)
				return fmt.Sprintf("best %v worst %v floor %.6g spread %.6g\n", r.sources, r.worst, r.floor, r.spread)
			})
		},
		"samplefactory": func(c script) string {
			s := DefaultSampleFactory()
			s.ReplaceFraction = c.number("fraction", s.ReplaceFraction)
			s.RewardGap = c.number("gap", s.RewardGap)
			s.RewardGapAbsolute = c.number("abs", s.RewardGapAbsolute)
			s.Strict = c.has("strict")
			return c.decide(s, nil)
		},
		"raytune": func(c script) string {
			s := Quantile{Fraction: c.number("fraction", DefaultQuantile().Fraction), Strict: c.has("strict")}
			return c.decide(s, func() string {
				lower, upper := s.Quantiles(c.g)
				return fmt.Sprintf("lower %v upper %v\n", lower, upper)
			})
		},
		"limited": func(c script) string {
			return c.decide(Limited{Strategy: DefaultIsaacLab(), MaxCopies: c.whole("copies", 1)}, nil)
		},
		"tournament": func(c script) string {
			s := Tournament{TournamentSize: c.whole("size", 2), EvalLoop: c.whole("loop", 1), Elitism: !c.has("open"),
				MutateElite: c.has("mutate_elite"), Strict: c.has("strict")}
			return c.decide(s, func() string { return fmt.Sprintf("ranks %v\n", s.Ranks(c.g)) })
		},
		"multifrequency": func(c script) string {
			s := MultiFrequency{Subpopulations: c.whole("subs", 0), EvalLoop: c.whole("loop", 0),
				Winners: c.whole("winners", 0), Survivors: c.whole("survivors", 0), Open: c.whole("open", 0),
				Losers: c.whole("losers", 0), Strict: c.has("strict")}
			for r := range strings.FieldsFuncSeq(c.args["ratios"], func(r rune) bool { return r == ',' }) {
				s.Ratios = append(s.Ratios, int(c.parse(r)))
			}
			b, err := s.Brackets(len(c.g.Members))
			if err != nil {
				return err.Error() + "\n"
			}
			return fmt.Sprintf("winners %d survivors %d open %d losers %d\n", b.Winners, b.Survivors, b.Open,
				b.Losers) +
				c.decide(s, nil)
		},
	} {
		t.Run(dir, func(t *testing.T) {
			dialogue.Run(t, filepath.Join("testdata", dir, "*.txt"), func(t *testing.T, c dialogue.Case) string {
				s := script{t: t, args: c.Args()}
				s.g = s.generation(c.Input[0])
				return answer(s)
			})
		})
	}
}
