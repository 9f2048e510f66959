package pbt

import (
	"errors"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// TestNever trains the control group: as many steps as the population, the same members at the beginning, and nothing
// becomes of anyone.
func TestNever(t *testing.T) {
	treated, control := newColony(4), newColony(4)
	control.opt.Strategy = strategy.Never{}
	control.faults.train = func(m *climber) error {
		switch {
		case m.id == 1 && m.steps == 120:
			return errors.New("gone")
		case m.id == 2 && m.steps == 120:
			m.x[0] = math.NaN()
		}
		return nil
	}
	a, b := mustTrain(t, treated.opt), mustTrain(t, control.opt)
	for i := range 1 + 4 + 2 { // the population's event, the starts; by the first interval's end they still are alike
		if x, y := a.Journal()[i], b.Journal()[i]; i > 0 && (x.Seed != y.Seed || x.Objective != y.Objective || i < 5 && !same(x.After, y.After)) {
			t.Errorf("event %d is %+v, and %+v", i, x, y)
		}
	}
	for _, e := range b.Journal() {
		if e.Parent >= 0 || e.Kind != journal.Start && e.After != nil {
			t.Errorf("something became of a member: %+v", e)
		}
	}
	reasons := make(map[string]int)
	for _, e := range kinds(b.Journal(), journal.Keep) {
		reasons[e.Cause]++
	}
	if len(reasons) != 3 || reasons["control group: training failed"] != 7 || reasons["control group: objective is NaN"] != 7 {
		t.Errorf("reasons are %v", reasons)
	}
	for id, want := range []int64{500, 120, 500, 500} {
		if s := b.Generation().Members[id]; s.Steps != want || s.WeightSteps != want {
			t.Errorf("member %d ended as %+v", id, s)
		}
	}
}
