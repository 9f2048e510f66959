package rlgames

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// fate is what gorl does with a key.
type fate int

const (
	isHonoured fate = iota // it becomes something of gorl's that does the same; values that cannot are refused
	isIdle                 // it has no meaning for gorl, and changes nothing
	isRefused              // it is accepted where it changes nothing, as most files have it, and refused otherwise
)

// key is one line of the table: a key of rl_games' files and what gorl does with it. gorl, why and values are Markdown
// for docs/reference/rl-games.md. why also is the reason in errors.
type key struct {
	path     string // below params, dotted
	fate     fate
	kind     kind
	fallback any                  // rl_games' value where a file does not have the key, nil for none
	gorl     string               // gorl's setting for it
	setting  string               // the agent's setting that takes the value as it is, or ""
	amp      bool                 // only AMP has the key
	check    func(value any) bool // whether a value can be honoured; nil: every one
	why      string               // the reason for which a value is refused
	values   string               // of a refused key, the values that are accepted
}

// table has all keys by path. sections has the paths that have keys below them. init fills both from keys.
var (
	table    = map[string]key{}
	sections = map[string]bool{}
)

func init() {
	for _, k := range keys {
		table[k.path] = k
		for path, i := k.path, strings.LastIndex(k.path, "."); i > 0; i = strings.LastIndex(path, ".") {
			path = path[:i]
			sections[path] = true
		}
	}
}

// nearest returns the path, with params, of the key that an unknown one most likely means, or "". It is the closest key
// of the same section, or otherwise a key of any section with the same last name.
func nearest(path string) string {
	section, name := path[:strings.LastIndex(path, ".")+1], path[strings.LastIndex(path, ".")+1:]
	var names []string
	elsewhere := ""
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.path, section); ok && !strings.Contains(rest, ".") {
			names = append(names, rest)
		}
		if elsewhere == "" && strings.HasSuffix(k.path, "."+name) {
			elsewhere = "params." + k.path
		}
	}
	if n := config.Nearest(name, names); n != "" {
		return "params." + section + n
	}
	return elsewhere
}

// honoured returns a line for a key that becomes a setting of gorl. fallback is rl_games' default. It is nil if
// rl_games has none, or if a missing key means something of its own.
func honoured(path string, k kind, fallback any, gorl string) key {
	return key{path: path, fate: isHonoured, kind: k, fallback: fallback, gorl: gorl}
}

// direct returns a line for a key whose value is the value of a setting of the agent.
func direct(path string, k kind, fallback any, setting string) key {
	d := honoured(path, k, fallback, "`"+setting+"`")
	d.setting = setting
	return d
}

// imitates is direct for a key that only AMP has, and needs.
func imitates(path string, k kind, setting string) key {
	return key{path: path, fate: isHonoured, kind: k, gorl: "AMP: `" + setting + "`", setting: setting, amp: true}
}

// but limits the values of an honoured key. check gets values in the Go type of the kind. An error gives why as the
// reason.
func (k key) but(check func(value any) bool, why string) key {
	k.check, k.why = check, why
	return k
}

// idle returns the lines of keys without meaning for gorl. Their values are not checked. gorl may name what to use
// instead. section is the part of their paths that the names have in common, with its dot.
func idle(gorl, section string, names ...string) (list []key) {
	for _, name := range names {
		list = append(list, key{path: section + name, fate: isIdle, gorl: gorl})
	}
	return list
}

// only returns a line for a key that is refused unless it has one of values. With these rl_games does what gorl does in
// any case. Without values every given value is refused.
func only(path string, k kind, why string, values ...any) key {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprintf("`%v`", v)
		if b, ok := v.(bool); ok { // as Python writes it
			names[i] = map[bool]string{true: "`True`", false: "`False`"}[b]
		}
	}
	return key{path: path, fate: isRefused, kind: k, why: why, check: oneOf(values...),
		values: strings.Join(names, " and ")}
}

// oneOf returns a check that accepts values. They must have the Go type of the key's kind: 0 never equals 0.0.
func oneOf(values ...any) func(any) bool {
	return func(v any) bool { return slices.Contains(values, v) }
}

