package rlgames

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
  learning_rate_scheduler_kwargs: {kl_threshold: 0.008, min_lr: 1.0e-06, max_lr: 0.01, step: minibatch, divergence: gaussian}
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
	idle := []string{"these keys have no meaning for gorl: config.device, config.env_name, config.mixed_precision, config.multi_gpu, config.num_actors, " +
		"config.save_best_after, load_path, network.mlp.regularizer"}
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

const ampKeys = `algo.name=amp_continuous model.name=continuous_amp network.name=amp network.disc.units=[48] config.amp_obs_demo_buffer_size=100 ` +
	`config.amp_replay_buffer_size=200 config.amp_replay_keep_prob=0.01 config.amp_batch_size=50 config.amp_minibatch_size=60 config.disc_coef=5 ` +
	`config.disc_logit_reg=0.05 config.disc_grad_penalty=0.2 config.disc_weight_decay=0.0001 config.disc_reward_scale=3 config.disc_reward_w=0.5 ` +
	`config.task_reward_w=0.25 `

const centralValue = `config.central_value_config={learning_rate:1e-3,mini_epochs:4,minibatch_size:512,clip_value:True,normalize_input:True,` +
	`truncate_grads:True,grad_norm:2,network:{name:actor_critic,central_value:True,mlp:{units:[8],activation:relu,initializer:{name:default}}}}`

