package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/simulate"
)

// defaultIntervals is how long is simulated where neither the file nor a flag says so.
const defaultIntervals = 50

func simulateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "simulate",
		Short: "try out settings on synthetic members before training",
		Long: `
Trains many populations of synthetic members with the settings of a population's
file, and the same members without copying, and shows how much is copied, what it
gains, and how fast diversity is lost. Several files are compared.

A member has a skill from 0 to 1. It grows the faster the nearer the member's
hyperparameters are to their optima, which begin --distance decades away and move by
--drift decades. The objective is --offset plus --scale times the skill, with noise:
thresholds may be in its units. The result says how settings compare, not how good an
agent will become.`,
		Example: `
gorl-pbt simulate --config population.yaml --scale 500
gorl-pbt simulate --config tight.yaml --config loose.yaml --noise 0.1
gorl-pbt simulate --config population.yaml --members 16 --intervals 100 --seeds 50`,
		Args: commandline.NoArguments,
	}
	files := c.Flags().StringArray("config", nil, "the population's YAML `file` (required; several are compared)")
	seeds := c.Flags().Int("seeds", 20, "`number` of populations")
	seed := c.Flags().Int64("seed", 1, "seed of everything random")
	intervals := c.Flags().Int64("intervals", 0,
		fmt.Sprintf("`number` of intervals (default: the file's total_steps, or %d)", defaultIntervals))
	members := c.Flags().Int("members", 0, "`number` of members (default: the file's)")
	noise := c.Flags().Float64("noise", 0.03,
		"standard deviation of a reading of the objective, as a `fraction` of --scale")
	distance := c.Flags().Float64("distance", 0.7, "`decades` between where members begin and the optima")
	drift := c.Flags().Float64("drift", -0.1, "`decades` by which the optima move while an ideal member learns 63 %")
	offset := c.Flags().Float64("offset", 0, "an untrained member's objective")
	scale := c.Flags().Float64("scale", 1, "difference between a perfect and an untrained member's objective")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(*files) == 0 {
			return commandline.Usagef("--config is missing: give the population's YAML file")
		}
		if !(*scale > 0) {
			return commandline.Usagef(
				"--scale is %v: want a number above 0; whether lower is better stands in the file", *scale)
		}
		var results []*simulate.Result
		for _, path := range *files {
			s, err := preset.FromFile(path)
			if err != nil {
				return err
			}
			for _, note := range s.Notes {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", path, note)
			}
			o := s.Options
			if *members > 0 {
				o.Members = *members
			}
			switch {
			case *intervals > 0:
				o.TotalSteps = *intervals * o.IntervalSteps
			case o.TotalSteps == 0:
				o.TotalSteps = defaultIntervals * o.IntervalSteps
			}
			model := simulate.Model{
				Landscapes: simulate.Landscapes(o, *distance, *drift, 0.5), Forgetting: 0.3,
				Noise: *noise * *scale, Luck: 0.3, Offset: *offset, Scale: *scale,
			}
			if o.Measure.Minimise {
				model.Scale = -*scale
			}
			r, err := simulate.Run(cmd.Context(), simulate.Config{Name: strings.TrimSuffix(filepath.Base(path),
				filepath.Ext(path)), Model: model, Options: o, Seeds: *seeds, Seed: *seed})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			results = append(results, r)
		}
		fmt.Fprintf(cmd.OutOrStdout(),
			"%d populations of %d members over %d intervals; best, median and control are noise-free objectives at "+
				"the end.\n\n",
			len(results[0].Runs), results[0].Members, len(results[0].Steps))
		return simulate.Write(cmd.OutOrStdout(), results...)
	}
	return c
}
