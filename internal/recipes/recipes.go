// Package recipes says what the hyperparameters of other libraries' PPO are called in gorl.
package recipes

import (
	"fmt"
	"slices"
	"strings"
)

// Hyperparameter is one of another library's PPO, and what it is here.
type Hyperparameter struct {
	// Library is one of [Libraries]. Name and Default are the library's.
	Library, Name, Default string
	// Key is the setting of gorl, "" where it has none. A key of another section than agent: begins with the section's
	// name ("trainer.timesteps").
	Key string
	// Note says how the values relate, or what gorl has instead.
	Note string
}

// Libraries are those that [Hyperparameters] names, in its order.
var Libraries = []string{"CleanRL", "Stable-Baselines3", "rsl_rl"}

// Hints maps other libraries' names of settings to what gorl calls them, for errors about unknown keys. The names of
// PyTorch's Adam and the keys that only AMP has are included. The hint of a name of rl_games is where its table is.
func Hints() map[string]string {
	hints := map[string]string{}
	for _, h := range slices.Concat(Hyperparameters, torch) {
		meaning := fmt.Sprintf("is %q here", h.Key)
		switch {
		case h.Key == "":
			meaning = "is not in gorl: " + h.Note
		case h.Note != "":
			meaning += " (" + h.Note + ")"
		}
		before, given := hints[h.Name]
		switch {
		case !given:
			hints[h.Name] = fmt.Sprintf("that of %s %s", h.Library, meaning)
		case strings.HasSuffix(before, " "+meaning):
			hints[h.Name] = fmt.Sprintf("%s, %s %s", strings.TrimSuffix(before, " "+meaning), h.Library, meaning)
		default:
			hints[h.Name] = fmt.Sprintf("%s; that of %s %s", before, h.Library, meaning)
		}
	}
	for _, key := range rlGamesKeys {
		hints[key] = "that is a name of rl_games: gorl convert translates its files, and docs/reference/rl-games.md " +
			"lists what each of its keys is here"
	}
	for _, key := range ampKeys {
		hints[key] = "that is a setting of AMP: leave it out, or train with agent.class AMP (package agents/amp)"
	}
	return hints
}

// ampKeys are the settings of agents/amp that PPO does not have.
var ampKeys = []string{
	"amp_batch_size", "amp_observation_frames", "amp_observation_preprocessor", "amp_observation_preprocessor_kwargs",
	"discriminator_batch_size", "discriminator_grad_norm_clip", "discriminator_gradient_penalty_samples",
	"discriminator_gradient_penalty_scale", "discriminator_learning_rate", "discriminator_logit_regularization_scale",
	"discriminator_loss", "discriminator_loss_scale", "discriminator_masked_features", "discriminator_mode",
	"discriminator_optimizer", "discriminator_weight_decay_scale", "diversity_loss_scale", "encoder_loss_scale",
	"encoder_reward_scale", "latent_mode", "latent_size", "mismatched_negatives", "motion_dataset_size",
	"replay_admission_probability", "reply_buffer_size", "separate_critics", "style_reward_scale", "task_reward_scale",
	"termination_steps", "termination_style_reward", "uniformity_loss_scale", "wasserstein_eta",
}

// rlGamesKeys are the names of rl_games' settings that none of [Libraries] has.
var rlGamesKeys = []string{
	"bound_loss_type", "bounds_loss_coef", "central_value_config", "clip_value", "critic_coef", "e_clip", "env_name",
	"fixed_sigma", "games_to_track", "grad_norm", "horizon_length", "initializer", "lr_schedule", "max_epochs",
	"max_frames", "mini_epochs", "minibatch_size_per_env", "mu_activation", "multi_gpu", "normalize_input",
	"normalize_rms_advantage", "normalize_value", "num_actors", "population_based_training", "print_stats",
	"reward_shaper", "rnn", "save_best_after", "save_frequency", "schedule_entropy", "schedule_type", "score_to_win",
	"self_play_config", "separate", "seq_length", "sigma_init", "tau", "train_dir", "truncate_grads", "units",
	"use_action_masks", "use_diagnostics", "use_smooth_clamp", "value_bootstrap", "zero_rnn_on_done",
}

// torch are names of PyTorch's optimizers.
var torch = []Hyperparameter{
	{"PyTorch", "lr", "", "learning_rate", ""},
	{"PyTorch", "eps", "", "adam_epsilon", ""},
	{"PyTorch", "betas", "", "adam_betas", ""},
}

