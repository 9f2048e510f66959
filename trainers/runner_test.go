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
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// ppoYAML is skrl's whole configuration of PPO, with small networks. It writes nothing.
const ppoYAML = `
seed: 42
models:
  separate: true
  policy:
    class: GaussianMixin
    clip_actions: false
    clip_mean_actions: false
    clip_log_std: true
    min_log_std: -20.0
    max_log_std: 2.0
    reduction: sum
    initial_log_std: 0.0
    fixed_log_std: false
    network:
      - name: net
        input: STATES
        layers: [16, 8]
        activations: elu
    output: 2 * tanh(ACTIONS)
  value:
    class: DeterministicMixin
    clip_actions: false
    network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: elu}]
    output: ONE
memory: {class: RandomMemory, memory_size: -1}
agent:
  class: PPO
  rollouts: 8
  learning_epochs: 2
  mini_batches: 2
  discount_factor: 0.99
  lambda: 0.95
  learning_rate: 5.0e-04
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs: {kl_threshold: 0.008}
  state_preprocessor: RunningStandardScaler
  state_preprocessor_kwargs: null
  value_preprocessor: RunningStandardScaler
  value_preprocessor_kwargs: null
  random_timesteps: 0
  learning_starts: 0
  grad_norm_clip: 1.0
  ratio_clip: 0.2
  value_clip: 0.2
  clip_predicted_values: true
  entropy_loss_scale: 0.0
  value_loss_scale: 2.0
  kl_threshold: 0.0
  time_limit_bootstrap: false
  rewards_shaper_scale: null
  mixed_precision: false
  experiment: {directory: "DIRECTORY", experiment_name: "run", write_interval: 8, checkpoint_interval: 16,
               store_separately: false, wandb: false, wandb_kwargs: {}}
trainer:
  class: SequentialTrainer
  timesteps: 24
  headless: true
  render_interval: 1
  disable_progressbar: true
  close_environment_at_exit: true
  environment_info: log
  stochastic_evaluation: false
`

