// Command own_command is gorl with an environment, a network and a mutation rule of its own: all subcommands know
// them, and so do help and completion.
//
//	go build ./snippets/own_command
//	./own_command list
//	./own_command train --config snippets/own_command/push.yaml
//	./own_command eval runs/push
//
// population.yaml beside it trains a population in one process with the same command; with its section launcher,
// gorl-pbt run starts this program for every member.
package main

import (
	"log"

	"github.com/gorl-dev/gorl/cli"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/tensor"
)

func main() {
	defaults := pushSettings{Batch: catalog.Defaults(), Friction: 0.5, Steps: 60}
	catalog.Register("Push", defaults, func(s pushSettings) (envs.Env, error) {
		create := func(int) (envs.Single, error) { return &push{pushSettings: s}, nil }
		env, err := wrappers.NewParallel(s.NumEnvs, create, wrappers.ParallelOptions{Seed: s.Seed})
		if err != nil {
			return nil, err
		}
		return env, nil
	})
	models.Register("Skip", skipSettings{Hidden: []int{32, 32}}, newSkip)
	rule := func(value float64, in explore.RuleInput) float64 {
		if in.Uniform.Float64() < 0.5 {
			return value / 2
		}
		return value * 2
	}
	if err := explore.RegisterRule(explore.NewRule("halve_or_double", rule)); err != nil {
		log.Fatal(err)
	}
	cli.Main()
}

// skipSettings are what a file says of a network of class Skip.
type skipSettings struct {
	// Hidden are the widths of the hidden layers.
	Hidden []int `yaml:"hidden" config:"min=1,minlen=1"`
}

// skip is a network of one's own: the sum of a perceptron and of a linear layer beside it.
type skip struct{ deep, direct *models.Net }

func newSkip(settings skipSettings, role models.Role) (models.Network, error) {
	in := role.Spaces.Observation.Width()
	deep, err := models.NewMLP(models.MLPConfig{
		Inputs: in, Outputs: role.Outputs, Hidden: settings.Hidden, Activation: "tanh", OutputGain: 0.01,
	}, role.Seed)
	if err != nil {
		return nil, err
	}
	direct, err := models.NewMLP(models.MLPConfig{Inputs: in, Outputs: role.Outputs, OutputGain: 0.01}, role.Seed+1)
	if err != nil {
		deep.Close()
		return nil, err
	}
	return &skip{deep, direct}, nil
}

// Forward implements models.Network.
func (n *skip) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	return s.Add(n.deep.Forward(s, in), n.direct.Forward(s, in))
}

// Parameters implements models.Network. Names must differ: they are those of arrays in checkpoints.
func (n *skip) Parameters() []tensor.Parameter {
	list := append([]tensor.Parameter(nil), n.deep.Parameters()...)
	for _, p := range n.direct.Parameters() {
		list = append(list, tensor.Parameter{Name: "skip." + p.Name, Tensor: p.Tensor})
	}
	return list
}

// Close implements models.Network.
func (n *skip) Close() {
	n.deep.Close()
	n.direct.Close()
}
