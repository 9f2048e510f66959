package explore

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestRegisterRule(t *testing.T) {
	keep := func(value float64, _ RuleInput) float64 { return value }
	for what, r := range map[string]Rule{
		"no name": NewRule("", keep), "no function": NewRule("nothing", nil), "nil": nil,
		"a name twice": NewRule("mutate_float", keep),
	} {
		if err := RegisterRule(r); err == nil {
			t.Errorf("%s: registering succeeded", what)
		}
	}
	var seen RuleInput
	name := "mutate_" + strings.ToLower(t.Name())
	forget := func() {
		registryMutex.Lock()
		delete(registry, name)
		registryMutex.Unlock()
	}
	forget() // of an earlier round of tests
	if err := RegisterRule(NewRule(name, func(value float64, in RuleInput) float64 {
		seen = in
		return value +
			9
	})); err != nil {
		t.Fatal(err)
	}
	defer forget()
	known, err := RuleByName(name)
	must.Do(t, err)
	if _, err := RuleByName("mutate_flaot"); err == nil || !strings.Contains(err.Error(),
		`did you mean "mutate_float"?`) {
		t.Errorf("the error is %v", err)
	}
	m := Mutation{Rate: 1, Rules: Rules{"a": known}, Bounds: map[string][2]float64{"a": {0, 5}}}
	must.Do(t, m.Validate([]string{"a"}))
	if got := m.Apply(map[string]float64{"a": 1}, rand.New(rand.NewPCG(1, 1)))["a"]; got != 5 {
		t.Errorf("the result is %v, want it clamped to 5", got)
	}
	if seen.Key != "a" || !seen.Bounded || seen.Bounds != [2]float64{0, 5} || seen.ChangeRange != [2]float64{1.1, 2} {
		t.Errorf("the rule was given %+v", seen)
	}
}

// TestMutationRate counts how often each of two keys changes.
func TestMutationRate(t *testing.T) {
	m := Mutation{Rules: Rules{"a": MutateFloat, "b": MutateFloat}}
	rng := rand.New(rand.NewPCG(3, 4))
	a, b, both, up := 0, 0, 0, 0
	const n = 4000
	for range n {
		v := m.Apply(map[string]float64{"a": 1, "b": 1}, rng)
		if v["a"] != 1 {
			a++
			if v["a"] > 1 {
				up++
			}
		}
		if v["b"] != 1 {
			b++
		}
		if v["a"] != 1 && v["b"] != 1 {
			both++
		}
	}
	// Five standard deviations are 137 of the first two, 77 of both, and about 79 of the ups.
	if a < 863 || a > 1137 || b < 863 || b > 1137 || both < 173 || both > 327 || up < a/2-79 || up > a/2+79 {
		t.Errorf("of %d: a changed %d times, %d up, b %d, both %d; want about 1000, 500, 1000, 250", n, a, up, b, both)
	}
}
