package trainers_test

import (
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
