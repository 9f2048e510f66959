package main

import (
	"flag"
	"time"

	"github.com/gorl-dev/gorl/pbt/launch"
)

func init() {
	register(command{
		name: "status", arguments: "DIR",
		summary: "show where a population's policies stand",
		about: `
Shows a table of the policies in DIR, a population's folder (<directory>/<workspace>),
from what stands in the folder alone, so on any machine that sees it, whoever
started the members. Nothing is written.`,
		examples: `
gorl-pbt status runs/pbt_workspace
gorl-pbt status runs/pbt_workspace -watch
gorl-pbt status runs/pbt_workspace -watch -every 30s -silent 5m`,
		define: func(flags *flag.FlagSet) func(invocation) error {
			watch := flags.Bool("watch", false, "show it again and again until Ctrl-C")
			every := flags.Duration("every", 2*time.Second, "`time` between looks with -watch")
			silent := flags.Duration("silent", launch.DefaultSilence, "`time` after which a policy that says nothing is called silent")
			return func(i invocation) error {
				switch {
				case len(i.args) != 1:
					return usageError("give one population's folder")
				case *every <= 0 || *silent <= 0:
					return usageError("-every and -silent must be above 0")
				case *watch:
					return launch.Watch(i.ctx, i.stdout, i.args[0], *silent, *every)
				}
				rows, err := launch.Status(i.args[0], *silent)
				if err != nil {
					return err
				}
				return launch.WriteTable(i.stdout, rows, false)
			}
		},
	})
}
