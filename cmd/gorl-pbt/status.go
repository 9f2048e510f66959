package main

import (
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
gorl-pbt status runs/pbt_workspace --silent 5m
watch gorl-pbt status runs/pbt_workspace     # again and again; or "gorl serve runs" in a browser`,
		Args: commandline.Arguments(1, 1, "one population's folder"),
	}
	silent := c.Flags().Duration("silent", launch.DefaultSilence,
		"`time` without a heartbeat after which a member is called silent")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *silent <= 0 {
			return commandline.Usagef("--silent must be above 0")
		}
		rows, err := launch.Status(args[0], *silent)
		if err != nil {
			return err
		}
		return launch.WriteTable(cmd.OutOrStdout(), rows, false)
	}
	return c
}
