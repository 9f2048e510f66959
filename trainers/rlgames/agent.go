package rlgames

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/schedulers"
)

// algorithm checks the algorithm first: another one has other keys, which would all be reported as unknown.
func (c *conversion) algorithm(params map[string]any) {
	section, _ := params["algo"].(map[string]any)
	switch name := section["name"]; name {
	case "a2c_continuous", "amp_continuous":
	case "sac":
		c.wrong(&config.Error{Path: "params.algo.name", Given: name,
			Reason: "it is soft actor-critic; gorl has PPO (a2c_continuous) and AMP (amp_continuous)"})
	case "a2c_discrete":
		c.wrong(&config.Error{Path: "params.algo.name", Given: name, Reason: "its actions are discrete, and have " +
			"other losses in rl_games; use a file of skrl's, class CategoricalMixin"})
	default:
		c.wrong(&config.Error{Path: "params.algo.name", Given: name,
			Reason: "gorl has PPO (a2c_continuous) and AMP (amp_continuous)"})
	}
}

// amp reports whether the algorithm is AMP.
func (c *conversion) amp() bool { return c.text("algo.name") == "amp_continuous" }

// section returns the section of gorl with this name. It makes the section if it is missing.
func (c *conversion) section(name string) map[string]any {
	s, ok := c.sections[name].(map[string]any)
	if !ok {
		s = map[string]any{}
		c.sections[name] = s
	}
	return s
}

// seed writes the seed of everything random. Without one, or with a negative one, gorl draws it.
func (c *conversion) seed() {
	if seed := c.number("seed"); c.given("seed") && seed >= 0 {
		c.sections["seed"] = int(seed)
	}
}

// need reports missing keys below params.config that rl_games has no default for, and whether all are there.
func (c *conversion) need(names ...string) (all bool) {
	all = true
	for _, name := range names {
		if !c.given("config." + name) {
			c.wrong(&config.Error{Path: "params.config." + name,
				Reason: "it is missing, and rl_games has no default for it"})
			all = false
		}
	}
	return all
}

// agent writes the settings of the agent. rl_games halves the value loss of PPO, not of AMP: hence critic_coef / 2.
func (c *conversion) agent() {
	c.need("learning_rate", "gamma", "tau", "horizon_length", "mini_epochs", "e_clip", "critic_coef", "entropy_coef")
	if c.amp() {
		c.need("disc_reward_scale", "disc_reward_w")
	}
	a := c.section("agent")
	a["class"] = "PPO"
	for _, k := range keys {
		if k.setting == "" || k.amp && !c.amp() {
			continue
		}
		if a[k.setting] = get[any](c, k.path); k.amp {
			c.need(strings.TrimPrefix(k.path, "config."))
		}
	}
	a["ratio_clip"] = c.number("config.e_clip")
	a["value_loss_scale"] = c.number("config.critic_coef") / 2
	bootstrap := c.flag("config.value_bootstrap")
	a["time_limit_bootstrap"] = bootstrap || c.amp()
	switch given := c.given("config.value_bootstrap"); {
	case c.amp() && given && !bootstrap:
		c.note("config.value_bootstrap is False, which IsaacGymEnvs' AMP does not read: " +
			"a truncated episode counts the value of its last observation")
	case !c.amp() && !given:
		c.note("config.value_bootstrap is missing: truncated episodes count as ended, as in rl_games up to 1.6.1, " +
			"which Isaac Lab and IsaacGymEnvs install; from 1.6.5 on rl_games takes True")
	}
	a["advantage_normalization"] = "none"
	if c.flag("config.normalize_advantage") {
		a["advantage_normalization"] = "rollout"
	}
	a["value_clip"] = 0.0
	if c.flag("config.clip_value") {
		a["value_clip"] = c.number("config.e_clip")
	}
	a["grad_norm_clip"] = c.norm("config")
	for _, x := range []struct{ key, setting string }{
		{"config.normalize_input", "observation_preprocessor"}, {"config.normalize_value", "value_preprocessor"},
		{central + ".normalize_input", "state_preprocessor"},
	} {
		if c.flag(x.key) {
			a[x.setting] = scaler
		}
	}
	c.minibatches(a)
	c.schedule(a)
	c.bounds(a)
	if c.given("network.rnn") {
		length := c.whole("config.seq_length")
		if h := c.whole("config.horizon_length"); h%length != 0 {
			c.values["config.seq_length"] = length
			c.refuse("config.seq_length",
				"gorl learns from whole sequences, and config.horizon_length (%d) is no multiple of it", h)
		}
		a["sequence_length"] = length
	}
	if c.given(central) {
		c.central(a)
	}
	if c.amp() {
		c.imitation(a)
	}
}

// scaler is the name of gorl's only preprocessor.
const scaler = "RunningStandardScaler"

// norm returns the limit of the gradients' norm for a section (config or central value). 0 is no limit.
func (c *conversion) norm(section string) float64 {
	if c.flag(section + ".truncate_grads") {
		return c.number(section + ".grad_norm")
	}
	return 0
}

