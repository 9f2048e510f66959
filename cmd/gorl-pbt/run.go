package main

import (
	"flag"
	"io"
	"time"

	"github.com/gorl-dev/gorl/pbt/launch"
)

func init() {
	register(command{
		name:    "run",
		summary: "run a population's members on this machine",
		about: `
Runs the members of a population as processes on this machine until all are
finished: divides GPUs among them, lets them take turns where there are more
than max_parallel, restarts those that fail, writes their output to
<workspace>/logs/NNN.log, and shows a table of where they stand.

Ctrl-C asks the members to save and to end; a second Ctrl-C kills them. The
same command continues where they ended.`,
		examples: `
gorl-pbt run -config population.yaml
gorl-pbt run -config population.yaml -every 5m >launcher.txt   # a table every 5 minutes
gorl-pbt run -config population.yaml -quiet`,
		define: func(flags *flag.FlagSet) func(invocation) error {
			file := configFlag(flags)
			quiet := flags.Bool("quiet", false, "show nothing; <workspace>/logs/launcher.log has what happened")
			every := flags.Duration("every", 30*time.Second, "`time` between tables where the output is no terminal")
			return func(i invocation) error {
				f, err := file(i)
				if err != nil {
					return err
				}
				var out io.Writer
				if !*quiet {
					out = i.stdout
				}
				return launch.Run(i.ctx, f, launch.Options{Out: out, Every: *every, Kill: i.kill})
			}
		},
	})
}
