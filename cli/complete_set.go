package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/trainers"
)

// completeSet completes KEY=VALUE of --set: the values of keys that name something, and keys by the configuration that
// the command line gives so far.
func (f *trainFlags) completeSet(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if key, _, ok := strings.Cut(typed, "="); ok {
		return starting(typed, key+"=", valuesOf(key)), cobra.ShellCompDirectiveNoFileComp
	}
	c := runfile.Sections{}
	if f.config != "" && f.config != "-" {
		if read, err := runfile.Read(f.config); err == nil {
			c = read
		}
	}
	for _, assignment := range f.set {
		_ = c.Set(assignment) // what is wrong is said when it is run
	}
	var keys []string
	for _, key := range keysOf(c) {
		keys = append(keys, key+"=")
	}
	return starting(typed, "", keys), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// starting are those of the words, behind a prefix, that begin with what was typed.
func starting(typed, prefix string, words []string) []cobra.Completion {
	var fitting []cobra.Completion
	for _, w := range words {
		if strings.HasPrefix(prefix+w, typed) {
			fitting = append(fitting, prefix+w)
		}
	}
	return fitting
}

// valuesOf are the values of a key that has few, nil of others.
func valuesOf(key string) []string {
	parts := strings.Split(key, ".")
	first, last := parts[0], parts[len(parts)-1]
	switch {
	case key == "environment.id":
		return catalog.Names()
	case key == "agent.class":
		return []string{"AMP", "PPO"}
	case key == "agent.device":
		return []string{"auto", "cpu", "cuda"}
	case key == "agent.learning_rate_scheduler":
		return schedulers.Names()
	case key == "preset":
		return preset.Names()
	case first == "models" && last == "class":
		return models.Classes()
	case first == "pbt" && len(parts) > 2 && (parts[1] == "mutation" || parts[1] == "parameters" && last == "rule"):
		return explore.RuleNames()
	}
	return nil
}

// keysOf are the dotted keys that a configuration can have, sorted.
func keysOf(c runfile.Sections) []string {
	keys := map[string]bool{"seed": true, "environment.id": true, "environment.wrappers": true, "agent.class": true}
	add := func(section string, names ...string) {
		for _, name := range names {
			keys[section+"."+name] = true
		}
	}
	fields := func(section string, defaults any) {
		for _, field := range config.Keys(defaults) {
			add(section, field.Key)
		}
	}
	if settings, err := catalog.Settings(c.Section("environment")); err == nil {
		add("environment", slices.Collect(maps.Keys(settings))...)
	}
	if class, _ := c.Section("agent")["class"].(string); strings.EqualFold(class, "AMP") {
		fields("agent", amp.DefaultConfig())
		add("models", "discriminator.class")
	} else {
		fields("agent", ppo.DefaultConfig())
	}
	fields("trainer", trainers.DefaultConfig())
	add("models", "mlp", "activation", "separate", "policy.class", "value.class")
	if c.Kind() == runfile.Population {
		keys["preset"], keys["strict"] = true, true
		if settings, err := preset.FromDict(c); err == nil {
			section := settings.Dict()["pbt"].(map[string]any)
			add("pbt", slices.Collect(maps.Keys(section))...)
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
