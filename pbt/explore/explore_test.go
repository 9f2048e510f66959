package explore

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestConstraints(t *testing.T) {
	for _, test := range []struct {
		name    string
		c       Constraint
		a, b    float64
		wantA   float64
		wantB   float64
		wantErr string
	}{
		{"at most leaves", AtMost("a", "b"), 2, 3, 2, 3, ""},
		{"multiple up", Multiple("a", "b"), 50, 32, 64, 32, ""},
		{"multiple down", Multiple("a", "b"), 47, 32, 32, 32, ""},
		{"multiple never zero", Multiple("a", "b"), 3, 32, 32, 32, ""},
		{"multiple of zero", Multiple("a", "b"), 3, 0, 0, 0, "cannot be made a multiple of b"},
		{"all", AllOf(AtMost("b", "a"), Multiple("a", "b")), 50, 80, 50, 50, ""},
		{"all up to an error", AllOf(AtMost("b", "c"), Multiple("a", "b")), 50, 80, 0, 0, `"c"`},
		{"none", AllOf(), 1, 2, 1, 2, ""},
	} {
		got, err := test.c(map[string]float64{"a": test.a, "b": test.b})
		if test.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("%s: the error is %v, want one about %s", test.name, err, test.wantErr)
			}
			continue
		}
		if want := map[string]float64{"a": test.wantA, "b": test.wantB}; err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", test.name, got, err, want)
		}
	}
}

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
			return v,
				nil
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