// changes have every key of the table.
var changes = []change{
	{set: "seed=7", want: map[string]string{"seed": "7"}},
	{set: "seed=-1", want: map[string]string{"seed": "null"}},
	{set: "algo.name=sac", err: `"params.algo.name" is "sac": it is soft actor-critic; gorl has PPO (a2c_continuous) and AMP (amp_continuous)`},
	{set: "algo.name=a2c_discrete", err: `class CategoricalMixin`},
	{set: "model.name=continuous_a2c", err: `"params.model.name" is "continuous_a2c": gorl knows continuous_a2c_logstd`},
	{set: "load_checkpoint=True", err: `"params.load_checkpoint" is true: gorl does not read checkpoints of rl_games`},

	{set: "env.clip_actions=1.0", want: map[string]string{"environment.wrappers": "[clip_action: {low: -1.0, high: 1.0}]"}},
	{set: "env.clip_actions=100 config.clip_actions=False", want: map[string]string{"environment.wrappers": "[clip_action: {low: -100.0, high: 100.0}]"}},
	{set: "env.clip_actions=100", err: `"params.env.clip_actions" is 100: with config.clip_actions: True rl_games multiplies actions by it`},
	{set: "env.clip_actions=0", err: wantPositive},
	{set: "config.clip_actions=False", want: map[string]string{"environment": "null"}},
	{set: "env.clip_observations=5.0", want: map[string]string{"environment.wrappers": "[rescale_action, clip_observation: {low: -5.0, high: 5.0}]"}},
	{set: "env.obs_groups={obs:[policy]}", want: map[string]string{"environment.observation_groups": "null"}},
	{set: "env.obs_groups={obs:[policy,proprio],states:[critic]}", want: map[string]string{"environment.observation_groups": "[policy, proprio]",
		"environment.state_groups": "null"}},
	{set: "env.obs_groups={obs:[policy],states:[critic]} " + centralValue, want: map[string]string{"environment.state_groups": "[critic]"}},

	{set: "network.name=resnet", err: `"params.network.name" is "resnet": gorl knows actor_critic`},
	{set: "network.separate=True", want: map[string]string{"models.separate": "true"}},
	{set: "network.value_activation=tanh", want: map[string]string{"models.value.output": "tanh(ONE)"}},
	{set: "network.space.continuous.mu_activation=tanh", want: map[string]string{"models.policy.output": "tanh(ACTIONS)"}},
	{set: "network.space.continuous.mu_activation=sine", err: wantActivation},
	{set: "network.space.continuous.sigma_activation=exp", err: "log σ is used as it is"},
	{set: "network.space.continuous.mu_init.name=orthogonal_initializer", err: "gorl starts weights as PyTorch does"},
	{set: "network.space.continuous.sigma_init.name=default", err: "gorl starts log σ at one number"},
	{set: "network.space.continuous.sigma_init.val=-2.9", want: map[string]string{"models.policy.initial_log_std": "-2.9"}},
	{set: "network.space.continuous.learn_sigma=False", want: map[string]string{"models.policy.fixed_log_std": "true"}},
	{set: "network.space.continuous.fixed_sigma=False", want: map[string]string{"models.policy.state_dependent_log_std": "true"}},
	{set: "network.space.continuous.fixed_sigma=False network.space.continuous.sigma_init.val=-1", err: "with fixed_sigma: False gorl's log σ begins at 0"},
	{set: "network.space.continuous.fixed_sigma=False network.space.continuous.mu_activation=tanh", err: "it would be log σ's as well"},
	{set: "network.space.discrete={}", err: "discrete actions have other losses"},
	{set: "network.space.multi_discrete={}", err: "discrete actions have other losses"},
	{set: "network.cnn={type:conv2d,activation:relu,convs:[{filters:8,kernel_size:4,strides:2,padding:1}]} config.normalize_input=False", want: map[string]string{
		"models.policy.network": `[{name: cnn, input: "permute(OBSERVATIONS, (0, 3, 1, 2))", layers: [conv2d: {out_channels: 8, kernel_size: 4, stride: 2, padding: 1}, flatten], ` +
			`activations: relu}, {name: mlp, input: cnn, layers: [64, 32], activations: elu}]`}},
	{set: "network.cnn={type:conv2d,permute_input:False,convs:[{filters:8,kernel_size:4}]} config.normalize_input=False", want: map[string]string{
		"models.policy.network": `[{name: cnn, input: OBSERVATIONS, layers: [conv2d: {out_channels: 8, kernel_size: 4}, flatten]}, ` +
			`{name: mlp, input: cnn, layers: [64, 32], activations: elu}]`}},
	{set: "network.cnn={type:conv2d,convs:[{filters:8,kernel_size:4}]}", err: `"params.config.normalize_input" is true: gorl's scaler has a mean for every pixel`},
	{set: "network.cnn={type:conv2d,convs:[]} config.normalize_input=False", err: "there are no convolutions"},
	{set: "network.cnn={type:conv2d,convs:[{filters:8}]} config.normalize_input=False", err: "element 0 is not filters and kernel_size"},
	{set: "network.cnn={type:conv1d}", err: "gorl has conv2d"},
	{set: "network.cnn={initializer:{name:orthogonal_initializer}}", err: `"params.network.cnn.initializer.name"`},
	{set: "network.disc.initializer={name:orthogonal_initializer}", err: `"params.network.disc.initializer.name"`},

	{set: "network.mlp.units=[5]", want: map[string]string{
		"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: elu}]",
		"models.value.network":  "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: elu}]"}},
	{set: "network.mlp.units=[3,'${task.n}']", err: `"params.network.mlp.units" is "${task.n}": it refers to what is not in the file`},
	{set: "network.mlp.units=[]", err: "the network has no layers"},
	{set: "network.mlp.activation=swish", want: map[string]string{"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: silu}]"}},
	{set: "network.mlp.activation=None", want: map[string]string{"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [64, 32]}]"}},
	{set: "network.mlp.d2rl=True", err: `"params.network.mlp.d2rl"`},
	{set: "network.mlp.initializer.name=orthogonal_initializer", err: `"params.network.mlp.initializer.name"`},
	{set: "network.normalization=layer_norm", err: `"params.network.normalization"`},
	{set: "network.inputs={pose:{}}", err: `"params.network.inputs"`},
	{set: rnn, want: map[string]string{"agent.sequence_length": "4",
		"models.policy.network": "[{name: rnn, input: OBSERVATIONS, layers: [lstm: {hidden_size: 32, num_layers: 1}]}, {name: mlp, input: rnn, layers: [64, 32], activations: elu}]"}},
	{set: rnn + " network.rnn.name=gru network.rnn.units=7 network.rnn.layers=2 network.rnn.before_mlp=False config.seq_length=8", want: map[string]string{
		"agent.sequence_length": "8",
		"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}, {name: rnn, input: mlp, layers: [gru: {hidden_size: 7, num_layers: 2}]}]"}},
	{set: rnn + " network.rnn.before_mlp=False network.rnn.concat_input=True", want: map[string]string{
		"models.policy.network": `[{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}, ` +
			`{name: rnn, input: "concatenate([mlp, OBSERVATIONS])", layers: [lstm: {hidden_size: 32, num_layers: 1}]}]`}},
	{set: "network.rnn.name=lstm", err: "a recurrent layer needs a name and units"},
	{set: "network.rnn.name=transformer", err: "gorl has lstm, gru and rnn"},
	{set: rnn + " config.seq_length=5", err: `"params.config.seq_length" is 5: gorl learns from whole sequences`},
	{set: rnn + " network.rnn.concat_output=True", err: `"params.network.rnn.concat_output"`},
	{set: rnn + " network.rnn.layer_norm=True", want: map[string]string{
		"models.policy.network": "[{name: rnn, input: OBSERVATIONS, layers: [lstm: {hidden_size: 32, num_layers: 1}, layer_norm]}, {name: mlp, input: rnn, layers: [64, 32], activations: elu}]"}},
	{set: rnn + " config.zero_rnn_on_done=False", err: `"params.config.zero_rnn_on_done" is false`},

	{set: "config.name=x", want: map[string]string{"trainer.name": "x"}},
	{set: "config.full_experiment_name=y", want: map[string]string{"trainer.name": "y"}},
	{set: "config.train_dir=/tmp/all", want: map[string]string{"trainer.directory": "/tmp/all"}},
	{set: "config.ppo=False", err: "without PPO's clip"},
	{set: "config.normalize_input=False", want: map[string]string{"agent.observation_preprocessor": "null"}},
	{set: "config.normalize_value=False", want: map[string]string{"agent.value_preprocessor": "null"}},
	{set: "config.normalize_advantage=False", want: map[string]string{"agent.advantage_normalization": "none"}},
	{set: "config.normalize_rms_advantage=True", err: "running statistics of advantages"},
	{set: "config.value_bootstrap=False", want: map[string]string{"agent.time_limit_bootstrap": "false"}},
	{set: "config.value_bootstrap=null", want: map[string]string{"agent.time_limit_bootstrap": "false"}, note: "config.value_bootstrap is missing: truncated episodes count as ended"},
	{set: "config.reward_shaper.scale_value=0.6", want: map[string]string{"agent.rewards_shaper_scale": "0.6"}},
	{set: "config.reward_shaper.scale_value=0", err: "every reward would be 0"},
	{set: "config.reward_shaper.shift_value=1", err: "does not shift them"},
	{set: "config.reward_shaper.min_val=-1", err: "wrapper clip_reward"},
	{set: "config.reward_shaper.max_val=1", err: "wrapper clip_reward"},
	{set: "config.reward_shaper.log_val=True", err: "no logarithm"},
	{set: "config.gamma=0.998", want: map[string]string{"agent.discount_factor": "0.998"}},
	{set: "config.gamma=1.5", err: `"params.config.gamma" is 1.5: want a number from 0 to 1`},
	{set: "config.tau=0.9", want: map[string]string{"agent.gae_lambda": "0.9"}},
	{set: "config.learning_rate='1e-4'", want: map[string]string{"agent.learning_rate": "0.0001"}},
	{set: "config.learning_rate=fast", err: `"params.config.learning_rate" is "fast": want a number`},
	{set: "config.learning_rate=.inf", err: `"params.config.learning_rate" is`},
	{set: "config.lr_schedule=linear", want: map[string]string{"agent.learning_rate_scheduler": "LinearLR",
		"agent.learning_rate_scheduler_kwargs": "{start_factor: 1.0, end_factor: 0.0033333333333333335, total_iters: auto}"}},
	{set: "config.lr_schedule=linear config.max_epochs=-1", want: map[string]string{"agent.learning_rate_scheduler": "null"}, note: "the rate is constant, as in rl_games"},
	{set: "config.lr_schedule=fixed", want: map[string]string{"agent.learning_rate_scheduler": "null"}},
	{set: "config.schedule_type=legacy", want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "minibatch"}},
	{set: "config.schedule_type=standard", want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "epoch"}},
	{set: "config.schedule_type=standard_epoch", want: map[string]string{"agent.learning_rate_scheduler": "null"}, note: "the rate is constant, as in rl_games"},
	{set: "config.schedule_type=standard_epoch config.kl_threshold=null", err: `"params.config.kl_threshold" is null: it is missing`},
	{set: ampKeys + "config.schedule_type=standard_epoch", want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "update"}},
	{set: ampKeys + "config.schedule_type=standard", want: map[string]string{"agent.learning_rate_scheduler_kwargs.step": "epoch"}, note: "of all passes of the update so far"},
	{set: "config.schedule_type=sometimes", err: "want legacy, standard or standard_epoch"},
	{set: "config.kl_threshold=0.01", want: map[string]string{"agent.learning_rate_scheduler_kwargs.kl_threshold": "0.01"}},
	{set: "config.kl_threshold=null", err: `"params.config.kl_threshold" is null: it is missing`},
	{set: "config.kl_threshold=null config.lr_schedule=constant", want: map[string]string{"agent.learning_rate_scheduler": "null"}},
	{set: "config.min_lr=1e-5", want: map[string]string{"agent.learning_rate_scheduler_kwargs.min_lr": "1.0e-05"}},
	{set: "config.max_lr=1e-3", want: map[string]string{"agent.learning_rate_scheduler_kwargs.max_lr": "0.001"}},
	{set: "config.schedule_entropy=True", err: "entropy_loss_scale has no schedule"},
	{set: "config.score_to_win=12", want: map[string]string{"trainer.stop_at_episode_return": "12.0"}},
	{set: "config.max_epochs=10", want: map[string]string{"trainer.timesteps": "160"}},
	{set: "config.max_epochs=9007199254740992", err: "more timesteps than can be counted"},
	{set: "config.max_epochs=null", want: map[string]string{"trainer.timesteps": "null"}, note: "config.max_epochs is missing"},
	{set: "config.max_frames=6400", want: map[string]string{"trainer.timesteps": "100"}},
	{set: "config.max_frames=6400000", want: map[string]string{"trainer.timesteps": "8000"}},
	{set: "config.save_frequency=3", want: map[string]string{"trainer.checkpoint_interval": "48"}},
	{set: "config.save_frequency=0", want: map[string]string{"trainer.checkpoint_interval": "null"}},
	{set: "config.grad_norm=0.5", want: map[string]string{"agent.grad_norm_clip": "0.5"}},
	{set: "config.truncate_grads=False", want: map[string]string{"agent.grad_norm_clip": "0.0"}},
	{set: "config.entropy_coef=0.02", want: map[string]string{"agent.entropy_loss_scale": "0.02"}},
	{set: "config.e_clip=0.1", want: map[string]string{"agent.ratio_clip": "0.1", "agent.value_clip": "0.1"}},
	{set: "config.clip_value=False", want: map[string]string{"agent.value_clip": "0.0"}},
	{set: "config.critic_coef=4", want: map[string]string{"agent.value_loss_scale": "2.0"}},
	{set: "config.critic_coef=null", err: `"params.config.critic_coef" is null: it is missing, and rl_games has no default for it`},
	{set: "config.bounds_loss_coef=0.5", want: map[string]string{"agent.bounds_loss_scale": "0.5"}},
	{set: "config.bounds_loss_coef=null", want: map[string]string{"agent.bounds_loss_scale": "0.0", "agent.bounds_loss_type": "null"}},
	{set: "config.bound_loss_type=regularisation", want: map[string]string{"agent.bounds_loss_type": "square"}},
	{set: "config.bound_loss_type=regularization", want: map[string]string{"agent.bounds_loss_scale": "0.0"}, note: `config.bound_loss_type is "regularization", which rl_games does not know`},
	{set: "config.horizon_length=32", want: map[string]string{"agent.rollouts": "32", "trainer.timesteps": "16000"}},
	{set: "config.horizon_length=1.5", err: `"params.config.horizon_length" is 1.5: want a whole number`},
	{set: "config.minibatch_size=256", want: map[string]string{"agent.mini_batch_size": "256"}},
	{set: "config.minibatch_size=500", err: `"params.config.minibatch_size" is 500: a rollout has 1024 rows`},
	{set: "config.minibatch_size=null", err: `"params.config.minibatch_size" is null: it is missing`},
	{set: "config.minibatch_size_per_env=4", want: map[string]string{"agent.mini_batches": "4", "agent.mini_batch_size": "null"}},
	{set: "config.minibatch_size_per_env=5", err: "is no multiple of it"},
	{set: "config.mini_epochs=7", want: map[string]string{"agent.learning_epochs": "7"}},
	{set: "config.use_smooth_clamp=True", err: "not smoothly"},
	{set: "config.freeze_critic=True", err: "learns in every update"},
	{set: "config.epochs_between_resets=5", err: "gorl resets environments once"},
	{set: "config.population_based_training=True", err: "the section pbt"},
	{set: "network.joint_obs_actions={embedding:false}", err: "read no actions"},
	{set: "config.use_action_masks=True", err: noSelfPlay},
	{set: "config.self_play_config={}", err: noSelfPlay},
	{set: "config.self_play=True", err: noSelfPlay},
	{set: "config.weight_decay=0.01", want: map[string]string{"agent.weight_decay": "0.01"}},
	{set: "config.player.deterministic=False", want: map[string]string{"trainer.stochastic_evaluation": "true"}},

	{set: centralValue, want: map[string]string{
		"models.separate": "true", "models.value.network": "[{name: mlp, input: STATES, layers: [8], activations: relu}]",
		"agent.learning_rate": "[0.0003, 0.001]", "agent.grad_norm_clip": "[1.0, 2.0]", "agent.value_loss_scale": "1.0",
		"agent.state_preprocessor": "RunningStandardScaler", "agent.learning_rate_scheduler_networks": "policy"}, note: "config.use_experimental_cv is True"},
	{set: centralValue + " config.lr_schedule=linear config.central_value_config.lr_schedule=linear config.use_experimental_cv=False",
		want: map[string]string{"agent.learning_rate_scheduler_networks": "null"}},
	{set: centralValue + " config.central_value_config.lr_schedule=linear", err: "gorl's networks have one schedule"},
	{set: centralValue + " config.central_value_config.truncate_grads=False", want: map[string]string{"agent.grad_norm_clip": "[1.0, 0.0]"}},
	{set: centralValue + " config.central_value_config.grad_norm=3", want: map[string]string{"agent.grad_norm_clip": "[1.0, 3.0]"}},
	{set: centralValue + " config.central_value_config.learning_rate=5e-5", want: map[string]string{"agent.learning_rate": "[0.0003, 5.0e-05]"}},
	{set: centralValue + " config.central_value_config.learning_rate=null", err: `"params.config.central_value_config.learning_rate" is null: it is missing`},
	{set: centralValue + " config.central_value_config.normalize_input=False", want: map[string]string{"agent.state_preprocessor": "null"}},
	{set: centralValue + " config.central_value_config.mini_epochs=5", err: `"params.config.central_value_config.mini_epochs" is 5: gorl's networks learn together`},
	{set: centralValue + " config.central_value_config.minibatch_size=1024", err: "give agent.params.config.central_value_config.minibatch_size=512"},
	{set: centralValue + " config.central_value_config.minibatch_size_per_env=2", err: `"params.config.central_value_config.minibatch_size_per_env"`},
	{set: centralValue + " config.central_value_config.clip_value=False", err: `"params.config.central_value_config.clip_value" is false`},
	{set: centralValue + " config.central_value_config.e_clip=0.1", err: `"params.config.central_value_config.e_clip" is 0.1`},
	{set: centralValue + " config.central_value_config.weight_decay=0.1", err: "gorl's networks share one"},
	{set: centralValue + " config.central_value_config.use_smooth_clamp=True", err: "not smoothly"},
	{set: centralValue + " config.central_value_config.network.name=resnet", err: "gorl knows actor_critic"},
	{set: centralValue + " config.central_value_config.network.central_value=False", err: "want True, or nothing"},
	{set: centralValue + " config.central_value_config.network=null", err: "it has no mlp"},

	{set: ampKeys, want: map[string]string{
		"agent.learning_rate_scheduler_kwargs.divergence": "gaussian_rollout",
		"agent.class": "AMP", "agent.mini_batch_order": "random", "agent.motion_dataset_size": "100", "agent.reply_buffer_size": "200",
		"agent.replay_admission_probability": "0.01", "agent.amp_batch_size": "50", "agent.discriminator_batch_size": "60",
		"agent.discriminator_loss_scale": "5.0", "agent.discriminator_logit_regularization_scale": "0.05",
		"agent.discriminator_gradient_penalty_scale": "0.2", "agent.discriminator_weight_decay_scale": "0.0001", "agent.style_reward_scale": "1.5",
		"agent.task_reward_scale": "0.25", "agent.amp_observation_preprocessor": "RunningStandardScaler", "agent.value_loss_scale": "2.0",
		"agent.bounds_loss_limit": "1.0",
		"models.discriminator":    "{class: DeterministicMixin, initial_bias: zero, output: ONE, network: [{name: disc, input: OBSERVATIONS, layers: [48], activations: ''}]}"},
		note: "the discriminator's last layer"},
	{set: ampKeys + "config.normalize_amp_input=False network.disc.activation=relu", want: map[string]string{"agent.amp_observation_preprocessor": "null",
		"models.discriminator.network": "[{name: disc, input: OBSERVATIONS, layers: [48], activations: relu}]"}},
	{set: ampKeys + "config.value_bootstrap=null", want: map[string]string{"agent.time_limit_bootstrap": "true"}},
	{set: ampKeys + "config.value_bootstrap=False", want: map[string]string{"agent.time_limit_bootstrap": "true"}, note: "config.value_bootstrap is False, which IsaacGymEnvs' AMP does not read"},
	{set: ampKeys + "config.disc_coef=null", err: `"params.config.disc_coef" is null: it is missing`},
	{set: ampKeys + "network.disc.units=null", err: `"params.network.disc.units" is null: it is missing`},

	{set: "config.gama=0.9", err: `unknown key "params.config.gama" (given 0.9): did you mean "params.config.gamma"?`},
	{set: "network.rnn=3", err: `"params.network.rnn" is 3: want a section of keys`},
	{set: "config.horizon=3", err: `unknown key "params.config.horizon" (given 3): did you mean "params.config.horizon_length"?`},
}

