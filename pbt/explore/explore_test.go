package explore

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestBadConstraintsKeepValues: what a constraint returns is not trusted.
func TestBadConstraintsKeepValues(t *testing.T) {
	for name, c := range map[string]Constraint{
		"error":   func(v map[string]float64) (map[string]float64, error) { v["a"] = 7; return v, errors.New("no") },
		"NaN":     func(v map[string]float64) (map[string]float64, error) { v["b"] = math.NaN(); return v, nil },
		"outside": func(v map[string]float64) (map[string]float64, error) { v["a"] = 17; return v, nil },
		"new name": func(map[string]float64) (map[string]float64, error) {
			return map[string]float64{"a": 2, "c": 1}, nil
		},
	} {
		for _, e := range []Explorer{
			Mutation{Rate: 1, Rules: Rules{"a": MutateFloat}, Bounds: map[string][2]float64{"a": {1, 10}},
				Constrain: c},
			Perturbation{Parameters: map[string]Parameter{"a": {Sample: Range{Low: 1, High: 10}}}, Constrain: c},
			PB2{Bounds: map[string]Range{"a": {Low: 1, High: 10}}, Constrain: c},
		} {
			values := map[string]float64{"a": 2, "b": 3}
			got := e.Apply(values, rand.New(rand.NewPCG(1, 1)))
			must.Match(t, map[string]float64{"a": 2, "b": 3}, got, "%s, %T of %v", name, e, values)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	bounds := func(r Range) PB2 { return PB2{Bounds: map[string]Range{"a": r}} }
	one := func(p Parameter) Perturbation { return DefaultPerturbation(map[string]Parameter{"a": p}) }
	good := Range{Low: 0, High: 1}
	factorZero := one(Parameter{Sample: good})
	factorZero.Factors[1] = 0
	for name, e := range map[string]Explorer{
		"no bounds":  PB2{},
		"descending": bounds(Range{Low: 1, High: 0}), "NaN": bounds(Range{Low: math.NaN(), High: 1}),
		"logarithm of zero": bounds(Range{Low: 0, High: 1, Log: true}),
		"factor zero":       factorZero,
		"unknown key":       DefaultPerturbation(map[string]Parameter{"c": {Sample: good}}),
		"nothing":           one(Parameter{Min: 0, Max: 1}),
		"broken integer":    one(Parameter{Rule: Integer, Sample: Range{Low: 0.5, High: 4}}),
		"out of bounds":     one(Parameter{Sample: Range{Low: 0, High: 2}, Max: 1}),
	} {
		if err := e.Validate([]string{"a", "b"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