// positive, atLeast0, share and activation limit the values of an honoured key.
func (k key) positive() key { return k.but(within(least, math.Inf(1)), "want a number above 0") }
func (k key) atLeast0() key { return k.but(within(0, math.Inf(1)), "want a number of at least 0") }
func (k key) share() key    { return k.but(within(0, 1), "want a number from 0 to 1") }
func (k key) activation() key {
	return k.but(func(v any) bool { _, ok := activations[v.(string)]; return ok },
		"want None, relu, tanh, sigmoid, elu, selu, swish, gelu or softplus")
}

// least is the smallest number above 0.
const least = math.SmallestNonzeroFloat64

// within returns a check of numbers from low to high, including both.
func within(low, high float64) func(any) bool {
	return func(v any) bool { x, ok := toNumber(v); return ok && x >= low && x <= high }
}

// Reasons that several keys share.
const (
	smooth      = "gorl clips the surrogate and values at their limits, not smoothly"
	otherLosses = "rl_games' discrete actions have other losses; use a file of skrl's"
	noEffect    = "no effect in rl_games either"
	noSelfPlay  = "gorl has the environment's wrapper self_play, in a population"
)

// layers returns the keys of a network's layers. section is "network" (the policy's) or that of the central value.
func layers(section string) []key {
	return slices.Concat([]key{
		honoured(section+".mlp.units", list, nil, "the linear layers of the container `mlp`"),
		honoured(section+".mlp.activation", text, "None", "`activations`; `swish` is `silu`").activation(),
		only(section+".mlp.d2rl", boolean, "gorl has no layers that read the observation again", false),
		honoured(section+".mlp.initializer.name", text, "default", "`initial_bias: zero`, and weights as "+
			"PyTorch's").but(oneOf("default"), "gorl starts weights as PyTorch does, which rl_games calls default"),
		honoured(section+".rnn.name", text, "", "a layer `lstm`, `gru` or `rnn` in the container "+
			"`rnn`").but(oneOf("lstm", "gru", "rnn"), "gorl has lstm, gru and rnn"),
		honoured(section+".rnn.units", whole, nil, "`hidden_size`").positive(),
		honoured(section+".rnn.layers", whole, 1, "`num_layers`").positive(),
		honoured(section+".rnn.before_mlp", boolean, false,
			"True: `rnn` reads observations and `mlp` reads `rnn`; False: the other way round"),
		honoured(section+".rnn.concat_input", boolean, false,
			"after the perceptron: `rnn` reads `concatenate([mlp, OBSERVATIONS])`; before it nothing reads it"),
		only(section+".rnn.concat_output", boolean, "gorl's heads read the recurrent layer alone", false),
		honoured(section+".rnn.layer_norm", boolean, false, "a `layer_norm` behind it"),
		only(section+".normalization", anything, "gorl's layers have no normalization"),
		only(section+".joint_obs_actions", anything, "gorl's value networks read no actions"),
		only(section+".inputs", anything, "gorl's networks have no named inputs; concatenate them in the environment"),
	}, idle(noEffect, section+".mlp.", "initializer.scale", "initializer.gain", "regularizer", "norm_only_first_layer"),
		idle("rl_games reads config.zero_rnn_on_done instead", section+".rnn.", "zero_rnn_on_done"))
}

// policyKeys are the keys of heads, log σ, convolutions and the discriminator of AMP.
var policyKeys = []key{
	// The heads.
	only("network.name", text, "gorl knows actor_critic and, of AMP, amp", "actor_critic", "amp"),
	honoured("network.separate", boolean, false, "`models.separate`"),
	honoured("network.value_activation", text, "None",
		"a function around `ONE` in the value's output").activation(),
	honoured("network.space.continuous.mu_activation", text, "None",
		"a function around `ACTIONS` in the policy's output").activation(),
	only("network.space.continuous.sigma_activation", text, "log σ is used as it is"),
	only("network.space.continuous.mu_init.name", text,
		"gorl starts weights as PyTorch does, which rl_games calls default", "default"),
	only("network.space.continuous.sigma_init.name", text,
		"gorl starts log σ at one number, as const_initializer does", "const_initializer"),
	honoured("network.space.continuous.sigma_init.val", number, 0.0,
		"`initial_log_std`; with fixed_sigma: False it must be 0"),
	honoured("network.space.continuous.fixed_sigma", boolean, true, "False: `state_dependent_log_std: true`"),
	honoured("network.space.continuous.learn_sigma", boolean, true, "False: `fixed_log_std: true`"),
	only("network.space.discrete", anything, otherLosses),
	only("network.space.multi_discrete", anything, otherLosses),
	// Convolutions, and the discriminator of AMP.
	honoured("network.cnn.type", text, "", "the container `cnn`").but(oneOf("conv2d"), "gorl has conv2d"),
	honoured("network.cnn.convs", list, nil,
		"its layers `conv2d`, and `flatten`; each has filters, kernel_size, strides and padding"),
	honoured("network.cnn.activation", text, "None", "its `activations`").activation(),
	only("network.cnn.initializer.name", text, "gorl starts weights as PyTorch does, which rl_games calls default",
		"default"),
	honoured("network.cnn.permute_input", boolean, true,
		"pictures are height × width × channels and permuted; False: they are channels × height × width"),
	honoured("network.disc.units", list, nil, "AMP: the discriminator's linear layers"),
	honoured("network.disc.activation", text, "None", "AMP: its `activations`").activation(),
	only("network.disc.initializer.name", text, "gorl starts weights as PyTorch does, which rl_games calls default",
		"default"),
}

