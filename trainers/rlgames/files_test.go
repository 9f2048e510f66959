package rlgames_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// A file as Isaac Lab has them, for Pendulum.
const file = `
params:
  algo: {name: a2c_continuous}
  model: {name: continuous_a2c_logstd}
  network:
    name: actor_critic
    space: {continuous: {fixed_sigma: True, sigma_init: {name: const_initializer, val: 0}}}
    mlp: {units: [16, 16], activation: elu, initializer: {name: default}}
  config:
    name: pendulum
    device: cuda:0
    value_bootstrap: True
    gamma: 0.95
    tau: 0.95
    learning_rate: 1e-3
    e_clip: 0.2
    clip_value: True
    entropy_coef: 0.0
    critic_coef: 2
    truncate_grads: True
    grad_norm: 1.0
    horizon_length: 16
    minibatch_size: 32
    mini_epochs: 4
    max_epochs: 100
`

// ExampleRead trains for 10 updates what a file of rl_games describes.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "rlgames")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rl_games_ppo_cfg.yaml")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	c, err := rlgames.Read(path, rlgames.Options{NumEnvs: 4, Overrides: []string{"params.config.max_epochs=10"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Notes)
	delete(c.Sections, "environment") // of it trainers know nothing
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	trainer, err := trainers.FromDict(c.Sections, env, func(cfg *trainers.Config) {
		*cfg = trainers.Config{Timesteps: cfg.Timesteps} // write nothing
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Agent().Close()
	fmt.Println(trainer.Agent().Name(), trainer.Train(context.Background()), trainer.Timestep())
	// Output:
	// [these keys have no meaning for gorl: config.device]
	// PPO <nil> 160
}
