package rlgames

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// plain is a file as most are.
const plain = `
params:
  seed: 42
  algo: {name: a2c_continuous}
  model: {name: continuous_a2c_logstd}
  network:
    name: actor_critic
    separate: False
    space:
      continuous:
        mu_activation: None
        sigma_activation: None
        mu_init: {name: default}
        sigma_init: {name: const_initializer, val: 0}
        fixed_sigma: True
    mlp:
      units: [64, 32]
      activation: elu
      d2rl: False
      initializer: {name: default}
      regularizer: {name: None}
  load_checkpoint: False
  load_path: ''
  config:
    name: reach
    env_name: rlgpu
    device: 'cuda:0'
    multi_gpu: False
    ppo: True
    mixed_precision: True
    normalize_input: True
    normalize_value: True
    value_bootstrap: True
    num_actors: -1
    reward_shaper: {scale_value: 0.1}
    normalize_advantage: True
    gamma: 0.99
    tau: 0.95
    learning_rate: 3e-4
    lr_schedule: adaptive
    kl_threshold: 0.008
    score_to_win: 20000
    max_epochs: 500
    save_best_after: 100
    save_frequency: 50
    grad_norm: 1.0
    entropy_coef: 0.001
    truncate_grads: True
    e_clip: 0.2
    horizon_length: 16
    minibatch_size: 512
    mini_epochs: 4
    critic_coef: 2
    clip_value: True
    bounds_loss_coef: 0.0001
`

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	dict, err := config.FromYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return dict
}

// at returns the value at a dotted path of sections; nil where there is none.
func at(sections map[string]any, path string) any {
	var value any = sections
	for _, key := range strings.Split(path, ".") {
		section, _ := value.(map[string]any)
		value = section[key]
	}
	return value
}

