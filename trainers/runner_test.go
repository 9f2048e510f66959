package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// ppoYAML is a configuration of PPO in skrl's words, with small networks.
const ppoYAML = `
seed: 42
models:
  separate: true
  policy:
    class: GaussianMixin
    clip_actions: false
    clip_log_std: true
    reduction: sum
    initial_log_std: 0.0
    network: [{name: net, input: STATES, layers: [16, 8], activations: elu}]
    output: 2 * tanh(ACTIONS)
  value:
    class: DeterministicMixin
    network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: elu}]
    output: ONE
memory: {class: RandomMemory, memory_size: -1}
agent:
  class: PPO
  rollouts: 8
  learning_epochs: 2
  mini_batches: 2
  lambda: 0.95
  learning_rate: 5.0e-04
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs: {kl_threshold: 0.008}
  state_preprocessor: RunningStandardScaler
  state_preprocessor_kwargs: null
  random_timesteps: 0
  rewards_shaper_scale: null
  experiment: {directory: "DIRECTORY", experiment_name: "run", write_interval: 8, checkpoint_interval: 16,
               store_separately: false, wandb: false, wandb_kwargs: {}}
trainer: {class: SequentialTrainer, timesteps: 24, headless: true, close_environment_at_exit: true}
`

// ampYAML is a configuration of AMP in skrl's words.
const ampYAML = `
seed: 42
models:
  separate: SEPARATE
  policy: {class: GaussianMixin, initial_log_std: -2.9, fixed_log_std: true, output: ACTIONS,
           network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]}
  value: {class: DeterministicMixin, output: ONE,
          network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]}
  discriminator: {class: DeterministicMixin, output: ONE,
                  network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]}
memory: {class: RandomMemory, memory_size: 8}
motion_dataset: {class: RandomMemory, memory_size: 256}
reply_buffer:   {class: RandomMemory, memory_size: 100}
agent:
  class: AMP
  rollouts: 8
  learning_epochs: 2
  mini_batches: 2
  amp_observation_preprocessor: RunningStandardScaler
  amp_observation_preprocessor_kwargs: null
  amp_batch_size: 32
  task_reward_scale: 0.5
  experiment: {directory: "DIRECTORY", experiment_name: "", write_interval: auto, checkpoint_interval: auto}
trainer: {class: SequentialTrainer, timesteps: 24, close_environment_at_exit: true}
`

func pendulum(t testing.TB) envs.Env {
	t.Helper()
	env := value(classic.NewPendulum(classic.Config{NumEnvs: 4}))(t)
	t.Cleanup(func() { env.Close() })
	return env
}

// trained trains what a document describes, closes it and returns the first layer of the policy.
func trained(t *testing.T, tr *trainers.Trainer) []float32 {
	t.Helper()
	defer tr.Agent().Close()
	must(t, errors.Join(tr.Train(context.Background()), tr.Close()))
	snap := agenttest.Snapshot(t, tr.Agent().(agenttest.Agent))
	must(t, snap.CheckFinite())
	if updates := value(snap.Int("updates"))(t); updates != 3 {
		t.Errorf("%d updates, want 3", updates)
	}
	for _, name := range []string{"policy/net.0.weight", "policy/trunk.0.weight", "policy/trunk.net.0.weight"} {
		if a, ok := snap.Arrays[name]; ok {
			return value(a.Float32s())(t)
		}
	}
	t.Fatalf("no first layer among %q", slices.Sorted(maps.Keys(snap.Arrays)))
	return nil
}

func TestFromYAMLPPO(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ppo.yaml")
	must(t, os.WriteFile(path, []byte(strings.Replace(ppoYAML, "DIRECTORY", dir, 1)), 0o600))
	steps := 0
	tr := value(trainers.FromFile(path, pendulum(t), func(c *trainers.Config) {
		c.Callbacks = after(func(*trainers.Trainer) error { steps++; return nil })
	}))(t)
	if s := tr.Agent().(*ppo.Agent).Settings(); s.GAELambda != 0.95 || s.ObservationPreprocessor == "" {
		t.Errorf("settings %+v", s.OnPolicy)
	}
	if first := trained(t, tr); tr.Dir() != filepath.Join(dir, "run") || steps != 24 {
		t.Errorf("the run wrote into %s, adjust counted %d steps", tr.Dir(), steps)
	} else { // Same seed, same run; another seed, another run.
		for seed, same := range map[string]bool{"42": true, "43": false, "null": false} {
			other := strings.NewReplacer("DIRECTORY", t.TempDir(), "seed: 42", "seed: "+seed).Replace(ppoYAML)
			if got := slices.Equal(trained(t, value(trainers.FromYAML([]byte(other), pendulum(t)))(t)),
				first); got != same {
				t.Errorf("seed %s: the same run is %v, want %v", seed, got, same)
			}
		}
	}
}

