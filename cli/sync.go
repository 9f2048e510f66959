package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/launch"
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
the run's folder; of a population, from the folder of each member. With the setting
artifacts also the best checkpoint and films. A second call sends nothing twice.
--set trainer.trackers=[...] names other trackers, also for a run that had none.`,
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

// syncRun sends the trackers of a run, or of all members of a population, what they have not received.
func syncRun(cmd *cobra.Command, dir string, set []string) (err error) {
	path, lock, population := filepath.Join(dir, runFile), "lock", runfile.In(dir).Population
	if population && !exists(path) { // members are processes
		path, lock = filepath.Join(dir, launch.ConfigFile), launch.LockFile
	}
	c, err := readConfiguration(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return commandline.Usagef("%s has no %s, which gorl train writes; give the folder of a run", dir, runFile)
	}
	if err != nil {
		return err
	}
	shown := config.Clone(map[string]any(c)).(map[string]any) // trackers get the configuration of the run
	for _, assignment := range set {
		if err := c.Set(assignment); err != nil {
			return commandline.Usagef("--set %w", err)
		}
	}
	section, err := written(c)
	if err != nil {
		return err
	}
	if len(section.Trackers) == 0 {
		return commandline.Usagef("%s has no trackers; name one: --set trainer.trackers=[mlflow]", dir)
	}
	runs, err := unsent(dir, population, shown)
	if err != nil {
		return err
	}
	release, err := durable.Lock(dir, lock)
	if errors.Is(err, durable.ErrInUse) {
		return commandline.Usagef("%s is being trained, and its trackers get its values; wait for its end", dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	var errs []error
	for _, t := range section.Trackers {
		values, files, err := int64(0), 0, error(nil)
		for i := 0; err == nil && i < len(runs); i++ {
			n, k, failed := trackers.Send(cmd.Context(), t, runs[i])
			values, files, err = values+n, files+k, failed
		}
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d values and %d files sent\n", t.Name, values, files)
		} else {
			errs = append(errs, fmt.Errorf("tracker %s: %w (%d values and %d files were sent; call again to send the "+
				"rest)", t.Name, err, values, files))
		}
	}
	return errors.Join(errs...)
}

// unsent returns the runs of trackers in a folder: one of a single run, or one of each member of a population.
func unsent(dir string, population bool, shown runfile.Sections) (runs []trackers.Run, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	found, err := tracking.FindRuns(dir)
	for _, path := range found {
		run := trackers.Run{Dir: path, Config: shown}
		if run.Name, run.Group = runfile.Named(path); path != dir && population {
			run.Group = filepath.Base(dir)
			run.Name = run.Group + "-" + filepath.Base(path)
		}
		if (path != dir) == population {
			runs = append(runs, run)
		}
	}
	if err == nil && len(runs) == 0 {
		err = commandline.Usagef("%s has no values to send: its trainer.write_interval was 0", dir)
	}
	return runs, err
}