// minibatches writes how a rollout is divided: by environments without a shuffle; IsaacGymEnvs' AMP shuffles rows.
func (c *conversion) minibatches(a map[string]any) {
	a["mini_batch_order"] = "environments"
	if c.amp() {
		a["mini_batch_order"] = "random"
	}
	size, perEnv := c.whole("config.minibatch_size"), c.whole("config.minibatch_size_per_env")
	horizon := c.whole("config.horizon_length")
	switch {
	case perEnv > 0 && horizon%perEnv != 0:
		c.refuse("config.minibatch_size_per_env", "config.horizon_length (%d) is no multiple of it", horizon)
	case perEnv > 0:
		a["mini_batches"] = horizon / perEnv
	case size > 0:
		a["mini_batch_size"] = size
		if rows := horizon * c.o.NumEnvs; rows%size != 0 {
			c.refuse("config.minibatch_size",
				"a rollout has %d rows (config.horizon_length × environments), which is no multiple of it; "+
					"give another agent.params.config.minibatch_size, or another number of environments", rows)
		}
	default:
		c.need("minibatch_size")
	}
}

// schedule writes the learning rate's schedule, with the divergence that rl_games or IsaacGymEnvs' AMP measures.
func (c *conversion) schedule(a map[string]any) {
	rate := c.number("config.learning_rate")
	switch c.text("config.lr_schedule") {
	case "adaptive":
		c.need("kl_threshold")
		kind, divergence := c.text("config.schedule_type"), schedulers.GaussianKL
		if c.amp() {
			divergence = schedulers.GaussianRolloutKL
		}
		switch {
		case kind == "standard_epoch" && !c.amp():
			c.note("config.schedule_type is standard_epoch, at which rl_games 1.6.1 and later never step the " +
				"schedule: the rate is constant, as in rl_games; give legacy or standard to adapt it")
			return
		case kind == "standard" && c.amp():
			c.note("config.schedule_type is standard: the rate follows the mean divergence of each pass, " +
				"in IsaacGymEnvs' AMP that of all passes of the update so far")
		}
		periods := map[string]string{"legacy": schedulers.EveryMinibatch, "standard": schedulers.EveryEpoch,
			"standard_epoch": schedulers.EveryUpdate}
		a["learning_rate_scheduler"] = "KLAdaptiveLR"
		a["learning_rate_scheduler_kwargs"] = map[string]any{
			"kl_threshold": c.number("config.kl_threshold"), "min_lr": c.number("config.min_lr"),
			"max_lr": c.number("config.max_lr"),
			"step":   periods[kind], "divergence": divergence,
		}
	case "linear":
		if c.whole("config.max_epochs") <= 0 {
			c.note("config.lr_schedule is linear, which ends with config.max_epochs, and that is missing: the rate " +
				"is constant, as in rl_games")
			return
		}
		a["learning_rate_scheduler"] = "LinearLR"
		a["learning_rate_scheduler_kwargs"] = map[string]any{
			"start_factor": 1.0, "end_factor": math.Min(1, 1e-6/rate), "total_iters": "auto"}
	}
}

// bounds writes the loss of mean actions beyond the limits. The limit of IsaacGymEnvs' AMP is ±1.
func (c *conversion) bounds(a map[string]any) {
	scale := c.number("config.bounds_loss_coef")
	kinds := map[string]string{"bound": "limit", "regularisation": "square"}
	kind, ok := kinds[c.text("config.bound_loss_type")]
	if !ok && scale != 0 {
		c.note("config.bound_loss_type is %q, which rl_games does not know: there is no loss of bounds, as there is "+
			"none in rl_games", c.text("config.bound_loss_type"))
		scale = 0
	}
	a["bounds_loss_scale"] = scale
	if scale == 0 {
		return
	}
	a["bounds_loss_type"] = kind
	if c.amp() {
		a["bounds_loss_limit"] = 1.0
	}
}

// central writes a learning rate and a gradient limit for the central value, which reads states. In rl_games it also
// has passes and minibatches of its own. gorl honours these only if they equal the policy's.
func (c *conversion) central(a map[string]any) {
	if !c.need("central_value_config.learning_rate", "central_value_config.mini_epochs") {
		return
	}
	same := []string{"mini_epochs", "minibatch_size", "minibatch_size_per_env", "clip_value"}
	if c.flag("config.clip_value") {
		same = append(same, "e_clip")
	}
	for _, key := range same {
		if mine, theirs := get[any](c, central+"."+key), get[any](c, "config."+key); mine != theirs {
			c.refuse(central+"."+key, "gorl's networks learn together, from the same minibatches in the same passes, "+
				"and config.%s is %v; give agent.params.%s.%s=%v to train so", key, theirs, central, key, theirs)
		}
	}
	a["learning_rate"] = []any{c.number("config.learning_rate"), c.number(central + ".learning_rate")}
	a["grad_norm_clip"] = []any{c.norm("config"), c.norm(central)}
	a["value_loss_scale"] = 1.0
	mine, theirs := c.text(central+".lr_schedule") == "linear", c.text("config.lr_schedule")
	switch {
	case mine && theirs != "linear":
		c.refuse(central+".lr_schedule", "gorl's networks have one schedule, and config.lr_schedule is %v", theirs)
	case !mine && a["learning_rate_scheduler"] != nil:
		a["learning_rate_scheduler_networks"] = "policy"
	}
	if c.flag("config.use_experimental_cv") {
		c.note("config.use_experimental_cv is True: in rl_games a value head of the policy's own learns beside the " +
			"central value; gorl's policy has none")
	}
}