func TestFromYAMLAMP(t *testing.T) {
	for _, separate := range []string{"true", "false"} {
		// Reference motion is found beneath a wrapper.
		env := value(wrappers.NewRewardScale(value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 4, Seed: 1}))(t),
			0.5))(t)
		text := strings.NewReplacer("DIRECTORY", t.TempDir(), "SEPARATE", separate).Replace(ampYAML)
		tr := value(trainers.FromYAML([]byte(text), env))(t)
		settings := tr.Agent().(*amp.Agent).Settings()
		if settings.MotionDatasetSize != 256 || settings.ReplayBufferSize != 100 || settings.TaskRewardScale != 0.5 ||
			settings.Rollouts != 8 {
			t.Errorf("settings %+v", settings)
		}
		if n := len(trained(t, tr)); n != 17*16 {
			t.Errorf("separate %s: the policy's first layer has %d weights", separate, n)
		}
	}
}

// Bad files are refused before anything is made.
func TestFromYAMLErrors(t *testing.T) {
	walker := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 2}))(t)
	defer walker.Close()
	pend := pendulum(t)
	dir := t.TempDir()
	for _, c := range []struct{ base, from, to, want string }{
		{"ppo", "seed: 42", "sed: 42", `did you mean "seed"?`},
		{"ppo", "seed: 42", "params: {}", `"params" is {}: it is the section of a file of rl_games`},
		{"ppo", "memory_size: -1", "memory_size: 9", "memory.memory_size is 9 and agent.rollouts is 8"},
		{"ppo", "class: PPO", "class: SAC", `"SAC": gorl does not have this agent of skrl; want PPO, AMP, IPPO or`},
		{"ppo", "class: PPO", "class: AMP", "models.discriminator is missing"},
		{"ppo", "class: GaussianMixin", "class: CategoricalMixin", `use GaussianMixin`},
		{"ppo", "input: STATES", "input: STATS", `models.policy: models: network[0].input: "STATS", character 1`},
		{"ppo", "class: SequentialTrainer", "class: ParallelTrainer", "want SequentialTrainer"},
		{"ppo", "timesteps: 24", "timestep: 24", `did you mean "trainer.timesteps"?`},
		{"ppo", "memory: {", "motion_dataset: {class: RandomMemory, memory_size: 1}\nmemory: {", "belongs to AMP"},
		{"amp", "amp_batch_size: 32", "reply_buffer_size: 3", "say the same"},
	} {
		text, env := ppoYAML, pend
		if c.base == "amp" {
			text, env = strings.Replace(ampYAML, "SEPARATE", "true", 1), walker
		}
		text = strings.Replace(text, "DIRECTORY", dir, 1)
		refused(trainers.FromYAML([]byte(strings.Replace(text, c.from, c.to, 1)), env))(t, c.from+" → "+c.to, c.want)
	}
	for _, text := range []string{"", "[1]", "seed: [", "models: {}\nagent: {class: PPO}"} {
		refused(trainers.FromYAML([]byte(text), pend))(t, text, "trainers: ")
	}
	refused(trainers.FromYAML([]byte(ppoYAML), nil))(t, "no environment", "no environment")
	refused(trainers.FromFile(filepath.Join(dir, "absent.yaml"), pend))(t, "no file", "absent.yaml")
	if left := value(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("bad configurations left %v", left)
	}
}

// A whole run from a document. Each adjust sets what YAML cannot say.
func ExampleFromYAML() {
	env := exampleEnv()
	defer env.Close()
	steps := 0
	count := func(*trainers.Trainer, *envs.Step) error { steps++; return nil }
	t, err := trainers.FromYAML([]byte(`
seed: 1
models: {mlp: [32], activation: tanh}
agent: {class: PPO, rollouts: 16, learning_rate: 1.0e-3}
trainer: {timesteps: 32, write_interval: 0, checkpoint_interval: 0, directory: ""}
`), env, func(c *trainers.Config) { c.Callbacks = []trainers.Callback{trainers.StepFunc(count)} })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Agent().Close()
	defer t.Close()
	fmt.Println(t.Train(context.Background()), t.Timestep(), steps)
	// Output: <nil> 32 32
}
