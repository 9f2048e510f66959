package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

func syncCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sync RUN...",
		Short: "send trackers what they have not received of a run",
		Long: `
Sends each tracker of a finished run (trainer.trackers) the values that it has not
received, for example because its server was away: from scalars.jsonl and run.yaml in
the run's folder. With the setting artifacts also the best checkpoint and films. A
second call sends nothing twice. --set trainer.trackers=[...] names other trackers,
also for a run that had none.`,
		Example: `
gorl sync runs/cartpole
gorl sync runs/cartpole --set 'trainer.trackers=[{wandb: {project: walker}}]'`,
		Args: commandline.Arguments(1, 0, "the folder of a run"),
	}
	set := c.Flags().StringArrayP("set", "s", nil,
		"change a setting: `KEY=VALUE`, the key dotted through sections, the value in YAML (may be repeated)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		for _, dir := range args {
			if err := syncRun(cmd, dir, *set); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// syncRun sends the trackers of a run what they have not received.
func syncRun(cmd *cobra.Command, dir string, set []string) (err error) {
	c, err := readConfiguration(filepath.Join(dir, runFile), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return commandline.Usagef("%s has no %s, which gorl train writes; give the folder of a run", dir, runFile)
	}
	if err != nil {
		return err
	}
	if runfile.In(dir).Population {
		return commandline.Usagef("%s holds a population, whose members' values are in no %s; give the folder of a "+
			"single run", dir, tracking.ScalarsFile)
	}
	shown, err := runfile.Read(filepath.Join(dir, runFile)) // trackers get the configuration of the run
	if err != nil {
		return err
	}
	for _, assignment := range set {
		if err := c.Set(assignment); err != nil {
			return commandline.Usagef("--set %w", err)
		}
	}
	list, err := trackersOf(c)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return commandline.Usagef("%s has no trackers; name one: --set trainer.trackers=[mlflow]", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	release, err := durable.Lock(dir, "lock")
	if errors.Is(err, durable.ErrInUse) {
		return commandline.Usagef("%s is being trained, and its trackers get its values; wait for its end", dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	var errs []error
	name, group := runfile.Named(dir)
	for _, t := range list {
		values, files, err := trackers.Send(cmd.Context(), t, trackers.Run{Name: name, Group: group, Dir: dir,
			Config: shown})
		if err != nil {
			errs = append(errs, fmt.Errorf("tracker %s: %w (%d values and %d files were sent; call again to send the "+
				"rest)", t.Name, err, values, files))
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d values and %d files sent\n", t.Name, values,
			files); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
