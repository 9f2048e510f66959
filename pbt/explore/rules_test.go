package explore

import (
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestRegisterRule(t *testing.T) {
	keep := func(value float64, _ RuleInput) float64 { return value }
	for what, r := range map[string]Rule{"no name": NewRule("", keep), "no function": NewRule("nothing", nil),
		"nil": nil, "a name twice": NewRule("mutate_float", keep)} {
		if err := RegisterRule(r); err == nil {
			t.Errorf("%s: registering succeeded", what)
		}
	}
	must.Refused(RuleByName("mutate_flaot"))(t, `did you mean "mutate_float"?`)
	var seen RuleInput
	plusNine := NewRule("", func(value float64, in RuleInput) float64 { seen = in; return value + 9 })
	m := Mutation{Rate: 1, Rules: Rules{"a": plusNine}, Bounds: map[string][2]float64{"a": {0, 5}}}
	must.Is(t, m.Apply(map[string]float64{"a": 1}, rand.New(rand.NewPCG(1, 1)))["a"], 5, "the result within bounds")
	if seen.Key != "a" || !seen.Bounded || seen.Bounds != [2]float64{0, 5} || seen.ChangeRange != [2]float64{1.1, 2} {
		t.Errorf("the rule was given %+v", seen)
	}
}
