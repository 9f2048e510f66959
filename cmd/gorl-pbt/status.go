package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "show where a population's members stand",
		Long: `
Shows a table of the members in DIR, a population's folder (<directory>/<workspace>),
from the files in the folder alone, so on any machine that sees it, however the
members were started. Nothing is written.`,
		Example: `
gorl-pbt status runs/pbt_workspace
gorl-pbt status runs/pbt_workspace --watch
gorl-pbt status runs/pbt_workspace --watch --every 30s --silent 5m`,
		Args: commandline.Arguments(1, 1, "one population's folder"),
	}
	watch := c.Flags().Bool("watch", false, "show it again and again until Ctrl-C")
	every := c.Flags().Duration("every", 2*time.Second, "`time` between looks with --watch")
	silent := c.Flags().Duration("silent", launch.DefaultSilence,
		"`time` without a heartbeat after which a member is called silent")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *every <= 0 || *silent <= 0:
			return commandline.Usagef("--every and --silent must be above 0")
		case *watch:
			return launch.Watch(cmd.Context(), cmd.OutOrStdout(), args[0], *silent, *every)
		}
		rows, err := launch.Status(args[0], *silent)
		if err != nil {
			return err
		}
		return launch.WriteTable(cmd.OutOrStdout(), rows, false)
	}
	return c
}
