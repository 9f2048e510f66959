package rlgames_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// Isaac Lab's and IsaacGymEnvs' files become configurations that can be built in environments of their kind, or are
// refused by errors that name the key; the table in docs lists those that are refused. GORL_RLGAMES_FILES names a
// folder that has them in it: Isaac Lab's package from PyPI, unpacked, and IsaacGymEnvs' cfg/train.
func TestFiles(t *testing.T) {
	root := os.Getenv("GORL_RLGAMES_FILES")
	if root == "" {
		t.Skip("GORL_RLGAMES_FILES does not name a folder with files of rl_games")
	}
	var table strings.Builder
	table.WriteString("| file | keys |\n|---|---|\n")
	built, refused := 0, 0
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || strings.HasPrefix(d.Name(), "skrl") {
			return err
		}
		file, err := runfile.Read(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if file["params"] == nil { // something else's
			return nil
		}
		name := path
		for _, folder := range []string{"isaaclab_tasks/", "cfg/train/"} {
			if at := strings.LastIndex(path, folder); at >= 0 {
				name = path[at+len(folder):]
			}
		}
		if err := build(t, path); err != nil {
			refused++
			fmt.Fprintf(&table, "| `%s` | %s |\n", name, keys(t, err))
		} else {
			built++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files are built, %d are refused", built, refused)
	if err := docgen.Hold("../../docs/reference/rl-games.md", "rl_games files", table.String(),
		flag.Lookup("update").Value.String() == "true"); err != nil {
		t.Error(err)
	}
}

// build makes the trainer of a file. A file that is refused gives the error of the reader; what the reader lets through
// must be built.
func build(t *testing.T, path string) error {
	t.Helper()
	const many = 1 << 20 // rows of a rollout, of which a minibatch is a part
	c, err := rlgames.Read(path, rlgames.Options{})
	if err != nil { // what counts environments needs their number
		if c, err = rlgames.Read(path, rlgames.Options{NumEnvs: 8192}); err != nil {
			return err
		}
	}
	agent := c.Sections["agent"].(map[string]any)
	n := 4
	if size, ok := agent["mini_batch_size"].(int); ok { // as few environments as a minibatch of this size needs
		for n = 1; n*agent["rollouts"].(int)%size != 0; n++ {
		}
	}
	if n*agent["rollouts"].(int) > many {
		t.Errorf("%s: %d environments", path, n)
		return nil
	}
	set := spaces.Set{Observation: spaces.Unbounded(12), State: spaces.Unbounded(16), Action: spaces.Unbounded(3)}
	if strings.Contains(fmt.Sprint(c.Sections["models"]), "conv2d") {
		set.Observation = spaces.Unbounded(36, 36, 3)
	}
	if agent["class"] == "AMP" {
		set.AMPObservation = spaces.Unbounded(8)
	}
	trained := runfile.Sections(c.Sections).Of(runfile.Trainers)
	tr, err := trainers.FromDict(trained, agenttest.NewRoom(set, n),
		func(c *trainers.Config) { *c = trainers.Config{Timesteps: 1} })
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return nil
	}
	defer tr.Agent().Close()
	if err := tr.Train(t.Context()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	// With its population, where it has one.
	c, err = rlgames.Read(path, rlgames.Options{NumEnvs: n, Overrides: []string{"pbt.enabled=True"}})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return nil
	}
	if section, _ := c.Sections["pbt"].(map[string]any); len(section) > 2 { // enabled and total_steps
		if _, err := preset.FromDict(c.Sections); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	return nil
}

// keys are the keys that an error names, with their values.
func keys(t *testing.T, err error) string {
	t.Helper()
	var list []string
	var collect func(err error)
	collect = func(err error) {
		switch e := err.(type) { //nolint:errorlint // the tree of errors is walked
		case *config.Error:
			given := fmt.Sprintf("`%v`", e.Given)
			if _, ok := e.Given.(map[string]any); ok {
				given = "keys of its own"
			}
			if list = append(list, fmt.Sprintf("`%s`: %s", strings.TrimPrefix(e.Path, "params."), given)); e.Unknown {
				t.Errorf("%v", err)
			}
		case interface{ Unwrap() error }:
			collect(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, x := range e.Unwrap() {
				collect(x)
			}
		default:
			t.Errorf("%v", err)
		}
	}
	collect(err)
	return strings.Join(list, ", ")
}

// A file as Isaac Lab has them, for Pendulum.
const file = `
params:
  seed: 42
  algo: {name: a2c_continuous}
  model: {name: continuous_a2c_logstd}
  network:
    name: actor_critic
    separate: False
    space: {continuous: {fixed_sigma: True, sigma_init: {name: const_initializer, val: 0}}}
    mlp: {units: [16, 16], activation: elu, initializer: {name: default}}
  config:
    name: pendulum
    device: cuda:0
    normalize_input: True
    normalize_value: True
    value_bootstrap: True
    gamma: 0.95
    tau: 0.95
    learning_rate: 1e-3
    lr_schedule: adaptive
    kl_threshold: 0.008
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
	for _, note := range c.Notes {
		fmt.Println(note)
	}
	environment := c.Sections["environment"].(map[string]any)
	environment["id"], environment["num_envs"] = "Pendulum", 4
	delete(c.Sections, "environment") // of it trainers know nothing
	env, err := catalog.New(environment)
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
	// these keys have no meaning for gorl: config.device
	// PPO <nil> 160
}

// ExampleConvert names every key that is wrong.
func ExampleConvert() {
	file := map[string]any{"params": map[string]any{"algo": map[string]any{"name": "ddpg"}}}
	_, err := rlgames.Convert(file, rlgames.Options{})
	fmt.Println(err)
	// Output:
	// rlgames: "params.algo.name" is "ddpg": gorl has PPO (a2c_continuous) and AMP (amp_continuous)
}
