package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func runCommand(kill <-chan struct{}) *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "run a population's members on this machine",
		Long: `
Runs the members of a population as processes on this machine until all are
finished: divides GPUs among them, lets them take turns where there are more
than max_parallel, restarts those that fail, writes their output to
<workspace>/logs/NNN.log, and shows a table of where they stand.

Ctrl-C asks the members to save and to end; a second Ctrl-C kills them. The
same command continues where they ended.`,
		Example: `
gorl-pbt run --config population.yaml
gorl-pbt run --config population.yaml --every 5m >launcher.txt   # a table every 5 minutes
gorl-pbt run --config population.yaml --quiet`,
		Args: commandline.NoArguments,
	}
	file := configFlag(c)
	quiet := c.Flags().BoolP("quiet", "q", false, "show nothing; <workspace>/logs/launcher.log has what happened")
	every := c.Flags().Duration("every", 30*time.Second, "`time` between tables where the output is no terminal")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := file()
		if err != nil {
			return err
		}
		var out io.Writer
		if !*quiet {
			out = cmd.OutOrStdout()
		}
		commandline.OutliveReaders()
		err = launch.Run(cmd.Context(), f, launch.Options{Out: out, Every: *every, Kill: kill})
		if errors.Is(err, launch.ErrStopped) {
			return &commandline.StoppedError{Err: err}
		}
		return err
	}
	return c
}