// Every key is honoured, has no meaning, or is refused, as the table says.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range changes {
		o := Options{NumEnvs: 64}
		for _, a := range strings.Fields(x.set) {
			o.Overrides = append(o.Overrides, "agent.params."+strings.ReplaceAll(a, ":", ": "))
		}
		file, err := overridden(parse(t, plain), o.Overrides)
		if err != nil {
			t.Fatalf("%s: %v", x.set, err)
		}
		for _, path := range paths("", file["params"]) {
			if path != "" && strings.Contains(x.set, path[strings.LastIndex(path, ".")+1:]) {
				seen[path] = true
			}
		}
		c, err := Convert(parse(t, plain), o)
		if x.err != "" {
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: the error is %v, want %s", x.set, err, x.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.set, err)
			continue
		}
		for path, text := range x.want {
			want := parse(t, "x: "+text)["x"]
			if diff := cmp.Diff(want, at(c.Sections, path)); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", x.set, path, diff)
			}
		}
		if x.note != "" && !strings.Contains(strings.Join(c.Notes, "\n"), x.note) {
			t.Errorf("%s: the notes are %q, want %s", x.set, c.Notes, x.note)
		}
	}
	for _, k := range keys {
		if same := strings.Replace(k.path, central+".network.", "network.", 1); k.fate != isIdle && !seen[k.path] && !seen[same] {
			t.Errorf("no case changes %s", k.path)
		}
	}
}

