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
		f := must.Get(tensor.ParseActivation(name))(t)
		must.Is(t, f.String(), cmp.Or(name, "identity"), "%q", name)
		must.Not(t, formulas[f] == nil, "TestDifferential has no formula of %q", name)
	}
	must.Refused(tensor.ParseActivation("ellu"))(t, "tensor:", "ellu", "leaky_relu", "selu")
}