// ampYAML is what skrl's configuration of AMP has besides.
const ampYAML = `
seed: 42
models:
  separate: SEPARATE
  policy: {class: GaussianMixin, initial_log_std: -2.9, fixed_log_std: true, output: ACTIONS,
           network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]}
  value:
    class: DeterministicMixin
    network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]
    output: ONE
  discriminator:
    class: DeterministicMixin
    network: [{name: net, input: OBSERVATIONS, layers: [16, 8], activations: relu}]
    output: ONE
memory: {class: RandomMemory, memory_size: 8}
motion_dataset: {class: RandomMemory, memory_size: 256}
reply_buffer:   {class: RandomMemory, memory_size: 100}
agent:
  class: AMP
  rollouts: 8
  learning_epochs: 2
  mini_batches: 2
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs: {kl_threshold: 0.008}
  observation_preprocessor: RunningStandardScaler
  value_preprocessor: RunningStandardScaler
  amp_observation_preprocessor: RunningStandardScaler
  amp_observation_preprocessor_kwargs: null
  discriminator_loss_scale: 5.0
  amp_batch_size: 32
  task_reward_scale: 0.5
  style_reward_scale: 2.0
  discriminator_batch_size: 4096
  discriminator_logit_regularization_scale: 0.05
  discriminator_gradient_penalty_scale: 5.0
  discriminator_weight_decay_scale: 1.0e-04
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
	settings := tr.Agent().(*ppo.Agent).Settings()
	if settings.GAELambda != 0.95 || settings.ObservationPreprocessor == "" || settings.RewardsShaperScale != 1 ||
		settings.LearningRate[0] != 5e-4 {
		t.Errorf("settings %+v", settings.OnPolicy)
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

// follower is a pendulum whose AMP observation is the difference to one that hangs still. It has no reference motion.
type follower struct{ envs.Env }

func (f follower) Spaces() spaces.Set {
	sp := f.Env.Spaces()
	sp.AMPObservation = sp.Observation
	return sp
}

func (f follower) Step(actions []float32) (*envs.Step, error) {
	s, err := f.Env.Step(actions)
	if err != nil {
		return nil, err
	}
	out := *s
	out.AMPObservations = slices.Clone(s.Observations)
	return &out, nil
}

// Differences need no reference motion of the environment, motion does.
func TestDifferentialFromDict(t *testing.T) {
	settings := map[string]any{"class": "AMP", "rollouts": 8, "discriminator_mode": "differential",
		"experiment": map[string]any{"directory": t.TempDir()}}
	dict := map[string]any{"models": map[string]any{"mlp": []any{8}}, "agent": settings,
		"trainer": map[string]any{"timesteps": 24}}
	trained(t, value(trainers.FromDict(dict, follower{pendulum(t)}))(t))
	settings["discriminator_mode"] = "motion"
	refused(trainers.FromDict(dict, follower{pendulum(t)}))(t, "without reference motion", "has no reference motion")
}

// Bad files are refused before anything is made.
func TestFromYAMLErrors(t *testing.T) {
	walker := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 2}))(t)
	defer walker.Close()
	pend := pendulum(t)
	dir := t.TempDir()
	for _, c := range []struct{ base, from, to, want string }{
		{"ppo", "seed: 42", "sed: 42", `did you mean "seed"?`},
		{"ppo", "seed: 42", "params: {}",
			`"params" is {}: it is the section of a file of rl_games; package trainers/rlgames makes a dictionary ` +
				`of it`},
		{"ppo", "seed: 42", "seed: x", `"seed" is "x"`},
		{"ppo", "memory_size: -1", "memory_size: 9", "memory.memory_size is 9 and agent.rollouts is 8"},
		{"ppo", "memory_size: -1", "memory_sise: 8", `did you mean "memory.memory_size"?`},
		{"ppo", "class: PPO", "class: POP", `"agent.class" is "POP": want PPO, AMP, IPPO or MAPPO`},
		{"ppo", "class: PPO", "class: SAC", `"SAC": gorl does not have this agent of skrl; want PPO, AMP, IPPO or`},
		{"ppo", "class: PPO", "class: MAPPO", `"MAPPO": one agent acts in the environment; want PPO or AMP`},
		{"ppo", "class: PPO", "class: AMP", "models.discriminator is missing"},
		{"ppo", "learning_epochs: 2", "learning_epoch: 2", `did you mean "agent.learning_epochs"?`},
		{"ppo", "learning_rate_scheduler: KLAdaptiveLR", "learning_rate_scheduler: KLAdaptivLR", "KLAdaptiveLR"},
		{"ppo", "class: GaussianMixin", "class: CategoricalMixin", `use GaussianMixin`},
		{"ppo", "class: GaussianMixin", "class: Gausian", "models.policy"},
		{"ppo", "input: STATES", "input: STATS", `models.policy: models: network[0].input: "STATS", character 1`},
		{"ppo", "output: ONE", "output: ONE + net[:, 0:2]", "shape [1 2], want (N, 1)"},
		{"ppo", "  value:\n", "  valu:\n", `did you mean "value"?`},
		{"ppo", "separate: true", "separate: 3", "models.separate is 3"},
		{"ppo", "class: SequentialTrainer", "class: ParallelTrainer", "want SequentialTrainer"},
		{"ppo", "timesteps: 24\n  headless", "timestep: 24\n  headless", `did you mean "trainer.timesteps"?`},
		{"ppo", "memory: {", "motion_dataset: {class: RandomMemory, memory_size: 1}\nmemory: {", "belongs to AMP"},
		{"ppo", "models:", "models: 3\nmodules:", `"models" is 3`},
		{"ppo", "seed: 42", "seed: 42\nseed: 43", "already defined"},
		{"amp", "memory_size: 256", "memory_size: 0", "motion_dataset.memory_size is 0"},
		{"amp", "amp_batch_size: 32", "reply_buffer_size: 3", "say the same"},
	} {
		text, env := ppoYAML, pend
		if c.base == "amp" {
			text, env = strings.Replace(ampYAML, "SEPARATE", "true", 1), walker
		}
		text = strings.Replace(text, "DIRECTORY", dir, 1)
		if !strings.Contains(text, c.from) {
			t.Fatalf("the base has no %q", c.from)
		}
		refused(trainers.FromYAML([]byte(strings.Replace(text, c.from, c.to, 1)), env))(t, c.from+" → "+c.to, c.want)
	}
	for _, text := range []string{"", "[1]", "seed: [", "models: {}\nagent: {class: PPO}"} {
		refused(trainers.FromYAML([]byte(text), pend))(t, text, "trainers: ")
	}
	_, err := trainers.FromYAML([]byte(ppoYAML), nil)
	wantError(t, "no environment", err, "no environment")
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
	t, err := trainers.FromYAML([]byte(`
seed: 1
models: {mlp: [32], activation: tanh}
agent: {class: PPO, rollouts: 16, learning_rate: 1.0e-3}
trainer: {timesteps: 32, write_interval: 0, checkpoint_interval: 0, directory: ""}
`), env, func(c *trainers.Config) {
		c.Callbacks = []trainers.Callback{trainers.StepFunc(func(*trainers.Trainer,
			*envs.Step) error {
			steps++
			return nil
		})}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Agent().Close()
	defer t.Close()
	fmt.Println(t.Train(context.Background()), t.Timestep(), steps)
	// Output: <nil> 32 32
}