// keys are all keys, in the order of the reference. What several keys decide together is in the methods of conversion.
var keys = slices.Concat([]key{
	// The algorithm, and what Isaac Lab adds to params for its environments.
	honoured("seed", number, nil, "`seed`; negative: drawn at random"),
	honoured("algo.name", text, nil, "`a2c_continuous`: `agent.class: PPO`; `amp_continuous`: `AMP`"),
	honoured("model.name", text, nil, "a Gaussian policy of log σ without limits").but(oneOf("continuous_a2c_logstd",
		"continuous_amp"), "gorl knows continuous_a2c_logstd and, of AMP, continuous_amp"),
	only("load_checkpoint", boolean,
		"gorl does not read checkpoints of rl_games; gorl train --resume continues a run of gorl's", false),
	honoured("env.clip_actions", number, nil, "the wrapper `clip_action`, see config.clip_actions").positive(),
	honoured("env.clip_observations", number, nil,
		"the wrapper `clip_observation`; states are left as they are").positive(),
	honoured("env.obs_groups.obs", list, nil,
		"`environment.observation_groups`; [policy] is what simulators give in any case"),
	honoured("env.obs_groups.states", list, nil,
		"`environment.state_groups`, with a central value; nothing else reads states"),
}, policyKeys, layers("network"), []key{
	// The run's folder, devices and processes.
	honoured("config.name", text, nil, "`trainer.name`, the run's folder"),
	honoured("config.full_experiment_name", text, nil, "the same, instead of config.name"),
	honoured("config.train_dir", text, nil, "`trainer.directory`"),
	only("config.ppo", boolean, "without PPO's clip it is A2C", true),
	// Scalers, rewards and returns.
	honoured("config.normalize_input", boolean, false, "`observation_preprocessor: RunningStandardScaler`"),
	honoured("config.normalize_value", boolean, false, "`value_preprocessor: RunningStandardScaler`"),
	honoured("config.normalize_advantage", boolean, true, "`advantage_normalization`: `rollout`, or `none`"),
	only("config.normalize_rms_advantage", boolean, "gorl has no running statistics of advantages", false),
	honoured("config.value_bootstrap", boolean, false, "`time_limit_bootstrap`; of AMP always true"),
	direct("config.reward_shaper.scale_value", number, 1.0, "rewards_shaper_scale").but(
		func(v any) bool { return v != 0.0 }, "every reward would be 0"),
	only("config.reward_shaper.shift_value", number, "gorl scales rewards and does not shift them", 0.0),
	only("config.reward_shaper.min_val", number, "gorl clips rewards before it scales them: wrapper clip_reward"),
	only("config.reward_shaper.max_val", number, "gorl clips rewards before it scales them: wrapper clip_reward"),
	only("config.reward_shaper.log_val", boolean, "gorl takes no logarithm of rewards", false),
	direct("config.gamma", number, nil, "discount_factor").share(),
	direct("config.tau", number, nil, "gae_lambda").share(),
	// The learning rate and its schedule.
	direct("config.learning_rate", number, nil, "learning_rate").positive(),
	honoured("config.lr_schedule", text, "None", "`adaptive`: `KLAdaptiveLR` with `divergence: gaussian`, of AMP "+
		"`gaussian_rollout`; `linear`: `LinearLR` to 1e-6 at the end; others: constant"),
	honoured("config.schedule_type", text, "legacy",
		"its `step`: `legacy`, per minibatch; `standard`, per epoch; `standard_epoch`: of AMP per update, otherwise a "+
			"constant rate, as in rl_games").but(
		oneOf("legacy", "standard", "standard_epoch"), "want legacy, standard or standard_epoch"),
	honoured("config.kl_threshold", number, nil, "the same key of the schedule").positive(),
	honoured("config.min_lr", number, 1e-6, "the same key of the schedule").positive(),
	honoured("config.max_lr", number, 1e-2, "the same key of the schedule").positive(),
	only("config.schedule_entropy", boolean, "gorl's entropy_loss_scale has no schedule", false),
	// The length of the run, and its checkpoints.
	honoured("config.score_to_win", number, nil, "`trainer.stop_at_episode_return`"),
	honoured("config.max_epochs", whole, nil, "`trainer.timesteps`, times config.horizon_length"),
	honoured("config.max_frames", number, nil,
		"`trainer.timesteps`, divided by the number of environments; the smaller of both counts"),
	honoured("config.save_frequency", whole, 0, "`checkpoint_interval`, times config.horizon_length").atLeast0(),
	// The losses.
	honoured("config.grad_norm", number, 1.0, "`grad_norm_clip`, where config.truncate_grads is True").atLeast0(),
	honoured("config.truncate_grads", boolean, false, "False: `grad_norm_clip: 0`"),
	direct("config.entropy_coef", number, 0.0, "entropy_loss_scale").atLeast0(),
	honoured("config.e_clip", number, 0.2, "`ratio_clip`, and `value_clip`").positive(),
	honoured("config.clip_value", boolean, false, "False: `value_clip: 0`"),
	honoured("config.critic_coef", number, nil, "half of it is `value_loss_scale`; of AMP, all of it").atLeast0(),
	direct("config.bounds_loss_coef", number, 0.0, "bounds_loss_scale").atLeast0(),
	honoured("config.bound_loss_type", text, "bound", "`bounds_loss_type`: `bound` is `limit`, `regularisation` is "+
		"`square`; any other text leaves the loss out, as in rl_games"),
	// Rollouts, minibatches and sequences.
	direct("config.horizon_length", whole, nil, "rollouts").positive(),
	honoured("config.minibatch_size", whole, nil,
		"`mini_batch_size`, with `mini_batch_order: environments`; of AMP `random`").positive(),
	honoured("config.minibatch_size_per_env", whole, nil,
		"`mini_batches`: config.horizon_length divided by it").positive(),
	direct("config.mini_epochs", whole, nil, "learning_epochs").positive(),
	honoured("config.seq_length", whole, 4, "`sequence_length`, with recurrent layers").positive(),
	only("config.zero_rnn_on_done", boolean, "gorl clears hidden states at every end of an episode", true),
	// Actions, and what gorl's PPO does not have.
	honoured("config.clip_actions", boolean, true, "with env.clip_actions a wrapper `clip_action` of ±1 (True) or its "+
		"limit (False); without it `rescale_action` (True) or nothing"),
	only("config.use_smooth_clamp", boolean, smooth, false),
	honoured("config.use_experimental_cv", boolean, true, "gorl's policy has no value head besides a central value"),
	only("config.self_play_config", anything, noSelfPlay),
	only("config.self_play", boolean, noSelfPlay, false),
	direct("config.weight_decay", number, 0.0, "weight_decay").atLeast0(),
	honoured("config.player.deterministic", boolean, true, "False: `trainer.stochastic_evaluation: true`"),
	only("config.freeze_critic", boolean, "gorl's value network learns in every update", false),
	only("config.epochs_between_resets", whole, "gorl's episodes go on from update to update", 0),
	only("config.population_based_training", boolean, "gorl's populations are the section pbt", false),
}, centralKeys(), []key{
	// AMP, as IsaacGymEnvs has it.
	imitates("config.amp_obs_demo_buffer_size", whole, "motion_dataset_size").positive(),
	imitates("config.amp_replay_buffer_size", whole, "reply_buffer_size").positive(),
	imitates("config.amp_replay_keep_prob", number, "replay_admission_probability").but(
		within(least, 1), "want a number above 0, at most 1"),
	imitates("config.amp_batch_size", whole, "amp_batch_size").positive(),
	imitates("config.amp_minibatch_size", whole, "discriminator_batch_size").positive(),
	imitates("config.disc_coef", number, "discriminator_loss_scale").atLeast0(),
	imitates("config.disc_logit_reg", number, "discriminator_logit_regularization_scale").atLeast0(),
	imitates("config.disc_grad_penalty", number, "discriminator_gradient_penalty_scale").atLeast0(),
	imitates("config.disc_weight_decay", number, "discriminator_weight_decay_scale").atLeast0(),
	honoured("config.disc_reward_scale", number, nil,
		"AMP: `style_reward_scale`, times config.disc_reward_w").atLeast0(),
	honoured("config.disc_reward_w", number, nil, "AMP: see config.disc_reward_scale").atLeast0(),
	imitates("config.task_reward_w", number, "task_reward_scale").atLeast0(),
	honoured("config.normalize_amp_input", boolean, true, "AMP: `amp_observation_preprocessor: RunningStandardScaler`"),
},
	// Keys without meaning for gorl.
	idle(noEffect, "", "load_path"),
	idle("groups are joined in any case", "env.", "concate_obs_groups", "concate_obs_group"),
	idle(noEffect, "network.", "space.continuous.mu_init.scale", "cnn.initializer.scale", "cnn.regularizer"),
	idle("see the section `environment`", "config.", "env_name", "env_config"),
	idle("`agent.device`, or `--device`", "config.", "device", "device_name"),
	idle("`gorl train --nproc 2`, or a launcher such as torchrun", "config.", "multi_gpu"),
	idle("`agent.mixed_precision` is gorl's", "config.", "mixed_precision"),
	idle("`environment.num_envs`", "config.", "num_actors"),
	idle("gorl keeps the best checkpoint from the first on", "config.", "save_best_after"),
	idle("gorl prints progress and tracks all figures, as means over 100 episodes", "config.",
		"print_stats", "use_diagnostics", "games_to_track"),
	idle("`write_interval`", "config.", "defer_summaries_sec", "summaries_interval_sec_min",
		"summaries_interval_sec_max", "force_interval_writer"),
	idle("gorl uses an environment's action masks whenever there are any", "config.", "use_action_masks"),
	idle("gorl writes into the run's folder", "config.", "network_path", "log_path"),
	idle("no effect in rl_games either; config.seq_length is meant", "config.", "seq_len"),
	idle(noEffect, "config.", "pbt_idx", "bptt_length", "adv_rms_momentum"),
	idle("`evaluation_interval`", "config.player.", "evaluation"),
	idle("see `gorl eval`", "config.player.", "games_num", "n_game_life", "print_stats", "use_vecenv", "render",
		"render_sleep"),
	idle("no effect in rl_games either; config.player is meant", "", "player"),
)

