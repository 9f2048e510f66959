package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/tracking"
)

// listing is a kind of things that configurations call by name, or a section of settings.
type listing struct {
	kind  string // of config.Declare, and the argument of gorl list
	where string // what in a file chooses one of the names
}

var listings = []listing{
	{"environments", "environment.id"},
	{"wrappers", "environment.wrappers"},
	{"agents", "agent.class"},
	{"models", "models.policy.class"},
	{"mlp", "models (in short)"},
	{"schedules", "agent.learning_rate_scheduler"},
	{"trainer", "trainer"},
	{"trackers", "trainer.trackers"},
	{"pbt", "preset"},
	{"rules", "pbt.mutation"},
	{"evolution", "mutation, network, training, selection_strategy"},
	{"launcher", "launcher"},
	{"distributed", "distributed"},
}

// names returns the names of a kind, sorted.
func (l listing) names() []string {
	if l.kind == "rules" {
		return explore.RuleNames()
	}
	return slices.Sorted(maps.Keys(config.Declared(l.kind)))
}

func listCommand() *cobra.Command {
	var kinds []string
	for _, l := range listings {
		kinds = append(kinds, l.kind)
	}
	return &cobra.Command{
		Use:   "list [KIND [NAME]]",
		Short: "list environments, agents, models and other names with their settings",
		Long: `
Lists what configurations call by name. With a KIND it lists the settings of each name:
key, default, allowed values and meaning. NAME chooses one of the names. KIND is one of
` + strings.Join(kinds[:7], ", ") + `,
` + strings.Join(kinds[7:], ", ") + `. A program that registers its
own lists them, too.`,
		Example: `
gorl list
gorl list agents PPO
gorl list environments Walker
gorl list trainer`,
		Args:      commandline.Arguments(0, 2, "a kind and a name, one of "+strings.Join(kinds, ", ")),
		ValidArgs: kinds,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listKinds(c)
			}
			i := slices.Index(kinds, args[0])
			if i < 0 {
				return commandline.Usagef("KIND is %q: %s", args[0], config.Among(args[0], kinds))
			}
			names := listings[i].names()
			if len(args) == 2 {
				at := slices.IndexFunc(names, func(name string) bool {
					name, _, _ = strings.Cut(name, ":")
					return strings.EqualFold(name, args[1])
				})
				if at < 0 {
					return commandline.Usagef("NAME is %q: %s", args[1], config.Among(args[1], names))
				}
				names = names[at : at+1]
			}
			return listSettings(c, args[0], names)
		},
	}
}

// listKinds writes a table of all kinds with their names.
func listKinds(c *cobra.Command) error {
	var rows [][]string
	for _, l := range listings {
		for _, line := range wrapped(strings.Join(l.names(), ", "), 63) {
			rows = append(rows, []string{l.kind, l.where, line})
			l = listing{} // is shown once
		}
	}
	if err := tracking.Table(c.OutOrStdout(), []string{"kind", "in a file", "names"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "\n%[1]s list KIND [NAME] shows settings with defaults and meanings. %[1]s "+
		"schema writes all for editors.\n", program)
	return err
}

// listSettings writes a table with a row for every setting, and one for a name without settings.
func listSettings(c *cobra.Command, kind string, names []string) error {
	declared := config.Declared(kind)
	var rows [][]string
	for _, name := range names {
		defaults := cmp.Or[any](declared[name].Defaults, struct{}{})
		keys, values := config.Keys(defaults), config.Dict(defaults)
		if len(keys) == 0 {
			rows = append(rows, []string{name})
		}
		for _, k := range keys {
			value, err := inYAML(at(values, k.Key))
			if err != nil {
				return err
			}
			rows = append(rows, []string{name, k.Key, value, k.Short(), inShort(k)})
			name = "" // is shown once
		}
	}
	return tracking.Table(c.OutOrStdout(), []string{kind, "key", "default", "allowed", "meaning"}, rows)
}

// at returns the value at a dotted key, or nil.
func at(dict map[string]any, key string) any {
	name, rest, nested := strings.Cut(key, ".")
	if !nested {
		return dict[name]
	}
	inner, _ := dict[name].(map[string]any)
	return at(inner, rest)
}

// inYAML writes a value in one line of YAML.
func inYAML(value any) (string, error) {
	switch value.(type) {
	case nil, string, map[string]any, []any:
		text, err := json.Marshal(value)
		return string(text), err
	}
	return fmt.Sprint(value), nil
}

// sentence matches the end of a sentence.
var sentence = regexp.MustCompile("\\. [A-Z\"`]")

// inShort returns the first sentence of a setting's meaning, without the setting's own name.
func inShort(k config.Field) string {
	text := k.Meaning
	if end := sentence.FindStringIndex(text); end != nil {
		text = text[:end[0]+1]
	}
	key := k.Key[strings.LastIndexByte(k.Key, '.')+1:]
	for _, verb := range []string{"is", "are", "says"} {
		text = strings.TrimPrefix(text, "`"+key+"` "+verb+" ")
	}
	return text
}
