package tensor_test

import (
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
