package preset

// This file translates the names of hyperparameters from the four systems to gorl's. A file may use either, so that a
// configuration can be moved over as it is and new keys be added in gorl's words.

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/explore"
)

// names are what a system calls hyperparameters.
type names struct {
	// prefixes may stand before a name of the system.
	prefixes []string
	// gorl is the name in gorl, by the system's.
	gorl map[string]string
	// inert are settings of the system that cannot change while gorl's agents train, and why.
	inert map[string]string
}

// fixed is the reason of settings that gorl's agents read only once, when they are made.
const fixed = "it cannot change while gorl's agents train"

// noKLLoss is the reason of the settings of a loss that gorl's PPO does not have.
const noKLLoss = "gorl's PPO has no loss for the KL divergence"

// rlGames are the names of the library behind both Isaac systems, as in its agents' configurations.
var rlGames = names{
	prefixes: []string{"agent.params.config.", "train.params.config.", "params.config."},
	gorl: map[string]string{
		"learning_rate": "learning_rate", "grad_norm": "grad_norm_clip", "entropy_coef": "entropy_loss_scale",
		"critic_coef": "value_loss_scale", "bounds_loss_coef": "bounds_loss_scale",
		"kl_threshold": "schedule_kl_threshold", "gamma": "discount_factor", "tau": "gae_lambda",
		"e_clip":    "ratio_clip",
		"disc_coef": "discriminator_loss_scale", "disc_logit_reg": "discriminator_logit_regularization_scale",
		"disc_grad_penalty": "discriminator_gradient_penalty_scale",
		"disc_weight_decay": "discriminator_weight_decay_scale",
		"task_reward_w":     "task_reward_scale", "disc_reward_w": "style_reward_scale",
	},
	inert: map[string]string{
		"mini_epochs": fixed, "minibatch_size": fixed, "horizon_length": fixed,
		"reward_shaper.scale_value": fixed, "reward_shaper.shift_value": fixed, "weight_decay": fixed,
		"disc_reward_scale": "give disc_reward_w",
	},
}

// sampleFactoryNames are Sample Factory's flags.
var sampleFactoryNames = names{
	gorl: map[string]string{
		"learning_rate": "learning_rate", "exploration_loss_coeff": "entropy_loss_scale",
		"value_loss_coeff": "value_loss_scale", "max_grad_norm": "grad_norm_clip", "ppo_clip_ratio": "ratio_clip",
		"ppo_clip_value": "value_clip", "gamma": "discount_factor", "gae_lambda": "gae_lambda",
	},
	inert: map[string]string{"batch_size": fixed, "rollout": fixed, "num_epochs": fixed, "adam_beta1": fixed,
		"adam_beta2": fixed, "vtrace_rho": "gorl's agents use no V-trace", "vtrace_c": "gorl's agents use no V-trace"},
}

// rllib are the names of the agents' settings in Ray.
var rllib = names{
	gorl: map[string]string{
		"lr": "learning_rate", "gamma": "discount_factor", "lambda": "gae_lambda", "lambda_": "gae_lambda",
		"clip_param": "ratio_clip", "vf_clip_param": "value_clip",
		"vf_loss_coeff": "value_loss_scale", "entropy_coeff": "entropy_loss_scale", "grad_clip": "grad_norm_clip",
	},
	inert: map[string]string{
		"kl_coeff": noKLLoss, "kl_target": noKLLoss, "num_sgd_iter": fixed, "num_epochs": fixed,
		"sgd_minibatch_size": fixed, "minibatch_size": fixed, "train_batch_size": fixed,
		"train_batch_size_per_learner": fixed, "rollout_fragment_length": fixed,
	},
}

// ofGroup is the number before a hyperparameter of one of several agents, such as "0." in "0.learning_rate".
var ofGroup = regexp.MustCompile(`^[0-9]+\.`)

// environment turns the names that the systems give to an environment's parameters into gorl's.
func environment(key string) (string, bool) {
	for _, prefix := range []string{"task.env.", "env_config.", "env."} {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "" {
			return "env." + name, true
		}
	}
	return "", false
}

// find returns gorl's name of a hyperparameter. Gorl's own names win, then those of environments, then the system's
// with or without a prefix. note is not empty if the system has the name and gorl cannot change it.
func (n names) find(f *file, key string) (name, note string, ok bool) {
	if key == "*" || slices.Contains(f.known, key) || slices.Contains(explore.AgentSettings(),
		ofGroup.ReplaceAllString(key, "")) {
		return key, "", true
	}
	if name, ok := environment(key); ok {
		return name, "", true
	}
	for _, prefix := range append(n.prefixes, "") {
		short, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if name, ok := n.gorl[short]; ok {
			return name, "", true
		}
		if why, ok := n.inert[short]; ok {
			return "", why, true
		}
	}
	return "", "", false
}

// nearest is the known hyperparameter closest to an unknown one.
func (n names) nearest(f *file, key string) string {
	prefix := ""
	for _, p := range n.prefixes {
		if strings.HasPrefix(key, p) {
			prefix = p
		}
	}
	if prefix == "" {
		if near := config.Nearest(key, append(explore.AgentSettings(), f.known...)); near != "" {
			return near
		}
	}
	if near := config.Nearest(strings.TrimPrefix(key, prefix), sorted(n.gorl)); near != "" {
		return prefix + near
	}
	return ""
}

// rename returns values by gorl's names, and called, what each was called in the file, for later messages. where is
// the key under pbt: that holds the values. A setting that does nothing becomes a note; an unknown name, and two
// names of the same hyperparameter, become problems.
func rename[V any](f *file, n names, where string, values map[string]V, p *problems,
	notes *[]string) (renamed map[string]V, called map[string]string) {
	renamed, called = make(map[string]V, len(values)), make(map[string]string, len(values))
	raw, _ := f.PBT[where].(map[string]any)
	for _, key := range sorted(values) {
		name, why, ok := n.find(f, key)
		path := where + "." + key
		given, asWritten := raw[key]
		if !asWritten {
			given = values[key]
		}
		switch {
		case !ok:
			allowed := strings.Join(append(sorted(n.gorl), "env.<name>, or one of gorl's own"), ", ")
			begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
			if len(n.prefixes) > 0 && !slices.ContainsFunc(n.prefixes, begins) { // the system's own names begin so
				allowed = fmt.Sprintf("%s, env.<name>, or a name of the preset's system, such as %s%s",
					strings.Join(append(explore.AgentSettings(), f.known...), ", "), n.prefixes[0], sorted(n.gorl)[0])
			}
			if len(n.gorl) > 0 {
				allowed = "one of " + allowed
			}
			p.add(&config.Error{Prefix: "preset", Path: "pbt." + path, Given: given, Nearest: n.nearest(f, key),
				Reason: "there is no such hyperparameter: want " + allowed})
		case why != "":
			*notes = append(*notes, fmt.Sprintf("pbt.%s does nothing: %s", path, why))
		case called[name] != "":
			p.wrong(path, given, "it means %s, as %q does; give one of the two", name, called[name])
		default:
			renamed[name], called[name] = values[key], key
		}
	}
	return renamed, called
}

// sorted returns the keys of m in order, so that messages are the same on every run.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
