package rlgames

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

	{set: "network.mlp.units=[5] network.mlp.activation=swish network.mlp.initializer.name=default",
		want: map[string]string{
			"models.policy.network": "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: silu}]",
			"models.value.network":  "[{name: mlp, input: OBSERVATIONS, layers: [5], activations: silu}]"}},
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
	{set: "config.max_epochs=null", want: map[string]string{"trainer.timesteps": "null"},
		note: "config.max_epochs is missing"},
	{set: "config.max_frames=6400", want: map[string]string{"trainer.timesteps": "100"}},
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
	{set: centralValue + " config.central_value_config.mini_epochs=5",
		err: `"params.config.central_value_config.mini_epochs" is 5: gorl's networks learn together`},
	{set: centralValue + " config.central_value_config.minibatch_size=1024",
		err: "give agent.params.config.central_value_config.minibatch_size=512"},
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

	{set: "config.gama=0.9", err: `unknown key "params.config.gama" (given 0.9): did you mean "params.config.gamma"?`},
}