// perEnvironment is a note that several rows share.
const perEnvironment = "counts environment steps: divide by num_envs for timesteps"

// Hyperparameters are all of the PPO of CleanRL (ppo_continuous_action.py, and in brackets ppo.py), Stable-Baselines3
// (PPO and its MlpPolicy) and rsl_rl (the configuration of OnPolicyRunner). docs/reference/recipes.md is made of them.
var Hyperparameters = []Hyperparameter{
	{"CleanRL", "exp_name", "the script's name", "trainer.name", ""},
	{"CleanRL", "seed", "1", "seed", ""},
	{"CleanRL", "torch_deterministic", "True", "", "the same seed on the same machine makes the same run"},
	{"CleanRL", "cuda", "True", "device", "cuda, cpu or auto"},
	{"CleanRL", "track", "False", "trainer.trackers", "[wandb]"},
	{"CleanRL", "wandb_project_name", "cleanRL", "trainer.trackers", "[{wandb: {project: ...}}]"},
	{"CleanRL", "wandb_entity", "None", "trainer.trackers", "[{wandb: {entity: ...}}]"},
	{"CleanRL", "capture_video", "False", "trainer.video_interval", "the timesteps between films; 0 makes none"},
	{"CleanRL", "save_model", "False", "trainer.checkpoint_interval", ""},
	{"CleanRL", "upload_model", "False", "", "nothing is uploaded"},
	{"CleanRL", "hf_entity", "empty", "", "nothing is uploaded"},
	{"CleanRL", "env_id", "HalfCheetah-v4 (CartPole-v1)", "environment.id",
		"gymnasium:HalfCheetah-v5 through the bridge"},
	{"CleanRL", "total_timesteps", "1000000 (500000)", "trainer.timesteps", perEnvironment},
	{"CleanRL", "learning_rate", "3e-4 (2.5e-4)", "learning_rate", ""},
	{"CleanRL", "num_envs", "1 (4)", "environment.num_envs", ""},
	{"CleanRL", "num_steps", "2048 (128)", "rollouts", ""},
	{"CleanRL", "anneal_lr", "True", "learning_rate_scheduler",
		"LinearLR with {start_factor: 1, end_factor: 0, total_iters: auto}"},
	{"CleanRL", "gamma", "0.99", "discount_factor", ""},
	{"CleanRL", "gae_lambda", "0.95", "gae_lambda", ""},
	{"CleanRL", "num_minibatches", "32 (4)", "mini_batches", ""},
	{"CleanRL", "update_epochs", "10 (4)", "learning_epochs", ""},
	{"CleanRL", "norm_adv", "True", "advantage_normalization", "minibatch, or none for False"},
	{"CleanRL", "clip_coef", "0.2", "ratio_clip", "and value_clip, with clip_vloss"},
	{"CleanRL", "clip_vloss", "True", "value_clip", "the number of clip_coef, or 0 for False"},
	{"CleanRL", "ent_coef", "0 (0.01)", "entropy_loss_scale", ""},
	{"CleanRL", "vf_coef", "0.5", "value_loss_scale", "half the number"},
	{"CleanRL", "max_grad_norm", "0.5", "grad_norm_clip", ""},
	{"CleanRL", "target_kl", "None", "kl_threshold", "checked before every optimizer step, there after an epoch"},
	{"CleanRL", "batch_size", "num_envs × num_steps", "", "rollouts × num_envs"},
	{"CleanRL", "minibatch_size", "batch_size / num_minibatches", "mini_batch_size", "the same number"},
	{"CleanRL", "num_iterations", "total_timesteps / batch_size", "", "the number of updates is timesteps / rollouts"},
	{"CleanRL", "eps of Adam, in the code", "1e-5", "adam_epsilon", ""},
	{"CleanRL", "layer_init, in the code", "orthogonal, √2; 0.01; 1", "models.initialization",
		"orthogonal; its gains are the defaults"},
	{"CleanRL", "actor_logstd, in the code", "0", "", "the log standard deviation of {mlp: ...} starts at 0"},
	{"CleanRL", "Agent, in the code", "64-64, tanh", "models.mlp", "{mlp: [64, 64], activation: tanh}"},
	{"CleanRL", "make_env, in the code", "(none)", "environment.wrappers",
		"clip_action, normalize_observation, clip_observation, normalize_reward, clip_reward"},
	{"CleanRL", "dones, in the code", "ended or cut", "time_limit_bootstrap", "false: a truncation counts as an end"},

	{"Stable-Baselines3", "policy", "MlpPolicy", "models.mlp", "{mlp: [64, 64], activation: tanh}"},
	{"Stable-Baselines3", "env", "", "environment.id", ""},
	{"Stable-Baselines3", "learning_rate", "3e-4", "learning_rate",
		"a linear schedule: LinearLR with {start_factor: 1, end_factor: 0, total_iters: auto, start_epoch: 1}"},
	{"Stable-Baselines3", "n_steps", "2048", "rollouts", ""},
	{"Stable-Baselines3", "batch_size", "64", "mini_batch_size", "the same number"},
	{"Stable-Baselines3", "n_epochs", "10", "learning_epochs", ""},
	{"Stable-Baselines3", "gamma", "0.99", "discount_factor", ""},
	{"Stable-Baselines3", "gae_lambda", "0.95", "gae_lambda", ""},
	{"Stable-Baselines3", "clip_range", "0.2", "ratio_clip", "a number: it does not change with the progress"},
	{"Stable-Baselines3", "clip_range_vf", "None", "value_clip",
		"0 for None; there the clipped loss counts alone, here the larger one does"},
	{"Stable-Baselines3", "normalize_advantage", "True", "advantage_normalization", "minibatch, or none for False"},
	{"Stable-Baselines3", "ent_coef", "0", "entropy_loss_scale", ""},
	{"Stable-Baselines3", "vf_coef", "0.5", "value_loss_scale", "the same number"},
	{"Stable-Baselines3", "max_grad_norm", "0.5", "grad_norm_clip", ""},
	{"Stable-Baselines3", "use_sde", "False", "", "noise is drawn at every step"},
	{"Stable-Baselines3", "sde_sample_freq", "-1", "", "noise is drawn at every step"},
	{"Stable-Baselines3", "rollout_buffer_class", "None", "", "there is one kind of rollout"},
	{"Stable-Baselines3", "rollout_buffer_kwargs", "None", "", "there is one kind of rollout"},
	{"Stable-Baselines3", "target_kl", "None", "kl_threshold", "1.5 times the number"},
	{"Stable-Baselines3", "stats_window_size", "100", "", "figures of episodes are means over the last 100"},
	{"Stable-Baselines3", "tensorboard_log", "None", "trainer.directory", ""},
	{"Stable-Baselines3", "policy_kwargs", "None", "models.mlp", "see the names that follow"},
	{"Stable-Baselines3", "net_arch", "[64, 64] each", "models.mlp",
		"networks of two shapes: models.policy and models.value in full"},
	{"Stable-Baselines3", "activation_fn", "Tanh", "models.activation", ""},
	{"Stable-Baselines3", "ortho_init", "True", "models.initialization", "orthogonal; its gains are the defaults"},
	{"Stable-Baselines3", "log_std_init", "0", "models.policy.initial_log_std", "{mlp: ...} starts at 0"},
	{"Stable-Baselines3", "full_std", "True", "", "it belongs to use_sde"},
	{"Stable-Baselines3", "use_expln", "False", "", "it belongs to use_sde"},
	{"Stable-Baselines3", "squash_output", "False", "models.policy.output", `"tanh(ACTIONS)" squashes the mean`},
	{"Stable-Baselines3", "features_extractor_class", "FlattenExtractor", "models.policy.network", ""},
	{"Stable-Baselines3", "share_features_extractor", "True", "models.separate",
		"false lets policy and value share a trunk"},
	{"Stable-Baselines3", "normalize_images", "True", "", "observations are rows of numbers"},
	{"Stable-Baselines3", "optimizer_class", "Adam", "optimizer", ""},
	{"Stable-Baselines3", "optimizer_kwargs", "{eps: 1e-5}", "adam_epsilon", "and adam_betas, weight_decay"},
	{"Stable-Baselines3", "verbose", "0", "trainer.disable_progressbar", ""},
	{"Stable-Baselines3", "seed", "None", "seed", ""},
	{"Stable-Baselines3", "device", "auto", "device", ""},
	{"Stable-Baselines3", "total_timesteps", "", "trainer.timesteps", perEnvironment},
	{"Stable-Baselines3", "clip of actions, in the code", "to the Box", "environment.wrappers", "clip_action"},

	{"rsl_rl", "seed", "1", "seed", ""},
	{"rsl_rl", "device", "cuda:0", "device", ""},
	{"rsl_rl", "num_steps_per_env", "24", "rollouts", ""},
	{"rsl_rl", "max_iterations", "1500", "trainer.timesteps", "times num_steps_per_env"},
	{"rsl_rl", "save_interval", "50", "trainer.checkpoint_interval", "counts updates; times num_steps_per_env"},
	{"rsl_rl", "experiment_name", "", "trainer.directory", ""},
	{"rsl_rl", "run_name", "", "trainer.name", ""},
	{"rsl_rl", "logger", "tensorboard", "trainer.trackers",
		"TensorBoard's files are always written; [wandb] or [mlflow] besides"},
	{"rsl_rl", "resume", "False", "trainer.resume", ""},
	{"rsl_rl", "load_run", "", "trainer.name", "gorl train --resume RUN"},
	{"rsl_rl", "load_checkpoint", "", "", "a resumed run goes on from its newest checkpoint"},
	{"rsl_rl", "clip_actions", "None", "environment.wrappers", "clip_action clips to the action space"},
	{"rsl_rl", "obs_groups", "", "", "an environment shows observations and states; models name their input"},
	{"rsl_rl", "empirical_normalization", "False", "observation_preprocessor",
		"RunningStandardScaler, which learns once an update, there every step"},
	{"rsl_rl", "actor_obs_normalization", "False", "observation_preprocessor",
		"RunningStandardScaler, which learns once an update, there every step"},
	{"rsl_rl", "critic_obs_normalization", "False", "state_preprocessor",
		"RunningStandardScaler; without states the value network reads what the policy does"},
	{"rsl_rl", "obs_normalization", "False", "observation_preprocessor", "of the critic: state_preprocessor"},
	{"rsl_rl", "actor_hidden_dims", "[256, 256, 256]", "models.mlp", ""},
	{"rsl_rl", "critic_hidden_dims", "[256, 256, 256]", "models.mlp",
		"another shape: models.policy and models.value in full"},
	{"rsl_rl", "hidden_dims", "[256, 256, 256]", "models.mlp", ""},
	{"rsl_rl", "activation", "elu", "models.activation", ""},
	{"rsl_rl", "init_noise_std", "1.0", "models.policy.initial_log_std", "its logarithm"},
	{"rsl_rl", "noise_std_type", "scalar", "", "the parameter is the logarithm"},
	{"rsl_rl", "state_dependent_std", "False", "models.policy.state_dependent_log_std", ""},
	{"rsl_rl", "class_name", "PPO", "class", "PPO or AMP"},
	{"rsl_rl", "num_learning_epochs", "5", "learning_epochs", ""},
	{"rsl_rl", "num_mini_batches", "4", "mini_batches", "with mini_batch_order: random_once"},
	{"rsl_rl", "clip_param", "0.2", "ratio_clip", "and value_clip, with use_clipped_value_loss"},
	{"rsl_rl", "gamma", "0.99", "discount_factor", ""},
	{"rsl_rl", "lam", "0.95", "gae_lambda", ""},
	{"rsl_rl", "value_loss_coef", "1.0", "value_loss_scale", "the same number"},
	{"rsl_rl", "use_clipped_value_loss", "True", "value_clip", "the number of clip_param, or 0 for False"},
	{"rsl_rl", "entropy_coef", "0.01", "entropy_loss_scale", ""},
	{"rsl_rl", "learning_rate", "1e-3", "learning_rate", ""},
	{"rsl_rl", "max_grad_norm", "1.0", "grad_norm_clip",
		"one number a network, [1, 1]: newer versions clip each by itself, older ones both together"},
	{"rsl_rl", "optimizer", "adam", "optimizer", ""},
	{"rsl_rl", "schedule", "adaptive", "learning_rate_scheduler",
		"KLAdaptiveLR with {step: minibatch}, which changes the rate after the optimizer step, there before it"},
	{"rsl_rl", "desired_kl", "0.01", "learning_rate_scheduler_kwargs", "{kl_threshold: 0.01, min_lr: 1e-5}"},
	{"rsl_rl", "normalize_advantage_per_mini_batch", "False", "advantage_normalization",
		"rollout for False, minibatch for True"},
	{"rsl_rl", "rnd_cfg", "None", "", "there is no reward for curiosity"},
	{"rsl_rl", "symmetry_cfg", "None", "", "an environment can mirror what it shows"},
	{"rsl_rl", "time_outs, of the environment", "bootstrapped", "time_limit_bootstrap",
		"true: by the value of the last observation, there by that of the one before"},
}
