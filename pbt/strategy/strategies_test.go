package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// strategies are all that there are, in many settings. The last word of a name says whether it is strict.
func strategies() map[string]Strategy {
	all := make(map[string]Strategy)
	for _, strict := range []bool{false, true} {
		for _, f := range []float64{0, 0.3, 1} {
			all[fmt.Sprintf("isaaclab %v %v", f, strict)] = IsaacLab{ThresholdStd: f, ThresholdAbs: f / 10,
				Strict: strict}
			for _, debug := range []bool{false, true} {
				all[fmt.Sprintf("isaacgymenvs %v %v %v", f, debug, strict)] = IsaacGymEnvs{ReplaceFractionWorst: f,
					ReplaceFractionBest: 1 - f, ThresholdFracStd: f, ThresholdFracAbsolute: 0.05, Debug: debug,
					Strict: strict}
			}
			all[fmt.Sprintf("samplefactory %v %v", f, strict)] = SampleFactory{ReplaceFraction: f, RewardGap: f,
				RewardGapAbsolute: 1e-6, Strict: strict}
			all[fmt.Sprintf("quantile %v %v", f, strict)] = Quantile{Fraction: f / 2, Strict: strict}
		}
	}
	for name, s := range all {
		if l := (Limited{Strategy: s, MaxCopies: 1 + len(name)%3}); l.Validate() == nil {
			all["limited "+name] = l
		}
	}
	return all
}

// odds are members in trouble.
var odds = []Status{{HasObjective: true, Objective: math.NaN()}, {HasObjective: true, Objective: math.Inf(1)},
	{HasObjective: true, Objective: math.Inf(-1)}, {HasObjective: true, Objective: 1, Failed: true}, {Absent: true}, {},
	{HasObjective: true, Objective: -2e9}, {HasObjective: true, Objective: 1, HasPeak: true, Peak: math.NaN()}}

// anyGeneration has members of every sort.
func anyGeneration(rng *rand.Rand) Generation {
	g := Generation{Iteration: rng.Int64N(100)}
	scale := math.Pow(10, float64(rng.IntN(7)-3))
	odd := rng.Float64() * 0.5
	for i := range 1 + rng.IntN(12) {
		m := Status{Steps: rng.Int64N(1e6), HasObjective: true,
			Objective: scale * math.Round(10*rng.NormFloat64()) / 10}
		if rng.IntN(2) == 0 {
			m.HasPeak, m.Peak = true, m.Objective+scale*rng.Float64()
		}
		if rng.Float64() < odd {
			m = odds[rng.IntN(len(odds))]
		}
		m.Member = i
		g.Members = append(g.Members, m)
	}
	return g
}

func TestStrategiesAreSoundForAnyGeneration(t *testing.T) {
	t.Parallel()
	for name, s := range strategies() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				g := anyGeneration(rng)
				before, seed := g.Clone(), rng.Uint64()
				decisions := s.Decide(g, rand.New(rand.NewPCG(seed, 0)))
				must.Equal(t, "the generation", before, g, cmpopts.EquateNaNs())
				if again := s.Decide(g, rand.New(rand.NewPCG(seed, 0))); !slices.Equal(decisions, again) {
					t.Fatalf("two answers for %+v:\n%+v\n%+v", g, decisions, again)
				}
				checkDecisions(t, s, strings.HasSuffix(name, "true"), g, decisions)
			}
		})
	}
}

// A limit checks the strategy behind it, which else decides nothing in a population that it does not suit.
func TestLimitedChecksTheStrategy(t *testing.T) {
	must.Refuse(t, Check(Limited{Strategy: MultiFrequency{}, MaxCopies: 1}, 5), "a population of 5 cannot be cut")
	must.Refuse(t, Check(Limited{Strategy: Quantile{Fraction: 2}, MaxCopies: 1}, 5), "Quantile.Fraction is 2")
}

func checkDecisions(t *testing.T, s Strategy, strict bool, g Generation, decisions []Decision) {
	t.Helper()
	must.Is(t, len(decisions), len(g.Members), "decisions")
	_, someone := g.Best()
	copies := make(map[int]int)
	for i, d := range decisions {
		m, wrong := g.Members[i], ""
		switch {
		case d.Member != i:
			wrong = "the wrong member"
		case d.Reason == "":
			wrong = "no reason"
		case d.Action != Keep && d.Action != Replace && d.Action != SelfMutate:
			wrong = "no action"
		case d.Action == Replace && (d.Source == i || d.Source < 0 || d.Source >= len(g.Members)):
			wrong = "no such source"
		case d.Action == Replace && !g.Members[d.Source].Healthy():
			wrong = "the source is not healthy"
		case !strict && d.Action == Replace && !m.Diverged() && g.Members[d.Source].Objective <= m.Objective:
			wrong = "the source is no better"
		case m.Absent && d.Action != Keep:
			wrong = "the member is absent"
		case !m.HasObjective && !m.Failed && d.Action != Keep:
			wrong = "nothing is known of the member"
		case !strict && m.Diverged() && someone && d.Action != Replace:
			wrong = "the member is not rescued"
		}
		if d.Action == Replace && !m.Diverged() {
			copies[d.Source]++
		}
		if l, ok := s.(Limited); ok && copies[d.Source] > l.MaxCopies {
			wrong = "too many copies"
		}
		if wrong != "" {
			t.Fatalf("%s: %+v\nof %+v", wrong, d, g)
		}
	}
}