// A whole file becomes a whole configuration.
func TestConvert(t *testing.T) {
	c, err := Convert(parse(t, plain), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
seed: 42
environment: {wrappers: [rescale_action]}
models:
  separate: false
  policy:
    class: GaussianMixin
    clip_actions: false
    clip_log_std: false
    initial_log_std: 0.0
    fixed_log_std: false
    initial_bias: zero
    network: [{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}]
    output: ACTIONS
  value:
    class: DeterministicMixin
    initial_bias: zero
    network: [{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}]
    output: ONE
agent:
  class: PPO
  rollouts: 16
  learning_epochs: 4
  mini_batch_size: 512
  mini_batch_order: environments
  discount_factor: 0.99
  gae_lambda: 0.95
  learning_rate: 0.0003
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs:
    {kl_threshold: 0.008, min_lr: 1.0e-06, max_lr: 0.01, step: minibatch, divergence: gaussian}
  weight_decay: 0.0
  observation_preprocessor: RunningStandardScaler
  value_preprocessor: RunningStandardScaler
  advantage_normalization: rollout
  grad_norm_clip: 1.0
  ratio_clip: 0.2
  value_clip: 0.2
  entropy_loss_scale: 0.001
  value_loss_scale: 1.0
  bounds_loss_scale: 0.0001
  bounds_loss_type: limit
  time_limit_bootstrap: true
  rewards_shaper_scale: 0.1
trainer: {timesteps: 8000, checkpoint_interval: 800, stop_at_episode_return: 20000.0, name: reach}
`)
	if diff := cmp.Diff(want, c.Sections); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	idle := []string{"these keys have no meaning for gorl: config.device, config.env_name, config.mixed_precision, " +
		"config.multi_gpu, config.num_actors, config.save_best_after, load_path, network.mlp.regularizer"}
	if diff := cmp.Diff(idle, c.Notes); diff != "" {
		t.Errorf("notes: -want +got:\n%s", diff)
	}
	// What is written reads back.
	text, err := runfile.Sections(c.Sections).YAML()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := runfile.Sections(parse(t, string(text))).YAML(); err != nil || string(again) != string(text) {
		t.Errorf("%v, read back:\n%s", err, again)
	}
}

// change is what assignments to the plain file make of it.
type change struct {
	set  string            // assignments below params, separated by blanks
	want map[string]string // paths of sections and their values in YAML; "null" for none
	err  string            // a part of the error instead
	note string            // a part of a note besides
}

const rnn = `network.rnn={name:lstm,units:32,before_mlp:True}`

const cnn = `config.normalize_input=False network.cnn=`

const ampKeys = `algo.name=amp_continuous model.name=continuous_amp network.name=amp network.disc.units=[48] ` +
	`config.amp_obs_demo_buffer_size=100 config.amp_replay_buffer_size=200 config.amp_replay_keep_prob=0.01 ` +
	`config.amp_batch_size=50 config.amp_minibatch_size=60 config.disc_coef=5 config.disc_logit_reg=0.05 ` +
	`config.disc_grad_penalty=0.2 config.disc_weight_decay=0.0001 config.disc_reward_scale=3 ` +
	`config.disc_reward_w=0.5 config.task_reward_w=0.25 `

const centralValue = `config.central_value_config={learning_rate:1e-3,mini_epochs:4,minibatch_size:512,` +
	`clip_value:True,normalize_input:True,truncate_grads:True,grad_norm:2,network:{name:actor_critic,` +
	`central_value:True,mlp:{units:[8],activation:relu,initializer:{name:default}}}}`

// changes have every key that is honoured. What the table alone decides is in TestTable.
var changes = []change{
	{set: "seed=7 config.name=x config.train_dir=/tmp/all config.gamma=0.998 config.tau=0.9 " +
		"config.learning_rate='1e-4' config.score_to_win=12 config.max_epochs=10 config.save_frequency=3 " +
		"config.grad_norm=0.5 config.entropy_coef=0.02 config.e_clip=0.1 config.critic_coef=4 " +
		"config.bounds_loss_coef=0.5 config.bound_loss_type=regularisation config.minibatch_size=256 " +
		"config.mini_epochs=7 config.weight_decay=0.01 config.player.deterministic=False config.kl_threshold=0.01 " +
		"config.min_lr=1e-5 config.max_lr=1e-3 config.schedule_type=standard config.reward_shaper.scale_value=0.6 " +
		"config.normalize_advantage=False env.clip_observations=5.0 network.separate=True " +
		"network.value_activation=tanh network.space.continuous.mu_activation=tanh " +
		"network.space.continuous.sigma_init.val=-2.9 network.space.continuous.learn_sigma=False",
		want: map[string]string{"seed": "7", "trainer.name": "x", "trainer.directory": "/tmp/all",
			"agent.discount_factor": "0.998", "agent.gae_lambda": "0.9", "agent.learning_rate": "0.0001",
			"trainer.stop_at_episode_return": "12.0", "trainer.timesteps": "160", "trainer.checkpoint_interval": "48",
			"agent.grad_norm_clip": "0.5", "agent.entropy_loss_scale": "0.02", "agent.ratio_clip": "0.1",
			"agent.value_clip": "0.1", "agent.value_loss_scale": "2.0", "agent.bounds_loss_scale": "0.5",
			"agent.bounds_loss_type": "square", "agent.mini_batch_size": "256", "agent.learning_epochs": "7",
			"agent.weight_decay": "0.01", "trainer.stochastic_evaluation": "true",
			"agent.learning_rate_scheduler_kwargs": "{kl_threshold: 0.01, min_lr: 1.0e-05, max_lr: 0.001, step: " +
				"epoch, divergence: gaussian}",
			"agent.rewards_shaper_scale": "0.6", "agent.advantage_normalization": "none",
			"environment.wrappers": "[rescale_action, clip_observation: {low: -5.0, high: 5.0}]",
			"models.separate":      "true", "models.value.output": "tanh(ONE)", "models.policy.output": "tanh(ACTIONS)",
			"models.policy.initial_log_std": "-2.9",
			"models.policy.fixed_log_std":   "true"}},
	{set: "seed=-1 config.full_experiment_name=y config.normalize_input=False config.normalize_value=False " +
		"config.value_bootstrap=False config.truncate_grads=False config.clip_value=False config.clip_actions=False " +
		"config.save_frequency=0 config.bounds_loss_coef=null config.lr_schedule=fixed config.horizon_length=32 " +
		"network.space.continuous.fixed_sigma=False",
		want: map[string]string{"seed": "null", "trainer.name": "y", "agent.observation_preprocessor": "null",
			"agent.value_preprocessor": "null", "agent.time_limit_bootstrap": "false", "agent.grad_norm_clip": "0.0",
			"agent.value_clip": "0.0", "environment": "null", "trainer.checkpoint_interval": "null",
			"agent.bounds_loss_scale": "0.0", "agent.bounds_loss_type": "null", "agent.learning_rate_scheduler": "null",
			"agent.rollouts": "32", "trainer.timesteps": "16000",
			"models.policy.state_dependent_log_std": "true"}},
	{set: "algo.name=sac",
		err: `"params.algo.name" is "sac": it is soft actor-critic; gorl has PPO (a2c_continuous) and AMP ` +
			`(amp_continuous)`},
	{set: "algo.name=a2c_discrete", err: `class CategoricalMixin`},

	{set: "env.clip_actions=1.0",
		want: map[string]string{"environment.wrappers": "[clip_action: {low: -1.0, high: 1.0}]"}},
	{set: "env.clip_actions=100 config.clip_actions=False",
		want: map[string]string{"environment.wrappers": "[clip_action: {low: -100.0, high: 100.0}]"}},
	{set: "env.clip_actions=100",
		err: `"params.env.clip_actions" is 100: with config.clip_actions: True rl_games multiplies actions by it`},
	{set: "env.obs_groups={obs:[policy]}", want: map[string]string{"environment.observation_groups": "null"}},
	{set: "env.obs_groups={obs:[policy,proprio],states:[critic]}",
		want: map[string]string{"environment.observation_groups": "[policy, proprio]",
			"environment.state_groups": "null"}},
	{set: "env.obs_groups={obs:[policy],states:[critic]} " + centralValue,
		want: map[string]string{"environment.state_groups": "[critic]"}},

	{set: "network.space.continuous.fixed_sigma=False network.space.continuous.sigma_init.val=-1",
		err: "with fixed_sigma: False gorl's log σ begins at 0"},
	{set: "network.space.continuous.fixed_sigma=False network.space.continuous.mu_activation=tanh",
		err: "it would be log σ's as well"},
	{set: cnn + "{type:conv2d,activation:relu,convs:[{filters:8,kernel_size:4,strides:2,padding:1}]}",
		want: map[string]string{
			"models.policy.network": `[{name: cnn, input: "permute(OBSERVATIONS, (0, 3, 1, 2))", layers: [conv2d: ` +
				`{out_channels: 8, kernel_size: 4, stride: 2, padding: 1}, flatten], activations: relu}, {name: mlp, ` +
				`input: cnn, layers: [64, 32], activations: elu}]`}},
	{set: cnn + "{type:conv2d,permute_input:False,convs:[{filters:8,kernel_size:4}]}", want: map[string]string{
		"models.policy.network": `[{name: cnn, input: OBSERVATIONS, layers: [conv2d: {out_channels: 8, kernel_size: ` +
			`4}, flatten]}, {name: mlp, input: cnn, layers: [64, 32], activations: elu}]`}},
	{set: cnn + "{type:conv2d,convs:[{filters:8,kernel_size:4}]} config.normalize_input=True",
		err: `"params.config.normalize_input" is true: gorl's scaler has a mean for every pixel`},
	{set: cnn + "{type:conv2d,convs:[]}", err: "there are no convolutions"},
	{set: cnn + "{type:conv2d,convs:[{filters:8}]}", err: "element 0 is not filters and kernel_size"},

	{set: "network.mlp.units=[5] network.mlp.activation=swish network.mlp.initializer.name=default",
		want: map[string]string{
			"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: silu}]",
			"models.value.network":  "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: silu}]"}},
	{set: "network.mlp.units=[3,'${task.n}']",
		err: `"params.network.mlp.units" is "${task.n}": it refers to what is not in the file`},
	{set: "network.mlp.units=[]", err: "the network has no layers"},
	{set: "network.mlp.activation=None",
		want: map[string]string{"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [64, 32]}]"}},
	{set: rnn, want: map[string]string{"agent.sequence_length": "4",
		"models.policy.network": "[{name: rnn, input: OBSERVATIONS, layers: [lstm: {hidden_size: 32, num_layers: " +
			"1}]}, {name: mlp, input: rnn, layers: [64, 32], activations: elu}]"}},
	{set: rnn +
		" network.rnn.name=gru network.rnn.units=7 network.rnn.layers=2 network.rnn.before_mlp=False " +
		"network.rnn.layer_norm=True network.rnn.concat_input=True config.seq_length=8",
		want: map[string]string{"agent.sequence_length": "8",
			"models.policy.network": `[{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}, {name: ` +
				`rnn, input: "concatenate([mlp, OBSERVATIONS])", ` +
				`layers: [gru: {hidden_size: 7, num_layers: 2}, layer_norm]}]`}},
	{set: "network.rnn.name=lstm", err: "a recurrent layer needs a name and units"},
	{set: rnn + " config.seq_length=5", err: `"params.config.seq_length" is 5: gorl learns from whole sequences`},

	{set: "config.value_bootstrap=null", want: map[string]string{"agent.time_limit_bootstrap": "false"},
		note: "config.value_bootstrap is missing: truncated episodes count as ended"},
	{set: "config.lr_schedule=linear", want: map[string]string{"agent.learning_rate_scheduler": "LinearLR",
		"agent.learning_rate_scheduler_kwargs": "{start_factor: 1.0, end_factor: 0.0033333333333333335, " +
			"total_iters: auto}"}},
	{set: "config.lr_schedule=linear config.max_epochs=-1",
		want: map[string]string{"agent.learning_rate_scheduler": "null"}, note: "the rate is constant, as in rl_games"},
	{set: "config.schedule_type=standard_epoch", want: map[string]string{"agent.learning_rate_scheduler": "null"},
		note: "the rate is constant, as in rl_games"},
	{set: ampKeys + "config.schedule_type=standard_epoch",
		want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "update"}},
	{set: ampKeys + "config.schedule_type=standard",
		want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "epoch"},
		note: "of all passes of the update so far"},
	{set: "config.kl_threshold=null", err: `"params.config.kl_threshold" is null: it is missing`},
	{set: "config.max_epochs=9007199254740992", err: "more timesteps than can be counted"},
	{set: "config.max_epochs=null", want: map[string]string{"trainer.timesteps": "null"},
		note: "config.max_epochs is missing"},
	{set: "config.max_frames=6400", want: map[string]string{"trainer.timesteps": "100"}},
	{set: "config.max_frames=6400000", want: map[string]string{"trainer.timesteps": "8000"}},
	{set: "config.critic_coef=null",
		err: `"params.config.critic_coef" is null: it is missing, and rl_games has no default for it`},
	{set: "config.bound_loss_type=regularization", want: map[string]string{"agent.bounds_loss_scale": "0.0"},
		note: `config.bound_loss_type is "regularization", which rl_games does not know`},
	{set: "config.minibatch_size=500", err: `"params.config.minibatch_size" is 500: a rollout has 1024 rows`},
	{set: "config.minibatch_size_per_env=4", want: map[string]string{"agent.mini_batches": "4",
		"agent.mini_batch_size": "null"}},
	{set: "config.minibatch_size_per_env=5", err: "is no multiple of it"},

	{set: centralValue, want: map[string]string{
		"models.separate":      "true",
		"models.value.network": "[{name: mlp, input: STATES, layers: [8], activations: relu}]",
		"agent.learning_rate":  "[0.0003, 0.001]", "agent.grad_norm_clip": "[1.0, 2.0]",
		"agent.value_loss_scale":   "1.0",
		"agent.state_preprocessor": "RunningStandardScaler", "agent.learning_rate_scheduler_networks": "policy"},
		note: "config.use_experimental_cv is True"},
	{set: centralValue +
		" config.lr_schedule=linear config.central_value_config.lr_schedule=linear config.use_experimental_cv=False",
		want: map[string]string{"agent.learning_rate_scheduler_networks": "null"}},
	{set: centralValue + " config.central_value_config.lr_schedule=linear", err: "gorl's networks have one schedule"},
	{set: centralValue +
		" config.central_value_config.truncate_grads=False config.central_value_config.learning_rate=5e-5 " +
		"config.central_value_config.normalize_input=False", want: map[string]string{
		"agent.grad_norm_clip": "[1.0, 0.0]", "agent.learning_rate": "[0.0003, 5.0e-05]",
		"agent.state_preprocessor": "null"}},
	{set: centralValue + " config.central_value_config.learning_rate=null",
		err: `"params.config.central_value_config.learning_rate" is null: it is missing`},
	{set: centralValue + " config.central_value_config.mini_epochs=5",
		err: `"params.config.central_value_config.mini_epochs" is 5: gorl's networks learn together`},
	{set: centralValue + " config.central_value_config.minibatch_size=1024",
		err: "give agent.params.config.central_value_config.minibatch_size=512"},
	{set: centralValue + " config.central_value_config.minibatch_size_per_env=2",
		err: `"params.config.central_value_config.minibatch_size_per_env"`},
	{set: centralValue + " config.central_value_config.clip_value=False",
		err: `"params.config.central_value_config.clip_value" is false`},
	{set: centralValue + " config.central_value_config.e_clip=0.1",
		err: `"params.config.central_value_config.e_clip" is 0.1`},
	{set: centralValue + " config.central_value_config.network=null", err: "it has no mlp"},

	{set: ampKeys, want: map[string]string{
		"agent.learning_rate_scheduler_kwargs.divergence": "gaussian_rollout", "agent.class": "AMP",
		"agent.mini_batch_order": "random", "agent.motion_dataset_size": "100", "agent.reply_buffer_size": "200",
		"agent.replay_admission_probability": "0.01", "agent.amp_batch_size": "50",
		"agent.discriminator_batch_size": "60", "agent.discriminator_loss_scale": "5.0",
		"agent.discriminator_logit_regularization_scale": "0.05", "agent.discriminator_gradient_penalty_scale": "0.2",
		"agent.discriminator_weight_decay_scale": "0.0001", "agent.style_reward_scale": "1.5",
		"agent.task_reward_scale": "0.25", "agent.amp_observation_preprocessor": "RunningStandardScaler",
		"agent.value_loss_scale": "2.0", "agent.bounds_loss_limit": "1.0",
		"models.discriminator": "{class: DeterministicMixin, initial_bias: zero, output: ONE, network: [{name: " +
			"disc, input: OBSERVATIONS, layers: [48], activations: ''}]}"},
		note: "the discriminator's last layer"},
	{set: ampKeys + "config.normalize_amp_input=False network.disc.activation=relu config.value_bootstrap=False",
		want: map[string]string{
			"agent.amp_observation_preprocessor": "null", "agent.time_limit_bootstrap": "true",
			"models.discriminator.network": "[{name: disc, input: OBSERVATIONS, layers: [48], activations: relu}]"},
		note: "config.value_bootstrap is False, which IsaacGymEnvs' AMP does not read"},
	{set: ampKeys + "config.disc_coef=null", err: `"params.config.disc_coef" is null: it is missing`},
	{set: ampKeys + "network.disc.units=null", err: `"params.network.disc.units" is null: it is missing`},

	{set: "config.gama=0.9", err: `unknown key "params.config.gama" (given 0.9): did you mean "params.config.gamma"?`},
	{set: "network.rnn=3", err: `"params.network.rnn" is 3: want a section of keys`},
}