// paths are the dotted keys of a section and of those below it.
func paths(prefix string, value any) []string {
	section, ok := value.(map[string]any)
	if !ok {
		return []string{prefix}
	}
	all := []string{prefix}
	for key, x := range section {
		all = append(all, paths(strings.TrimPrefix(prefix+"."+key, "."), x)...)
	}
	return all
}

// A key without meaning changes nothing, whatever its value, and is named.
func TestIdleKeys(t *testing.T) {
	plainly, err := Convert(parse(t, plain), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.fate != isIdle || strings.HasPrefix(k.path, central) || strings.HasPrefix(k.path, "network.rnn") || strings.HasPrefix(k.path, "network.cnn") {
			continue // a section that is begun asks for more
		}
		for _, value := range []string{"3", "some", "{a: 1}", "null"} {
			c, err := Convert(parse(t, plain), Options{NumEnvs: 64, Overrides: []string{"params." + k.path + "=" + value}})
			if err != nil {
				t.Errorf("%s=%s: %v", k.path, value, err)
				continue
			}
			if diff := cmp.Diff(plainly.Sections, c.Sections); diff != "" {
				t.Errorf("%s=%s changes:\n%s", k.path, value, diff)
			}
			if !strings.Contains(strings.Join(c.Notes, "\n"), k.path) {
				t.Errorf("%s is in no note: %q", k.path, c.Notes)
			}
		}
	}
}

