package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Every array that a description names is one of the policy's parameters, of the shape that it says.
func TestDescribeNamesParameters(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-1, 1, 2)}
	spec := Spec{Class: "Gaussian", Gaussian: DefaultGaussianConfig(), Output: "2 * tanh(ACTIONS)", Network: []Container{
		{Name: "a", Input: "OBSERVATIONS[:, 1:3]", Layers: []Layer{{Out: "5", NoBias: true}, {Out: "3"}},
			Activations: []string{"relu", "softmax"}},
		{Name: "b", Input: "concatenate([a, OBSERVATIONS])", Layers: []Layer{{Out: "6"}}},
	}}
	value := Spec{Class: "Deterministic", Output: "ONE", Network: spec.Network}
	build := map[string]func() (Policy, error){
		"spec": func() (Policy, error) { return spec.BuildPolicy(sp, 1) },
		"shared": func() (Policy, error) {
			p, v, err := BuildShared(spec, value, sp, 1)
			if err == nil {
				t.Cleanup(v.Close)
			}
			return p, err
		},
		"mlp": func() (Policy, error) {
			p, v, err := ActorCritic(sp, []int{8, 7}, "silu", DefaultGaussianConfig(), 1)
			if err == nil {
				t.Cleanup(v.Close)
			}
			return p, err
		},
	}
	for name, f := range build {
		t.Run(name, func(t *testing.T) {
			p, err := f()
			must(t, err)
			defer p.Close()
			d, err := p.(DescribedPolicy).Describe()
			must(t, err)
			d.Observation, d.Action = sp.Observation, sp.Action
			must(t, d.Validate())
			shapes := map[string][]int64{}
			for _, x := range p.Parameters() {
				shapes[x.Name] = tensor.Shape(x.Tensor)
			}
			widths, err := d.Network.Widths()
			must(t, err)
			named := 1
			if shapes[d.Distribution.LogStd] == nil {
				t.Errorf("there is no parameter %q", d.Distribution.LogStd)
			}
			for i, s := range d.Network.Steps {
				if s.Op != description.Linear {
					continue
				}
				w := shapes[s.Weight]
				if len(w) != 2 || w[0] != int64(s.Outputs) || w[1] != int64(widths[d.Network.Sources(i)[0]]) {
					t.Errorf("step %d: %q has shape %v", i, s.Weight, w)
				}
				named++
				if s.Bias != "" {
					named++
					if shapes[s.Bias] == nil {
						t.Errorf("step %d: there is no parameter %q", i, s.Bias)
					}
				}
			}
			if named != len(shapes) {
				t.Errorf("%d parameters are named, the policy has %d", named, len(shapes))
			}
		})
	}
}

// States are not there where a policy acts alone.
func TestDescribeStates(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), State: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	mlp, err := ValueMLP(sp, []int{4}, "elu", 1)
	must(t, err)
	defer mlp.Close()
	spec, err := Spec{Class: "Deterministic", Output: "tanh(ONE) * 2", Network: []Container{{Name: "net", Input: "STATES",
		Layers: []Layer{{Out: "4"}}}}}.BuildNetwork(sp, 1)
	must(t, err)
	defer spec.Close()
	for _, net := range []Network{mlp, spec} {
		if _, err := net.(Described).Describe(); !errors.Is(err, errStates) || !strings.Contains(err.Error(),
			"reads states") {
			t.Errorf("%T: %v", net, err)
		}
	}
}
