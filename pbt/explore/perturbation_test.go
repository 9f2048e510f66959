package explore

import (
	"math"
	"testing"
)

func TestPerturbationValidate(t *testing.T) {
	good := map[string]Parameter{"a": {Sample: Range{Low: 0, High: 1}}}
	for name, p := range map[string]Perturbation{
		"probability":     {ResampleProbability: 1.5, Parameters: good},
		"NaN":             {ResampleProbability: math.NaN(), Parameters: good},
		"factor zero":     {Factors: [2]float64{1.2, 0}, Parameters: good},
		"factor infinite": {Factors: [2]float64{math.Inf(1), 0.8}, Parameters: good},
		"unknown":         {Parameters: map[string]Parameter{"b": good["a"]}},
		"nothing":         {Parameters: map[string]Parameter{"a": {Min: 0, Max: 1}}},
		"broken integer":  {Parameters: map[string]Parameter{"a": {Rule: Integer, Sample: Range{Low: 0.5, High: 4}}}},
		"out of bounds":   {Parameters: map[string]Parameter{"a": {Sample: Range{Low: 0, High: 2}, Max: 1}}},
	} {
		if err := p.Validate([]string{"a"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := DefaultPerturbation(good).Validate([]string{"a"}); err != nil {
		t.Error(err)
	}
}
