package cli

import (
	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func memberCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "member",
		Short: "train one member of a population of processes; launchers call it",
		Long: `
Trains one member of a population whose members are processes: it is what a launcher
starts, and not for users. A configuration with a section pbt: has it in

  launcher: {command: [gorl, member]}

and gorl-pbt run, slurm or kubernetes starts it for every member, with the member's
number in its environment. Environments, models and rules that a program registers
are those of its members: name that program in place of gorl.`,
		Example: "gorl member",
		Args:    commandline.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if _, ok, _ := launch.FromEnvironment(); !ok {
				return commandline.Usagef(
					"a member is started by a launcher: give launcher: {command: [%s, member]} and call gorl-pbt run", program)
			}
			g := launch.Program{New: newMember}
			if status := launch.Member(g.Train); status != launch.StatusFinished {
				return &commandline.StatusError{Status: status}
			}
			return nil
		},
	}
}

// newMember builds the trainee of a member process from the file that its launcher names.
func newMember(m pbt.Member) (pbt.Trainee, error) {
	p, _, err := launch.FromEnvironment()
	if err != nil {
		return nil, err
	}
	c, err := runfile.Read(p.Config)
	if err != nil {
		return nil, err
	}
	if err := check(c); err != nil {
		return nil, err
	}
	trainee, _, err := member(c, m.Seed)
	return trainee, err
}