// central is the section of the network that estimates values from privileged states.
const central = "config.central_value_config"

// centralKeys returns the keys of the central value. Its network learns in the policy's passes over the policy's
// minibatches. Keys that would give it others are honoured only if they equal the policy's (conversion.central).
func centralKeys() []key {
	return slices.Concat([]key{
		honoured(central+".learning_rate", number, nil, "the second of two rates in `learning_rate`").positive(),
		honoured(central+".mini_epochs", whole, nil, "must equal the policy's"),
		honoured(central+".minibatch_size", whole, nil, "must equal the policy's"),
		honoured(central+".minibatch_size_per_env", whole, nil, "must equal the policy's"),
		honoured(central+".clip_value", boolean, false, "must equal the policy's"),
		honoured(central+".e_clip", number, 0.2, "must equal the policy's"),
		honoured(central+".normalize_input", boolean, false, "`state_preprocessor: RunningStandardScaler`"),
		honoured(central+".truncate_grads", boolean, false,
			"False: the second of two numbers in `grad_norm_clip` is 0"),
		honoured(central+".grad_norm", number, 1.0, "the second of two numbers in `grad_norm_clip`").atLeast0(),
		honoured(central+".lr_schedule", text, "None",
			"`linear` where config.lr_schedule is; any other text is a constant rate, as in rl_games"),
		only(central+".weight_decay", number, "gorl's networks share one; give config.weight_decay", 0.0),
		only(central+".use_smooth_clamp", boolean, smooth, false),
		only(central+".network.name", text, "gorl knows actor_critic", "actor_critic"),
		only(central+".network.central_value", boolean, "want True, or nothing", true),
	}, idle(noEffect, central+".", "kl_threshold", "schedule_type"), layers(central+".network"))
}
