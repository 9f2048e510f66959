package trainers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/trainers"
)

// The same from a dictionary.
func ExampleFromDict() {
	env := exampleEnv()
	t, err := trainers.FromDict(map[string]any{
		"seed":   1,
		"models": map[string]any{"mlp": []int{32}, "activation": "tanh"},
		"agent":  map[string]any{"class": "PPO", "rollouts": 16, "learning_rate": 1e-3},
		"trainer": map[string]any{"timesteps": 32, "write_interval": 0, "checkpoint_interval": 0, "directory": "",
			"close_environment_at_exit": true},
	}, env)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Agent().Close()
	defer t.Close()
	fmt.Println(t.Train(context.Background()), t.Timestep(), t.Agent().Name())
	// Output: <nil> 32 PPO
}

// A file is read as skrl's Runner reads it. What is wrong in it is named, with the nearest key there is.
func ExampleFromFile() {
	env := exampleEnv()
	defer env.Close()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cartpole.yaml")
	text := "models: {mlp: [32], activation: tanh}\nagent: {class: PPO, roluots: 16}\ntrainer: {timesteps: 32}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = trainers.FromFile(path, env)
	fmt.Println(strings.Replace(err.Error(), path, "cartpole.yaml", 1))
	// Output: cartpole.yaml:2: unknown key agent.roluots (given 16); did you mean "agent.rollouts"?
}

// A program that is both the launcher and the members of a population.
func ExampleNewTrainee() {
	launch.Main(func(m pbt.Member) (pbt.Trainee, error) {
		env, err := classic.NewPendulum(classic.Config{NumEnvs: 16, Seed: m.Seed})
		if err != nil {
			return nil, err
		}
		return trainers.NewTrainee(env, func() (agents.Agent, error) {
			return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"),
				Seed: m.Seed})
		}, trainers.Config{Seed: m.Seed})
	})
}
