package tensor_test

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

func TestActivationNames(t *testing.T) {
	for _, name := range tensor.ActivationNames() {
		f, err := tensor.ParseActivation(name)
		if err != nil || formulas[f] == nil {
			t.Fatalf("%s: %v, or TestDifferential has no formula", name, err)
		}
		if again, err := tensor.ParseActivation(f.String()); err != nil || again != f {
			t.Errorf("%s is called %s, which reads as %v (%v)", name, f, again, err)
		}
	}
	if f, err := tensor.ParseActivation("ELU"); err != nil || f != tensor.Elu {
		t.Errorf("ELU reads as %v, %v", f, err)
	}
	_, err := tensor.ParseActivation("ellu")
	wantError(t, err, "tensor:", "ellu", "leaky_relu", "selu")
}

func TestGaussianLogProb(t *testing.T) {
	s := scope(t)
	action, mean, logStd := numbers(1, 6), numbers(2, 6), numbers(3, 3)
	want := make([]float64, 6)
	for i := range want {
		sigma := math.Exp(logStd[i%3])
		z := (action[i] - mean[i]) / sigma
		want[i] = math.Log(math.Exp(-z*z/2) / (sigma * math.Sqrt(2*math.Pi)))
	}
	got := s.GaussianLogProb(tensor.From(s, action, 2, 3), tensor.From(s, mean, 2, 3), tensor.From(s, logStd))
	wantTensor(t, "GaussianLogProb", s, got, []int64{2, 3}, want, 1e-12)
}
