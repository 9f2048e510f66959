package models_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func ExampleRegister() {
	type settings struct {
		Width int `yaml:"width" config:"min=1"`
	}
	models.Register("TwoLayers", settings{Width: 16}, func(s settings, role models.Role) (models.Network, error) {
		return models.NewMLP(models.MLPConfig{Inputs: role.Spaces.Observation.Width(), Outputs: role.Outputs,
			Hidden: []int{s.Width}}, role.Seed)
	})
	spec, err := models.ParseSpec(map[string]any{"class": "TwoLayers", "width": 32})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := spec.BuildPolicy(spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer policy.Close()
	for _, p := range policy.Parameters() {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// log_std_parameter [2]
	// net.0.weight [32 3]
	// net.0.bias [32]
	// net.2.weight [2 32]
	// net.2.bias [2]
}

func ExampleNewPolicy() {
	action := spaces.NewBox(-1, 1, 6)
	dist, err := models.NewGaussian(action, models.DefaultGaussianConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := models.NewMLP(models.MLPConfig{Inputs: 17, Outputs: dist.Outputs(), Hidden: []int{64}, Activation: "tanh"},
		1)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := models.NewPolicy(net, dist)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer policy.Close()
	gen, err := tensor.NewGenerator(1, tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gen.Close()
	s := tensor.NoGrad()
	defer s.Close()
	a := policy.Sample(s, models.Inputs{Observations: s.Zeros(3, 17)}, gen)
	fmt.Println(tensor.Shape(a.Actions), tensor.Shape(a.LogProb), s.Err())
	// Output: [3 6] [3 1] <nil>
}

// A policy that sees its first three observations apart from the others.
func ExampleParseSpec() {
	spec, err := models.ParseSpec(map[string]any{
		"class":           "GaussianMixin",
		"initial_log_std": -1,
		"network": []any{
			map[string]any{"name": "body", "input": "OBSERVATIONS[:, 0:3]", "layers": []any{8}, "activations": "elu"},
			map[string]any{"name": "net", "input": "concatenate([body, OBSERVATIONS[:, 3:]])", "layers": []any{32, 16},
				"activations": "elu"},
		},
		"output": "tanh(ACTIONS)",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sp := spaces.Set{Observation: spaces.Unbounded(17), Action: spaces.NewBox(-1, 1, 6)}
	policy, err := spec.BuildPolicy(sp, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer policy.Close()
	for _, p := range policy.Parameters() {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// log_std_parameter [6]
	// body.0.weight [8 3]
	// body.0.bias [8]
	// net.0.weight [32 22]
	// net.0.bias [32]
	// net.2.weight [16 32]
	// net.2.bias [16]
	// net.4.weight [6 16]
	// net.4.bias [6]
}

// The same in YAML: a part by its name, a picture permuted and convolved, and joints beside it.
func ExampleParseSpec_pictures() {
	dict := map[string]any{
		"class": "Gaussian",
		"network": []any{
			map[string]any{"name": "cnn", "input": `permute(OBSERVATIONS["camera"], (0, 3, 1, 2)) / 255`, "activations": "relu",
				"layers": []any{map[string]any{"conv2d": []any{16, 8, 4}}, map[string]any{"conv2d": []any{32, 4, 2}}, "flatten",
					128}},
			map[string]any{"name": "net", "input": `concatenate([cnn, OBSERVATIONS["joints"]])`, "layers": []any{64},
				"activations": "elu"},
		},
		"output": "ACTIONS",
	}
	spec, err := models.ParseSpec(dict)
	if err != nil {
		panic(err)
	}
	observation := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(48, 64, 3),
		"joints": spaces.Unbounded(7)})
	policy, err := spec.BuildPolicy(spaces.Set{Observation: observation, Action: spaces.NewBox(-1, 1, 2)}, 1)
	if err != nil {
		panic(err)
	}
	defer policy.Close()
	for _, p := range policy.Parameters()[1:4] {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// cnn.0.weight [16 3 8 8]
	// cnn.0.bias [16]
	// cnn.2.weight [32 16 4 4]
}

// A GRU before the hidden layers: the network is given the state that it returned.
func ExampleGRU() {
	net, err := models.NewMLP(models.MLPConfig{Inputs: 3, Outputs: 1, Recurrent: models.GRU(8), Hidden: []int{16},
		Activation: "elu"}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer net.Close()
	for _, p := range net.Parameters()[:5] {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	s := tensor.NoGrad()
	defer s.Close()
	in := models.Inputs{Observations: s.Ones(2, 3)} // two environments, without a state at first
	for range 3 {
		var out tensor.Tensor
		out, in.Hidden.State = net.ForwardHidden(s, in)
		fmt.Println(tensor.Shape(out), tensor.Shape(in.Hidden.State))
	}
	// Output:
	// gru.weight_ih_l0 [24 3]
	// gru.weight_hh_l0 [24 8]
	// gru.bias_ih_l0 [24]
	// gru.bias_hh_l0 [24]
	// net.0.weight [16 8]
	// [2 1] [2 8]
	// [2 1] [2 8]
	// [2 1] [2 8]
}
