package main

import (
	"flag"
	"fmt"

	"github.com/gorl-dev/gorl/pbt/launch"
)

func init() {
	register(command{
		name:    "slurm",
		summary: "write a population's job array for Slurm, and submit it",
		about: `
Writes <workspace>/<name>.sbatch, a job array with one task for each member, and
with -submit hands it to sbatch and writes <workspace>/scancel.sh, which ends it.
Members that are requeued, because their time is nearly up, or by scontrol
requeue, or by preemption, save before and continue after. The population's
folder and the working directory must be on all nodes.`,
		examples: `
gorl-pbt slurm -config population.yaml -print     # look first; writes nothing
gorl-pbt slurm -config population.yaml            # write the script
gorl-pbt slurm -config population.yaml -submit    # write and submit it`,
		define: func(flags *flag.FlagSet) func(invocation) error {
			file := configFlag(flags)
			show := flags.Bool("print", false, "print the script and write nothing")
			submit := flags.Bool("submit", false, "submit it with sbatch")
			return func(i invocation) error {
				f, err := file(i)
				if err != nil {
					return err
				}
				if *show && *submit {
					return usageError("-print writes nothing, so -submit has nothing to submit: give one of them")
				}
				job, err := launch.Slurm(f)
				switch {
				case err != nil:
					return err
				case *show:
					fmt.Fprint(i.stdout, job.Script)
					return nil
				case !*submit:
					if err := job.Write(); err != nil {
						return err
					}
					say(i, f)
					fmt.Fprintf(i.stdout, "written: %s (submit it with sbatch, or use -submit)\n", job.Path)
					return nil
				}
				id, err := job.Submit(i.ctx)
				if err != nil {
					return err
				}
				say(i, f)
				fmt.Fprintf(i.stdout, "submitted: job %s from %s; %s ends it\n", id, job.Path, job.Cancel)
				return nil
			}
		},
	})
}

// say writes what is noteworthy about a file that was put in place.
func say(i invocation, f *launch.File) {
	for _, note := range f.Notes {
		fmt.Fprintln(i.stdout, note)
	}
}