// converted is the plain file with some of its params changed.
func converted(t testing.TB, assignments ...string) (*Configuration, error) {
	t.Helper()
	o := Options{NumEnvs: 64}
	for _, a := range assignments {
		o.Overrides = append(o.Overrides, "agent.params."+a)
	}
	return Convert(parse(t, plain), o)
}

// refused fails the test if an error is missing or lacks a part of its text.
func refused(t testing.TB, what string, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one with %q", what, err, part)
		}
	}
}

// Every key that is honoured becomes what the table says, and keys that contradict each other are refused.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range changes {
		assignments := strings.Fields(strings.ReplaceAll(x.set, ":", ":\x00"))
		for i, a := range assignments {
			assignments[i] = strings.ReplaceAll(a, ":\x00", ": ")
		}
		for _, k := range keys {
			if strings.Contains(x.set, k.path[strings.LastIndex(k.path, ".")+1:]) {
				seen[k.path] = true
			}
		}
		c, err := converted(t, assignments...)
		if x.err != "" {
			refused(t, x.set, err, x.err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.set, err)
			continue
		}
		for path, text := range x.want {
			if diff := cmp.Diff(parse(t, "x: "+text)["x"], at(c.Sections, path)); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", x.set, path, diff)
			}
		}
		if x.note != "" && !strings.Contains(strings.Join(c.Notes, "\n"), x.note) {
			t.Errorf("%s: the notes are %q, want %s", x.set, c.Notes, x.note)
		}
	}
	for _, k := range keys {
		if k.fate == isHonoured && !seen[k.path] {
			t.Errorf("no case changes %s", k.path)
		}
	}
	_, err := Convert(parse(t, plain), Options{Overrides: []string{"params.config.max_frames=100"}})
	refused(t, "frames of an unknown number of environments", err, "give --num-envs N")
}

