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
	forget := func() { registry.Delete(name) }
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
