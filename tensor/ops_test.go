package tensor_test

import (
	"cmp"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

func TestActivationNames(t *testing.T) {
	for _, name := range append(description.Activations(), "") {
		f, err := tensor.ParseActivation(name)
		if err != nil || formulas[f] == nil || f.String() != cmp.Or(name, "identity") {
			t.Errorf("%q reads as %v (%v), or TestDifferential has no formula", name, f, err)
		}
	}
	must.Refused(tensor.ParseActivation("ellu"))(t, "tensor:", "ellu", "leaky_relu", "selu")
}