// imitation writes AMP's own settings. Some replace what agent has written for PPO.
func (c *conversion) imitation(a map[string]any) {
	a["class"] = "AMP"
	a["value_loss_scale"] = c.number("config.critic_coef")
	a["style_reward_scale"] = c.number("config.disc_reward_w") * c.number("config.disc_reward_scale")
	if c.flag("config.normalize_amp_input") {
		a["amp_observation_preprocessor"] = scaler
	}
	c.note("the discriminator's last layer begins as PyTorch's do, in IsaacGymEnvs uniform in ±1; its statistics " +
		"learn once an update, there with every minibatch")
}

// trainer writes the length of the run, its folder, checkpoints and evaluation. An epoch of rl_games is one rollout.
func (c *conversion) trainer() {
	t := c.section("trainer")
	horizon := c.whole("config.horizon_length")
	if n := c.whole("config.max_epochs"); n > 0 {
		if n > math.MaxInt32*1024/max(1, horizon) {
			c.refuse("config.max_epochs", "the run would have more timesteps than can be counted")
			return
		}
		t["timesteps"] = n * horizon
	}
	if frames := c.number("config.max_frames"); frames > 0 {
		if c.o.NumEnvs == 0 {
			c.refuse("config.max_frames", "it counts the steps of all environments, and their number is not known; "+
				"give --num-envs N, or agent.params.config.max_epochs=N instead")
			return
		}
		steps := int(math.Min(frames/float64(c.o.NumEnvs), 1<<53))
		if n, ok := t["timesteps"].(int); !ok || steps < n {
			t["timesteps"] = steps
		}
	}
	if t["timesteps"] == nil {
		c.note("config.max_epochs is missing: rl_games trains without end, gorl for its default number of " +
			"timesteps; give --timesteps")
	}
	if n := c.whole("config.save_frequency"); n > 0 {
		t["checkpoint_interval"] = n * horizon
	}
	if c.given("config.score_to_win") {
		t["stop_at_episode_return"] = c.number("config.score_to_win")
	}
	if !c.flag("config.player.deterministic") {
		t["stochastic_evaluation"] = true
	}
	if name := cmp.Or(c.text("config.full_experiment_name"), c.text("config.name")); name != "" {
		t["name"] = name
	}
	if d := c.text("config.train_dir"); d != "" {
		t["directory"] = d
	}
}

// environment writes the wrappers between simulator and agent, and the groups of observations.
func (c *conversion) environment() {
	var wrappers []any
	clip := func(wrapper string, limit float64) {
		wrappers = append(wrappers, map[string]any{wrapper: map[string]any{"low": -limit, "high": limit}})
	}
	limit, given, clips := c.number("env.clip_actions"), c.given("env.clip_actions"), c.flag("config.clip_actions")
	switch {
	case given && clips && limit != 1:
		c.refuse("env.clip_actions", "with config.clip_actions: True rl_games multiplies actions by it; give 1.0, or "+
			"agent.params.config.clip_actions=False")
	case given:
		clip("clip_action", limit)
	case clips:
		wrappers = append(wrappers, "rescale_action")
	}
	if c.given("env.clip_observations") {
		clip("clip_observation", c.number("env.clip_observations"))
	}
	if len(wrappers) > 0 {
		c.section("environment")["wrappers"] = wrappers
	}
	groups, _ := c.values["env.obs_groups.obs"].([]any)
	if len(groups) > 0 && !slices.Equal(groups, []any{"policy"}) {
		c.section("environment")["observation_groups"] = groups
	}
	if groups := c.values["env.obs_groups.states"]; groups != nil && c.given(central) {
		c.section("environment")["state_groups"] = groups
	}
}

// population copies the section pbt if it is enabled. Members train as long as the file's agent.
func (c *conversion) population(given any) {
	if none(given) {
		return
	}
	section, ok := given.(map[string]any)
	if !ok {
		c.wrong(&config.Error{Path: "pbt", Given: given, Reason: "want the keys of Isaac Lab's population"})
		return
	}
	if reference, ok := leftOpen(section); ok {
		c.wrong(&config.Error{Path: "pbt", Given: "${" + string(reference) + "}",
			Reason: "it refers to what is not in the file; give the value itself: agent.pbt.KEY=VALUE"})
		return
	}
	if section["enabled"] != true {
		if enabled, given := section["enabled"]; given && enabled != false && !none(enabled) {
			c.wrong(&config.Error{Path: "pbt.enabled", Given: enabled, Allowed: boolean.want()})
		}
		return
	}
	c.sections["preset"], c.sections["pbt"] = "isaaclab", section
	n, long := c.section("trainer")["timesteps"].(int)
	if _, own := section["total_steps"]; !own && long && c.o.NumEnvs > 0 {
		section["total_steps"] = n * c.o.NumEnvs
	}
}
