package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/tracking"
)

// A listing is a kind of things that configurations call by name, with their settings and defaults.
type listing struct {
	what  string // e.g. "environment"
	names func() []string
	// settings returns the settings of a name, or nil.
	settings func(name string) map[string]any
}

// listings are the kinds that a program can register.
var listings = []listing{
	{"environments", catalog.Names, func(name string) map[string]any {
		settings, err := catalog.Settings(map[string]any{"id": name})
		if err != nil {
			return nil
		}
		delete(settings, "id")
		return settings
	}},
	{
		"wrappers",
		func() []string { return slices.Sorted(maps.Keys(catalog.Wrappers())) },
		func(name string) map[string]any { return catalog.Wrappers()[name] },
	},
	{"models", models.Classes, models.ClassSettings},
	{"rules", explore.RuleNames, func(string) map[string]any { return nil }},
}

func listCommand() *cobra.Command {
	var kinds []string
	for _, l := range listings {
		kinds = append(kinds, l.what)
	}
	return &cobra.Command{
		Use:   "list [KIND]",
		Short: "list environments, wrappers, models and rules with their settings",
		Long: `
Lists what configurations call by name, with settings and defaults: environments
(environment.id), their wrappers (environment.wrappers), classes of models
(models.policy.class), and rules that mutate hyperparameters (pbt.mutation). KIND is
environments, wrappers, models or rules. A program that registers its own lists them,
too.`,
		Example: `
gorl list
gorl list environments`,
		Args:              commandline.Arguments(0, 1, "one of "+strings.Join(kinds, ", ")),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			shown := listings
			if len(args) == 1 {
				i := slices.Index(kinds, args[0])
				if i < 0 {
					return commandline.Usagef("KIND is %q%s; want one of %s",
						args[0], config.Hint(args[0], kinds), strings.Join(kinds, ", "))
				}
				shown = listings[i : i+1]
			}
			for i, l := range shown {
				if i > 0 {
					fmt.Fprintln(c.OutOrStdout())
				}
				if err := l.write(c.OutOrStdout()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// write writes a table with a row for every setting, and one for a name without settings.
func (l listing) write(w io.Writer) error {
	var rows [][]string
	for _, name := range l.names() {
		settings := l.settings(name)
		if len(settings) == 0 {
			rows = append(rows, []string{name, "", ""})
		}
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			value := fmt.Sprint(settings[key]) // numbers and times as YAML writes them
			switch settings[key].(type) {
			case nil, string, map[string]any, []any:
				text, err := json.Marshal(settings[key])
				if err != nil {
					return err
				}
				value = string(text)
			}
			rows = append(rows, []string{name, key, value})
			name = "" // is shown once
		}
	}
	return tracking.Table(w, []string{l.what, "setting", "default"}, rows)
}
