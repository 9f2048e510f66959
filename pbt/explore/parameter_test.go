package explore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// bed is a hyperparameter for trying a rule on.
type bed struct {
	rule  Rule
	start float64
	p     Parameter
}

var beds = []bed{
	{MutateFloat, 3e-4, Parameter{Min: 1e-5, Max: 1e-2}},
	{MutateDiscount, 0.99, Parameter{Min: 0.9, Max: 0.999}},
	{MutateFloatMin1, 2, Parameter{Min: 1, Max: 50}},
	{MutateEpsClip, 0.2, Parameter{Min: 0.05, Max: 0.3}},
	{MutateMiniEpochs, 4, Parameter{Min: 2, Max: 6}},
	{PerturbFloat, -0.5, Parameter{Min: -2, Max: -0.1}},
	{PerturbExponentialDecay, 0.99, Parameter{Min: 0.9, Max: 0.999}},
	{PerturbVtrace, 1, Parameter{Min: 0.98, Max: 1.02}},
	{PerturbBatchSize, 1024, Parameter{Min: 512, Max: 1280, Step: 64, Default: new(1024.0)}},
	{PerturbBool, 1, Parameter{Min: 0, Max: 1}},
	{Float, 3e-4, Parameter{Min: 1e-5, Max: 1e-2}},
	{OneMinus, 0.95, Parameter{Min: 0.5, Max: 0.999}},
	{Integer, 4, Parameter{Min: 1, Max: 9}},
	{Integer, -64, Parameter{Min: -256, Max: 128, Step: 32}},
	{Additive, 0, Parameter{Min: -1, Max: 2, Step: 0.7}},
	{Bool, 0, Parameter{Min: 0, Max: 1}},
	{Categorical, 3, Parameter{Choices: []float64{1, 3, 7}}},
	{Neighbour, 3, Parameter{Choices: []float64{1, 3, 7, 20}}},
}

// TestRulesStayInside lets every rule walk for long and looks at each step. Then it gives the rule numbers that no
// sensible program would.
func TestRulesStayInside(t *testing.T) {
	seen := make(map[string]bool)
	wild := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e308, -1e308, 5e-324, 1e-300, math.MaxFloat64, 3.7, -2.2}
	for i, b := range beds {
		seen[b.rule.Name()] = true
		for _, outside := range []Outside{OutsideClamp, OutsideReflect} {
			t.Run(fmt.Sprintf("%s_%s_%d", b.rule.Name(), outside, i), func(t *testing.T) {
				p := b.p
				p.Rule, p.Outside = b.rule, outside
				m := Mutation{Rate: 1, Parameters: map[string]Parameter{"a": p}}
				must.Do(t, m.Validate([]string{"a"}))
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				known := traits(b.rule)
				v, up, down := b.start, 0, 0
				for range 2000 {
					w := m.Apply(map[string]float64{"a": v}, rng)["a"]
					switch {
					case !p.contains(w):
						t.Fatalf("%v became %v, outside %v to %v", v, w, p.Min, p.Max)
					case known.whole && math.Mod(w, p.step()) != 0:
						t.Fatalf("%v became %v, no multiple of %v", v, w, p.step())
					case len(p.Choices) > 0 && !slices.Contains(p.Choices, w):
						t.Fatalf("%v became %v, none of %v", v, w, p.Choices)
					case w > v:
						up++
					case w < v:
						down++
					}
					v = w
				}
				for i := range 600 {
					v := wild[i%len(wild)]
					if w := m.Apply(map[string]float64{"a": v}, rng)["a"]; !p.contains(w) && w != v {
						t.Fatalf("%v became %v", v, w)
					}
				}
				// Even the stiffest, clamped, moves every other time.
				if up < 100 || down < 100 {
					t.Errorf("went up %d times and down %d times", up, down)
				}
			})
		}
	}
	for _, name := range RuleNames() {
		if !seen[name] && name != "mutate_by_ten" { // which is an example's
			t.Errorf("rule %s is not tried", name)
		}
	}
}

func TestKeysAndBounds(t *testing.T) {
	m := Mutation{
		Rules:      Rules{"z": MutateFloat, "env.*": PerturbFloat},
		Bounds:     map[string][2]float64{"env.*": {0, 1}, "env.speed": {0, 9}},
		Parameters: map[string]Parameter{"a": {Choices: []float64{1, 2}}, "b": {Rule: Bool}, "z": {Min: 1, Max: 2}},
	}
	must.Equal(t, "the keys", []string{"b", "env.*", "z"}, m.Keys())
	m.Resample = 0.1
	must.Equal(t, "the keys with resampling", []string{"a", "b", "env.*", "z"}, m.Keys())
	for key, want := range map[string][2]float64{"z": {1, 2}, "env.speed": {0, 9}, "env.x.y": {0, 1}, "a": {},
		"environment": {}} {
		if got, ok := m.BoundsOf(key); got != want || ok != (want != [2]float64{}) {
			t.Errorf("bounds of %s are %v, %t; want %v", key, got, ok, want)
		}
	}
	must.Equal(t, "what patterns stand for", []string{"env.speed", "env.x.y", "z"},
		Expand([]string{"z", "env.*", "env.speed"}, []string{"env.x.y", "env.speed", "environment", "z"}))
}

// TestUnboundedRulesStayFinite multiplies until nothing more fits.
func TestUnboundedRulesStayFinite(t *testing.T) {
	m := Mutation{Rate: 1, ChangeRange: [2]float64{1e300, 1e300}, Rules: Rules{"a": MutateFloat, "b": Integer,
		"c": Float}}
	rng := rand.New(rand.NewPCG(1, 2))
	values := map[string]float64{"a": 1, "b": 1, "c": 1}
	for range 100 {
		values = m.Apply(values, rng)
		for key, v := range values {
			if !number.Finite(v) {
				t.Fatalf("%s is %v", key, v)
			}
		}
	}
}
