package trainers_test

import (
	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/trainers"
)

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
