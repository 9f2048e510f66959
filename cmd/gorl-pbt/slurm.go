package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func slurmCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "slurm",
		Short: "write a population's job array for Slurm, and submit it",
		Long: `
Writes <workspace>/<name>.sbatch, a job array with one task for each member, and
with --submit hands it to sbatch and writes <workspace>/scancel.sh, which ends it.
Members that are requeued, because their time is nearly up, or by scontrol
requeue, or by preemption, save before and continue after. The population's
folder and the working directory must be on all nodes.`,
		Example: `
gorl-pbt slurm --config population.yaml --print    # look first; writes nothing
gorl-pbt slurm --config population.yaml            # write the script
gorl-pbt slurm --config population.yaml --submit   # write and submit it`,
		Args: commandline.NoArguments,
	}
	file := configFlag(c)
	show := c.Flags().Bool("print", false, "print the script and write nothing")
	submit := c.Flags().Bool("submit", false, "submit it with sbatch")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := file()
		if err != nil {
			return err
		}
		if *show && *submit {
			return commandline.Usagef("--print writes nothing, so --submit has nothing to submit: give one of them")
		}
		job, err := launch.Slurm(f)
		switch {
		case err != nil:
			return err
		case *show:
			fmt.Fprint(cmd.OutOrStdout(), job.Script)
			return nil
		case !*submit:
			if err := job.Write(); err != nil {
				return err
			}
			say(cmd.OutOrStdout(), f)
			fmt.Fprintf(cmd.OutOrStdout(), "written: %s (submit it with sbatch, or use --submit)\n", job.Path)
			return nil
		}
		id, err := job.Submit(cmd.Context())
		if err != nil {
			return err
		}
		say(cmd.OutOrStdout(), f)
		fmt.Fprintf(cmd.OutOrStdout(), "submitted: job %s from %s; %s ends it\n", id, job.Path, job.Cancel)
		return nil
	}
	return c
}

// say writes what is noteworthy about a file that was put in place.
func say(w io.Writer, f *launch.File) {
	for _, note := range f.Notes {
		fmt.Fprintln(w, note)
	}
}
