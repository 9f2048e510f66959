package explore

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBadConstraintsKeepValues: what a constraint returns is not trusted.
func TestBadConstraintsKeepValues(t *testing.T) {
	for name, c := range map[string]Constraint{
		"error":   func(v map[string]float64) (map[string]float64, error) { v["a"] = 7; return v, errors.New("no") },
		"nothing": func(map[string]float64) (map[string]float64, error) { return nil, nil },
		"NaN":     func(v map[string]float64) (map[string]float64, error) { v["b"] = math.NaN(); return v, nil },
		"outside": func(v map[string]float64) (map[string]float64, error) { v["a"] = 17; return v, nil },
		"new name": func(v map[string]float64) (map[string]float64, error) {
			delete(v, "b")
			v["c"] = 1
			return v, nil
		},
		"one more": func(v map[string]float64) (map[string]float64, error) { v["c"] = 1; return v, nil },
	} {
		for _, e := range []Explorer{
			Mutation{Rate: 1, Rules: Rules{"a": MutateFloat}, Bounds: map[string][2]float64{"a": {1, 10}},
				Constrain: c},
			Perturbation{Parameters: map[string]Parameter{"a": {Sample: Range{Low: 1, High: 10}}}, Constrain: c},
			PB2{Bounds: map[string]Range{"a": {Low: 1, High: 10}}, Constrain: c},
		} {
			values := map[string]float64{"a": 2, "b": 3}
			if got := e.Apply(values, rand.New(rand.NewPCG(1, 1))); !maps.Equal(got, map[string]float64{"a": 2,
				"b": 3}) || !maps.Equal(got, values) {
				t.Errorf("%s, %T: got %v from %v", name, e, got, values)
			}
		}
	}
}
