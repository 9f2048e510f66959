// Command gorl-pbt runs populations of processes and looks after them: on this machine, under Slurm, on Kubernetes.
//
//	gorl-pbt help
//	gorl-pbt run --config population.yaml
//
// Every subcommand stands in a file of its own and says with --help what it does.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func main() {
	ctx, kill, stop := launch.Interrupts(context.Background())
	status := commandline.Execute(ctx, command(kill), os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// command is gorl-pbt. The first Ctrl-C or SIGTERM ends its context; kill is closed by the second.
func command(kill <-chan struct{}) *cobra.Command {
	root := &cobra.Command{
		Use:   "gorl-pbt",
		Short: "populations of processes",
		Long: `gorl-pbt runs populations of processes and looks after them: on this machine, under
Slurm, on Kubernetes. Everything else, from training one agent to drawing curves,
is the command gorl's.`,
	}
	root.AddCommand(
		runCommand(kill), statusCommand(), slurmCommand(), kubernetesCommand(),
		reportCommand(), replayCommand(), simulateCommand(), commandline.VersionCommand("gorl-pbt"),
	)
	return root
}

// configFlag declares the flag of the population's file, which must be given.
func configFlag(c *cobra.Command) func() (*launch.File, error) {
	path := c.Flags().String("config", "", "the population's YAML `file` (required)")
	return func() (*launch.File, error) {
		if *path == "" {
			return nil, commandline.Usagef("--config is missing: give the population's YAML file")
		}
		return launch.ReadFile(*path)
	}
}
