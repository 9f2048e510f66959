package cli

import (
	"cmp"
	"embed"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// examples are configurations to begin with.
//
//go:embed examples/*.yaml
var examples embed.FS

func exampleNames() []string { return namesIn(examples, "examples") }

// namesIn returns the names of the files in an embedded folder, without their extensions.
func namesIn(files embed.FS, folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // they are in the binary
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	}
	return names
}

func example(name string) ([]byte, error) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		return nil, unknownExample(name, exampleNames())
	}
	return text, nil
}

// unknownExample returns the error of a name that is none of names.
func unknownExample(name string, names []string) error {
	return commandline.Usagef("--example %s: %s", name, config.Among(name, names))
}

// policies are trained policies of examples, written by gorl export. policies/README.md says how they were trained.
//
//go:embed policies/*.safetensors
var policies embed.FS

// policyNames returns the names of the examples that have a policy.
func policyNames() []string { return namesIn(policies, "policies") }

// examplePolicy returns the configuration and the policy of an example.
func examplePolicy(name string) (runfile.Sections, *infer.Policy, error) {
	data, err := policies.ReadFile(path.Join("policies", name+".safetensors"))
	if err != nil {
		return nil, nil, unknownExample(name, policyNames())
	}
	text, err := example(name)
	if err != nil {
		return nil, nil, err
	}
	c, err := runfile.Parse(text)
	policy, failed := infer.Decode(data)
	return c, policy, cmp.Or(err, failed)
}

// policyActs returns a function that acts by a policy, in an environment of the policy's spaces.
func (f *viewFlags) policyActs(policy *infer.Policy, env envs.Env) (func(*envs.Step) ([]float32, error), error) {
	got, want := env.Spaces(), policy.Spaces()
	if !got.Observation.Equal(want.Observation) || !got.Action.Equal(want.Action) {
		return nil, commandline.Usagef("--set has changed the environment of --example %s to observations %v and "+
			"actions %v; its policy was trained for %v and %v", f.example, got.Observation, got.Action,
			want.Observation, want.Action)
	}
	actions, rng := make([]float32, want.Action.Width()), rand.New(rand.NewPCG(uint64(f.seed), 0))
	return func(step *envs.Step) ([]float32, error) {
		var err error
		if f.stochastic {
			err = policy.Sample(step.Observations, actions, rng)
		} else {
			err = policy.Act(step.Observations, actions)
		}
		if err != nil {
			return nil, fmt.Errorf("the policy of --example %s: %w", f.example, err)
		}
		return actions, nil
	}, nil
}
