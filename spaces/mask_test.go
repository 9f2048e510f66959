package spaces

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Random actions are uniform among the choices that masks allow, and sets with unfit masks are refused.
func TestActionMask(t *testing.T) {
	s := Set{Observation: Unbounded(1), Action: NewMultiDiscrete(3, 2)}
	s.ActionMask = NewActionMask(s.Action)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	rng, rows, seen := rand.New(rand.NewPCG(1, 1)), make([]float32, 2), map[[2]float32]int{}
	for range 3000 {
		s.SampleActions(rng, rows, []float32{1, 0, 1, 0, 1})
		seen[[2]float32(rows)]++
	}
	if a, b := seen[[2]float32{0, 1}], seen[[2]float32{2, 1}]; a+b != 3000 || a < 1300 || b < 1300 {
		t.Errorf("drew %v; want about 1500 of 0 1 and of 2 1", seen)
	}
	for _, c := range []struct {
		action, mask Space
		want         string
	}{
		{NewBox(-1, 1, 3), NewActionMask(NewBox(-1, 1, 3)),
			"need a Discrete or MultiDiscrete action space, got Box(3)"},
		{NewDiscrete(3), NewActionMask(NewDiscrete(4)), "does not fit the action space Discrete(3)"},
		{NewDiscrete(3), NewMultiDiscrete(2, 2, 2), "does not fit the action space Discrete(3)"},
	} {
		s.Action, s.ActionMask = c.action, c.mask
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v with the mask %v: %v; want %q", c.action, c.mask, err, c.want)
		}
	}
}
