package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

const childDir = "GORL_TRAINERS_TEST_CHILD"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, trainInFolder(dir, 1_000_000, func(tr *trainers.Trainer) error {
			fmt.Println(tr.Timestep())
			return nil
		}))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newPPO(env envs.Env) (agents.Agent, error) {
	return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"),
		Dict: map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 2}, Seed: 1})
}

// killed is the configuration of the run that is killed.
func killed(dir string, timesteps int) trainers.Config {
	return trainers.Config{Timesteps: timesteps, Directory: dir, Name: "run", Resume: true, SaveBuffers: true, Keep: 3, WriteInterval: every(7), CheckpointInterval: every(3)}
}

func trainInFolder(dir string, timesteps int, onStep func(tr *trainers.Trainer) error) error {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		return err
	}
	defer env.Close()
	agent, err := newPPO(env)
	if err != nil {
		return err
	}
	defer agent.Close()
	cfg := killed(dir, timesteps)
	if onStep != nil {
		cfg.Callbacks = after(onStep)
	}
	tr, err := trainers.New(env, agent, cfg)
	if err != nil {
		return err
	}
	return errors.Join(tr.Train(context.Background()), tr.Close())
}