// Frames are counted in environment steps, so that their number is needed.
func TestFramesNeedEnvironments(t *testing.T) {
	_, err := Convert(parse(t, plain), Options{Overrides: []string{"params.config.max_frames=100"}})
	if err == nil || !strings.Contains(err.Error(), "give --num-envs N") {
		t.Errorf("the error is %v", err)
	}
}

// Hydra's references, as IsaacGymEnvs has them.
func TestReferences(t *testing.T) {
	text := strings.NewReplacer("seed: 42", "seed: ${...seed}", "name: reach", "name: ${resolve_default:Ant,${....experiment}}\n    full_experiment_name: ${.name}_${..algo.name}",
		"num_actors: -1", "num_actors: ${....task.env.numEnvs}", "max_epochs: 500", "max_epochs: ${resolve_default:1_000,${....max_iterations}}",
		"load_checkpoint: False", "load_checkpoint: ${if:${...checkpoint},True,False}", "mini_epochs: 4", "mini_epochs: ${if:${eq:ant,${.env_name}},3,${if:${contains:RL,${.env_name}},5,6}}",
		"load_path: ''", "load_path: ${...checkpoint}").Replace(plain)
	c, err := Convert(parse(t, text), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{"seed": 42, "trainer.name": "Ant_a2c_continuous", "trainer.timesteps": 16000, "agent.learning_epochs": 5} {
		if got := at(c.Sections, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for from, want := range map[string]string{
		"gamma: ${.gamma}":             "leads back to itself",
		"gamma: ${..config}":           "leads back to itself",
		"gamma: ${.gama}":              `"params.config.gamma" is "${.gama}": it refers to what is not in the file; give the value itself: agent.params.config.gamma=VALUE`,
		"gamma: ${....task.env.gamma}": "it refers to what is not in the file",
		"gamma: ${.......x}":           "climbs above the top",
		"gamma: ${max:1,2}":            `there is no function "max"; give the value itself by agent.params.config.gamma=VALUE`,
		"gamma: ${if:1,2}":             "if has 2 arguments, want 3",
		"gamma: ${.tau":                "a ${ has no }",
	} {
		_, err := Convert(parse(t, strings.Replace(plain, "gamma: 0.99", from, 1)), Options{NumEnvs: 64})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", from, err, want)
		}
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
	for path, want := range map[string]map[string]any{
		over:  {"agent.discount_factor": 0.5, "agent.learning_epochs": 2, "agent.gae_lambda": 0.95},
		under: {"agent.discount_factor": 0.5, "agent.learning_epochs": 2, "agent.weight_decay": 0.3},
		write("Plain.yaml", "defaults: [Base]\nparams: {config: {gamma: 0.25}}"): {"agent.discount_factor": 0.25},
	} {
		c, err := Read(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if got := at(c.Sections, key); got != value {
				t.Errorf("%s: %s is %v, want %v", path, key, got, value)
			}
		}
	}
	for text, want := range map[string]string{
		"defaults: [Loop]":        "names itself",
		"defaults: [../Base]":     "want the name of a file beside this one",
		"defaults: [{a: b}]":      "want the name of a file beside this one",
		"defaults: Base":          "want a list of files beside this one",
		"defaults: [Nothing]":     "Nothing.yaml",
		"params: 3":               `"params" is 3`,
		"{}":                      `"params" is null`,
		"{params: {}, parms: {}}": `unknown key "parms"`,
	} {
		path := write("Loop.yaml", text)
		if _, err := Read(path, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: the error is %v, want %s", text, err, want)
		}
	}
	if _, err := Convert(parse(t, "{defaults: [Base], params: {}}"), Options{}); err == nil || !strings.Contains(err.Error(), "read it by its path") {
		t.Errorf("%v", err)
	}
}

// Isaac Lab's population is off until it is switched on.
func TestPopulation(t *testing.T) {
	text := plain + "pbt: {enabled: False, num_policies: 3, objective: episode.Curriculum/adr, mutation: {agent.params.config.learning_rate: mutate_float}}"
	c, err := Convert(parse(t, text), Options{NumEnvs: 64})
	if err != nil {
		t.Fatal(err)
	}
	if c.Sections["pbt"] != nil || c.Sections["preset"] != nil {
		t.Errorf("a population that is off is %v", c.Sections["pbt"])
	}
	if c, err = Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{"agent.pbt.enabled=True", "++agent.pbt.num_policies=5"}}); err != nil {
		t.Fatal(err)
	}
	want := parse(t, "{enabled: true, num_policies: 5, objective: episode.Curriculum/adr, mutation: {agent.params.config.learning_rate: mutate_float}, total_steps: 512000}")
	if diff := cmp.Diff(want, c.Sections["pbt"]); diff != "" || c.Sections["preset"] != "isaaclab" {
		t.Errorf("preset %v, -want +got:\n%s", c.Sections["preset"], diff)
	}
	for _, x := range []string{"pbt=3", "pbt.enabled=often", "pbt.directory=${task.name}"} {
		if _, err := Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{x}}); err == nil {
			t.Errorf("%s gave no error", x)
		}
	}
}

// Every line of the table is whole, and its paths are different.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.path] {
			t.Errorf("%s is there twice", k.path)
		}
		seen[k.path] = true
		if (k.gorl == "") != (k.fate == isRefused) || k.fate == isRefused && k.why == "" {
			t.Errorf("%s: %d, %q, %q", k.path, k.fate, k.gorl, k.why)
		}
		if k.fallback != nil && k.kind != anything {
			if read, ok := k.kind.read(k.fallback); !ok || read != k.fallback {
				t.Errorf("%s: the default %v is no %s", k.path, k.fallback, k.kind.want())
			}
		}
	}
	if sections["config.gamma"] || !sections["config.central_value_config.network.mlp"] {
		t.Errorf("the sections are %v", slices.Sorted(maps.Keys(sections)))
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
