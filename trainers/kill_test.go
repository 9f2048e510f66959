package trainers_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/trainers"
)

const childDir = "GORL_TRAINERS_TEST_CHILD"

// TestMain lets the test binary be a process that trains until it is killed, and prints its timesteps.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		env := exampleEnv()
		cfg := killed(dir, 1_000_000)
		cfg.Callbacks = after(func(tr *trainers.Trainer) error {
			fmt.Println(tr.Timestep())
			return nil
		})
		tr, err := trainers.New(env, exampleAgent(env), cfg)
		if err == nil {
			err = tr.Train(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(tensortest.Run(m))
}

func newPPO(env envs.Env) (agents.Agent, error) {
	return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"),
		Dict: map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 2}, Seed: 1})
}

// killed is the configuration of the run that is killed.
func killed(dir string, timesteps int) trainers.Config {
	return trainers.Config{Timesteps: timesteps, Directory: dir, Name: "run", Resume: true, SaveBuffers: true, Keep: 3,
		WriteInterval: every(7), CheckpointInterval: every(3)}
}
