package models

import (
	"errors"
	"strings"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
)

// States are not there where a policy acts alone.
func TestDescribeStates(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	mlp := tensortest.Opened[*Net](t)(RecurrentValue(sp, RecurrentLayer{}, []int{4}, "elu", 1))
	spec := check.Get(Spec{Class: "Deterministic", Output: "tanh(ONE) * 2", Network: []Container{{Name: "net",
		Input:  "STATES",
		Layers: []Layer{{Out: "4"}}}}}.BuildNetwork(sp, 1))(t)
	defer spec.Close()
	for _, net := range []Network{mlp, spec} {
		if _, err := net.(Described).Describe(); !errors.Is(err, errStates) || !strings.Contains(err.Error(),
			"reads states") {
			t.Errorf("%T: %v", net, err)
		}
	}
}
