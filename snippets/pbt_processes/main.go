// Command pbt_processes trains a population of processes: it starts itself once for every member, and the members
// share nothing but a folder. Those that fall behind continue from the weights of those that lead.
//
//	go run ./snippets/pbt_processes -config snippets/pbt_processes/pendulum.yaml
//
// Ctrl-C stops it, the same command continues. The file also makes it a job array for Slurm or Kubernetes; see
// gorl-pbt.
package main

import (
	"flag"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

func main() {
	tensor.TuneAllocator()
	envs := flag.Int("envs", 16, "pendulums of each member")
	rollouts := flag.Int("rollouts", 128, "timesteps between updates")
	launch.Main(func(m pbt.Member) (pbt.Trainee, error) { return member(*envs, *rollouts, m.Seed) })
}

// member builds one member's trainer, with the settings that all members share.
func member(numEnvs, rollouts int, seed int64) (pbt.Trainee, error) {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: numEnvs, Seed: seed})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(),
			Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"),
			Dict: map[string]any{
				"rollouts": rollouts, "learning_epochs": 10, "mini_batches": 16, "value_loss_scale": 0.5,
				"rewards_shaper_scale":     0.1,
				"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			},
			Seed: seed,
		})
	}, trainers.Config{Seed: seed})
}
