package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/tracking/aggregate"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// mostPanels is how many tags are drawn without being asked for.
const mostPanels = 24

func plotCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plot PATH...",
		Short: "draw the curves of runs",
		Long: `
Draws what runs have tracked as a PNG, with a panel for each tag and a curve for each
run. PATH is the folder of a run, a folder of such folders, or a file: JSON lines
(scalars.jsonl) or an event file of TensorBoard.

Runs whose run.yaml differ by the seed alone are one curve: the mean of the seeds, as far
as all of them go, with a 95 % bootstrap confidence interval. Without --tag it draws
returns, lengths of episodes, losses and the learning rate.`,
		Example: `
gorl plot runs/cartpole
gorl plot --list runs/cartpole
gorl plot --smooth 0.9 --tag '*reward (mean)' --tag 'Loss / *' --out losses.png runs/cartpole
gorl plot -x time runs/slow runs/fast
gorl plot runs                                 # all runs in a folder`,
		Args: commandline.Arguments(1, 0, "the folder of a run, or a file of scalars"),
	}
	patterns := c.Flags().StringArrayP("tag", "t", nil,
		"draw the tags that match this `pattern`, in which * stands for anything (may be repeated)")
	smooth := c.Flags().Float64("smooth", 0, "`weight` of the exponential moving average, from 0 to below 1")
	over := commandline.Choice(c, "x", "steps", "what curves are drawn over: steps (of all environments), timesteps "+
		"(of the trainer), time (since a run's first value) or updates (of the agent); an `axis`", "steps", "timesteps",
		"time", "updates")
	logarithmic := c.Flags().StringArray("log", nil,
		"draw the tags that match this `pattern` on a logarithmic axis (may be repeated)")
	out := c.Flags().String("out", "plot.png", "PNG `file` to write, which is replaced where it exists")
	each := c.Flags().Bool("each", false, "draw a curve for every run, also of runs that differ by the seed alone")
	iqm := c.Flags().Bool("iqm", false, "draw the interquartile mean of runs that differ by the seed alone, "+
		"not the mean")
	list := c.Flags().Bool("list", false,
		"print the tags with their values' number, first, last, least and greatest, and draw nothing")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !(*smooth >= 0 && *smooth < 1):
			return commandline.Usagef("--smooth is %v: want a number from 0 to below 1", *smooth)
		case filepath.Ext(*out) != ".png":
			return commandline.Usagef("--out is %s: want a name that ends in .png", *out)
		}
		records, err := gather(args, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if *list && len(*patterns) == 0 {
			*patterns = []string{"*"}
		}
		chosen, err := tags(records, *patterns)
		if err != nil {
			return err
		}
		if *list {
			return writeList(cmd.OutOrStdout(), records, chosen)
		}
		if len(*patterns) == 0 && len(chosen) > mostPanels {
			return commandline.Usagef("there are %d tags: choose some with --tag; --list prints them", len(chosen))
		}
		x, err := axisOf(*over, records)
		if err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		drawn, err := panels(records, chosen, x, *smooth, commandline.Globs(*logarithmic))
		if err != nil {
			return err
		}
		if !*each {
			statistic, what := aggregate.Statistic(aggregate.Mean), "mean"
			if *iqm {
				statistic, what = aggregate.IQM, "interquartile mean"
			}
			var names, dirs []string
			for _, r := range records {
				names, dirs = append(names, r.name), append(dirs, r.dir)
			}
			consoleOf(cmd).note(joinCurves(drawn, groupRuns(names, dirs), statistic, what)...)
		}
		title := ""
		if len(records) == 1 {
			title = records[0].name
		}
		if err := plot.WritePNG(*out, title, drawn, 0); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s of %s\n", *out, plural(len(drawn), "panel"),
			plural(len(records), "run"))
		return err
	}
	return c
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
