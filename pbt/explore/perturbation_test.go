package explore

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPerturbationStaysInside walks for long, within bounds, and as the original does, without.
func TestPerturbationStaysInside(t *testing.T) {
	p := DefaultPerturbation(map[string]Parameter{
		"rate":   {Sample: Range{Low: 1e-5, High: 1e-2, Log: true}, Outside: OutsideReflect},
		"epochs": {Rule: Integer, Sample: Range{Low: 1, High: 8}},
		"width":  {Choices: []float64{32, 64, 256}},
	})
	p.ResampleProbability = 0
	keys := []string{"rate", "epochs", "width", "other"}
	if err := p.Validate(keys); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := map[string]float64{"rate": 1e-3, "epochs": 2, "width": 64, "other": 9}
	moves := make(map[string][2]int)
	for range 3000 {
		next := p.Apply(values, rng)
		for key, v := range next {
			m := moves[key]
			if v < values[key] {
				m[0]++
			} else if v > values[key] {
				m[1]++
			}
			moves[key] = m
		}
		if r, e := next["rate"], next["epochs"]; r < 1e-5 || r > 1e-2 || e < 1 || e > 8 || e != math.Trunc(e) ||
			next["other"] != 9 {
			t.Fatalf("%v became %v", values, next)
		}
		values = next
	}
	for _, key := range keys[:3] {
		if m := moves[key]; m[0] < 700 || m[1] < 700 {
			t.Errorf("%s went down %d times and up %d times of 3000", key, m[0], m[1])
		}
	}
	// The original's whole numbers only go down, to 0.
	p.Strict = true
	values = map[string]float64{"rate": 1e-3, "epochs": 4, "width": 64}
	for range 100 {
		next := p.Apply(values, rng)
		if next["epochs"] > values["epochs"] {
			t.Fatalf("strictly, %v became %v", values["epochs"], next["epochs"])
		}
		values = next
	}
	if values["epochs"] != 0 {
		t.Errorf("strictly, 4 became %v at last, want 0", values["epochs"])
	}
}

func TestPerturbationResamplesAQuarter(t *testing.T) {
	p := DefaultPerturbation(map[string]Parameter{"a": {Sample: Range{Low: 0, High: 1}}})
	rng := rand.New(rand.NewPCG(1, 2))
	counts := make(map[string]int)
	for range 4000 {
		switch v := p.Apply(map[string]float64{"a": 0.5}, rng)["a"]; v {
		case 0.5 * 1.2:
			counts["first"]++
		case 0.5 * 0.8:
			counts["second"]++
		default:
			counts["resampled"]++
		}
	}
	// Five standard deviations are 137 of the resampled and 153 of the others.
	if r, a, b := counts["resampled"], counts["first"], counts["second"]; r < 863 || r > 1137 || a < 1347 || a > 1653 ||
		b < 1347 || b > 1653 {
		t.Errorf("of 4000: %v, want 1000 and twice 1500", counts)
	}
}

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