// Hydra's references, as IsaacGymEnvs has them.
func TestReferences(t *testing.T) {
	text := strings.NewReplacer("seed: 42", "seed: ${...seed}", "name: reach",
		"name: ${resolve_default:Ant,${....experiment}}\n    full_experiment_name: ${.name}_${..algo.name}",
		"num_actors: -1", "num_actors: ${....task.env.numEnvs}", "max_epochs: 500",
		"max_epochs: ${resolve_default:1_000,${....max_iterations}}",
		"load_checkpoint: False", "load_checkpoint: ${if:${...checkpoint},True,False}", "mini_epochs: "+
			"4", "mini_epochs: ${if:${eq:ant,${.env_name}},3,${if:${contains:RL,${.env_name}},5,6}}",
		"load_path: ''", "load_path: ${...checkpoint}").Replace(plain)
	c, err := Convert(parse(t, text), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{"seed": 42, "trainer.name": "Ant_a2c_continuous", "trainer.timesteps": 16000,
		"agent.learning_epochs": 5} {
		if got := at(c.Sections, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for from, want := range map[string]string{
		"${.gamma}": "leads back to itself", "${..config}": "leads back to itself",
		"${.gama}": `"params.config.gamma" is "${.gama}": it refers to what is not in the file; give ` +
			`the value itself: agent.params.config.gamma=VALUE`,
		"${....task.env.gamma}": "it refers to what is not in the file", "${.......x}": "climbs above the top",
		"${max:1,2}": `there is no function "max"; give the value itself by agent.params.config.gamma=VALUE`,
		"${if:1,2}":  "if has 2 arguments, want 3", "${.tau": "a ${ has no }",
	} {
		_, err := Convert(parse(t, strings.Replace(plain, "gamma: 0.99", "gamma: "+from, 1)), Options{NumEnvs: 64})
		refused(t, from, err, want)
	}
}

// A file stands on those that it names, in their order.
func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("Base.yaml", plain)
	over := write("Over.yaml", "defaults: [Base, _self_]\nparams: {config: {gamma: 0.5, mini_epochs: 2}}")
	under := write("Under.yaml", "defaults: [_self_, Over]\nparams: {config: {gamma: 0.7, weight_decay: 0.3}}")
	for path, want := range map[string]string{
		over: "0.5 2 0", under: "0.5 2 0.3",
		write("Plain.yaml", "defaults: [Base]\nparams: {config: {gamma: 0.25}}"): "0.25 4 0",
	} {
		c, err := Read(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := c.Sections["agent"].(map[string]any)
		if got := fmt.Sprint(a["discount_factor"], a["learning_epochs"], a["weight_decay"]); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for text, want := range map[string]string{
		"defaults: [Loop]": "names itself", "defaults: [../Base]": "want the name of a file beside this one",
		"defaults: Base": "want a list of files beside this one", "defaults: [Nothing]": "Nothing.yaml",
		"params: 3": `"params" is 3`, "{params: {}, parms: {}}": `unknown key "parms"`,
	} {
		path := write("Loop.yaml", text)
		_, err := Read(path, Options{})
		refused(t, text, err, want, path)
	}
	_, err := Convert(parse(t, "{defaults: [Base], params: {}}"), Options{})
	refused(t, "a dictionary", err, "read it by its path")
}

// Isaac Lab's population is off until it is switched on.
func TestPopulation(t *testing.T) {
	text := plain +
		"pbt: {enabled: False, num_policies: 3, objective: episode.Curriculum/adr, mutation: " +
		"{agent.params.config.learning_rate: mutate_float}}"
	c, err := Convert(parse(t, text), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	if c.Sections["pbt"] != nil || c.Sections["preset"] != nil {
		t.Errorf("a population that is off is %v", c.Sections["pbt"])
	}
	if c, err = Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{"agent.pbt.enabled=True",
		"++agent.pbt.num_policies=5"}}); err != nil {
		t.Fatal(err)
	}
	want := parse(t,
		"{enabled: true, num_policies: 5, objective: episode.Curriculum/adr, mutation: "+
			"{agent.params.config.learning_rate: mutate_float}, total_steps: 512000}")
	if diff := cmp.Diff(want, c.Sections["pbt"]); diff != "" || c.Sections["preset"] != "isaaclab" {
		t.Errorf("preset %v, -want +got:\n%s", c.Sections["preset"], diff)
	}
	for _, x := range []string{"pbt=3", "pbt.enabled=often", "pbt.directory=${task.name}"} {
		if _, err := Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{x}}); err == nil {
			t.Errorf("%s gave no error", x)
		}
	}
}

// Every line of the table is complete. A key without meaning changes nothing, whatever its value, and a note names it.
// A value that a key does not take is refused by an error with the key and the table's reason.
func TestTable(t *testing.T) {
	plainly, err := converted(t)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.path] || (k.gorl == "") != (k.fate == isRefused) || k.fate == isRefused && k.why == "" {
			t.Errorf("%s is there twice (%t) or not complete: %+v", k.path, seen[k.path], k)
		}
		seen[k.path] = true
		if k.fallback != nil && k.kind != anything {
			if read, ok := k.kind.read(k.fallback); !ok || read != k.fallback {
				t.Errorf("%s: the default %v is no %s", k.path, k.fallback, k.kind.want())
			}
		}
		for _, given := range []string{"-1", "0", "7", "some", "True", "False", "{a: 1}", "null"} {
			value := parse(t, "x: "+given)["x"]
			read, ok := k.kind.read(value)
			inSection := strings.HasPrefix(k.path, central) || strings.HasPrefix(k.path, "network.rnn") ||
				strings.HasPrefix(k.path, "network.cnn")
			switch {
			case k.path == "algo.name" || k.fate != isIdle && value == nil:
			case k.fate == isIdle && inSection: // a section that is begun asks for more
			case k.fate == isIdle:
				c, err := converted(t, k.path+"="+given)
				if err != nil || !cmp.Equal(plainly.Sections, c.Sections) ||
					!strings.Contains(strings.Join(c.Notes, "\n"), k.path) {
					t.Errorf("%s=%s: %v; want nothing but a note", k.path, given, err)
				}
			case !ok:
				_, err := converted(t, k.path+"="+given)
				refused(t, k.path+"="+given, err, `"params.`+k.path+`" is `, k.kind.want())
			case k.check != nil && !k.check(read):
				_, err := converted(t, k.path+"="+given)
				refused(t, k.path+"="+given, err, `"params.`+k.path+`" is `, k.why)
			}
		}
	}
}

// FuzzConvert looks for files that make the reader fail.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(plain))
	for _, x := range changes {
		text := plain
		for _, a := range strings.Fields(x.set) {
			key, value, _ := strings.Cut(a, "=")
			text = fmt.Sprintf("%s# %s: %s\n", text, key, value)
		}
		f.Add([]byte(text))
	}
	f.Add([]byte("params: {algo: {name: a2c_continuous}, config: {gamma: '${.gamma}${.tau}', tau: '${.gamma}'}}"))
	f.Add([]byte(plain + "pbt: {enabled: True}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dict, err := config.FromYAML(data)
		if err != nil {
			return
		}
		c, err := Convert(dict, Options{NumEnvs: 8})
		if err != nil {
			return
		}
		text, err := runfile.Sections(c.Sections).YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runfile.Parse(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
