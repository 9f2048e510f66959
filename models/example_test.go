package models_test

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
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
		panic(err)
	}
	policy, err := spec.BuildPolicy(spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}, 1)
	if err != nil {
		panic(err)
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
		panic(err)
	}
	sp := spaces.Set{Observation: spaces.Unbounded(17), Action: spaces.NewBox(-1, 1, 6)}
	policy, err := spec.BuildPolicy(sp, 1)
	if err != nil {
		panic(err)
	}
	defer policy.Close()
	for _, p := range policy.Parameters()[:4] {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// log_std_parameter [6]
	// body.0.weight [8 3]
	// body.0.bias [8]
	// net.0.weight [32 22]
}

// A GRU before the hidden layers: the network is given the state that it returned.
func ExampleGRU() {
	net, err := models.NewMLP(models.MLPConfig{Inputs: 3, Outputs: 1, Recurrent: models.GRU(8), Hidden: []int{16},
		Activation: "elu"}, 1)
	if err != nil {
		panic(err)
	}
	defer net.Close()
	s := tensor.NoGrad()
	defer s.Close()
	in := models.Inputs{Observations: s.Ones(2, 3)} // two environments, without a state at first
	for range 3 {
		var out tensor.Tensor
		out, in.Hidden.State = net.ForwardHidden(s, in)
		fmt.Println(tensor.Shape(out), tensor.Shape(in.Hidden.State))
	}
	// Output:
	// [2 1] [2 8]
	// [2 1] [2 8]
	// [2 1] [2 8]
}

// A robot that sees a camera and its joints.
func ExampleNewCNN() {
	cfg := models.DefaultCNN()
	cfg.Space = spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(84, 84, 3),
		"joints": spaces.Unbounded(7)})
	cfg.Outputs, cfg.Hidden = 4, []int{64}
	network, err := models.NewCNN(cfg, 1)
	if err != nil {
		panic(err)
	}
	defer network.Close()
	for _, p := range network.Parameters() {
		if strings.HasSuffix(p.Name, ".weight") {
			fmt.Println(p.Name, tensor.Shape(p.Tensor))
		}
	}
	// Output:
	// picture_camera.0.weight [32 3 8 8]
	// picture_camera.2.weight [64 32 4 4]
	// picture_camera.4.weight [64 64 3 3]
	// picture_camera.7.weight [512 3136]
	// net.0.weight [64 519]
	// net.2.weight [4 64]
}

func ExampleNewDistribution() {
	for _, action := range []spaces.Space{spaces.NewBox(-1, 1, 6), spaces.NewDiscrete(4),
		spaces.NewMultiDiscrete(2, 3)} {
		dist, err := models.NewDistribution(action, models.DefaultGaussianConfig())
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %T with %d outputs\n", action, dist, dist.Outputs())
		dist.Close()
	}
	// Output:
	// Box(6): *models.Gaussian with 6 outputs
	// Discrete(4): *models.Categorical with 4 outputs
	// MultiDiscrete(2, 3): *models.Categorical with 5 outputs
}

func ExampleNewEvolvable() {
	observation := spaces.NewDict(map[string]spaces.Space{"gripper": spaces.NewDiscrete(2),
		"joints": spaces.Unbounded(7)})
	a, err := description.NewArchitecture(observation, nil, 8, []int{16}, "relu")
	if err != nil {
		panic(err)
	}
	network, err := models.NewEvolvable(models.EvolvableConfig{Architecture: a, Outputs: 3}, 1)
	if err != nil {
		panic(err)
	}
	defer network.Close()
	for _, p := range network.Parameters() {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// encoder.gripper.out.weight [8 2]
	// encoder.gripper.out.bias [8]
	// encoder.joints.out.weight [8 7]
	// encoder.joints.out.bias [8]
	// head.0.weight [16 16]
	// head.0.bias [16]
	// head.out.weight [3 16]
	// head.out.bias [3]
}

func ExampleNewMLP() {
	net, err := models.NewMLP(models.MLPConfig{Inputs: 17, Outputs: 1, Hidden: []int{128, 64}, Activation: "elu"}, 1)
	if err != nil {
		panic(err)
	}
	defer net.Close()
	for _, p := range net.Parameters() {
		fmt.Println(p.Name, tensor.Shape(p.Tensor))
	}
	// Output:
	// net.0.weight [128 17]
	// net.0.bias [128]
	// net.2.weight [64 128]
	// net.2.bias [64]
	// net.4.weight [1 64]
	// net.4.bias [1]
}

func ExampleNewPolicy() {
	action := spaces.NewBox(-1, 1, 6)
	dist, err := models.NewGaussian(action, models.DefaultGaussianConfig())
	if err != nil {
		panic(err)
	}
	net, err := models.NewMLP(models.MLPConfig{Inputs: 17, Outputs: dist.Outputs(), Hidden: []int{64}}, 1)
	if err != nil {
		panic(err)
	}
	policy, err := models.NewPolicy(net, dist)
	if err != nil {
		panic(err)
	}
	defer policy.Close()
	gen, err := tensor.NewGenerator(1, tensor.CPU)
	if err != nil {
		panic(err)
	}
	defer gen.Close()
	s := tensor.NoGrad()
	defer s.Close()
	a := policy.Sample(s, models.Inputs{Observations: s.Zeros(3, 17)}, gen)
	fmt.Println(tensor.Shape(a.Actions), tensor.Shape(a.LogProb), s.Err())
	// Output: [3 6] [3 1] <nil>
}

func ExampleNewShared() {
	mlp := func(in, out int, seed int64) models.Network {
		m, err := models.NewMLP(models.MLPConfig{Inputs: in, Outputs: out, OutputActivation: "tanh"}, seed)
		if err != nil {
			panic(err)
		}
		return m
	}
	dist, err := models.NewCategorical(spaces.NewDiscrete(2))
	if err != nil {
		panic(err)
	}
	shared, err := models.NewShared(mlp(4, 32, 1), mlp(32, 2, 2), mlp(32, 1, 3), dist)
	if err != nil {
		panic(err)
	}
	policy, value := shared.Policy(), shared.Value()
	defer policy.Close()
	defer value.Close()
	fmt.Println(policy.ActionWidth(), len(value.Parameters()))
	// Output: 1 4
}
