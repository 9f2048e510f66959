package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
)

func reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "make a page of a population's journal",
		Long: `
Writes the page report.html of a population's journal. It needs no other file and no
network: who copied whom and why, all curves, the members, and every event. gorl serve
shows the same page live.

DIR is a population's folder (with 000, 001, ...) or a journal. The population may
still be training.`,
		Example: `
gorl-pbt report runs/population
gorl-pbt report --out /tmp/walkers runs/train/pbt_workspace`,
		Args: commandline.Arguments(1, 1, "the population's folder"),
	}
	out := c.Flags().String("out", "", "`folder` of the report (default: the folder report in DIR)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		history, err := journal.ReadHistory(args[0])
		if err != nil {
			return err
		}
		if *out == "" {
			dir := args[0]
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				dir = filepath.Dir(dir)
			}
			*out = filepath.Join(dir, "report")
		}
		title := fmt.Sprintf("%s, population of %d", args[0], history.Run.Members)
		if err := report.Write(*out, history, report.Options{Title: title}); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(*out, report.PageFile))
		return err
	}
	return c
}
