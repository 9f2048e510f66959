package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/explore"
)

// sweepConfig is the file of a sweep. The words are those of W&B's sweeps.
type sweepConfig struct {
	// Config is the configuration that all runs share, a path relative to the current folder.
	Config string `yaml:"config"`
	Name   string `yaml:"name"`
	// Method is "grid", every combination of values, or "random", Trials draws.
	Method string `yaml:"method"`
	Trials int    `yaml:"trials"`
	// Seed is the seed of the draws. Seeds are the seeds of every trial's runs, 1 by default.
	Seed  int64 `yaml:"seed"`
	Seeds any   `yaml:"seeds"`
	// Metric is the figure at the end of training by which trials are compared.
	Metric struct {
		Name string `yaml:"name"`
		Goal string `yaml:"goal"` // "maximize" or "minimize"
	} `yaml:"metric"`
	// Parameters are the values of settings, by dotted keys.
	Parameters map[string]any `yaml:"parameters"`
}

// sweepParameter is the values of one setting: Values, one Value, or a range.
type sweepParameter struct {
	Values []any    `yaml:"values"`
	Value  any      `yaml:"value"`
	Min    *float64 `yaml:"min"`
	Max    *float64 `yaml:"max"`
	// Distribution is "uniform", "log_uniform_values" or "int_uniform". Default: int_uniform if Min and Max are
	// written as whole numbers, otherwise uniform.
	Distribution string `yaml:"distribution"`
	whole        bool   // Min and Max are written as whole numbers
}

func sweepCommand() *cobra.Command {
	f := trainFlags{}
	c := &cobra.Command{
		Use:   "sweep FILE",
		Short: "train with many combinations of settings and compare them",
		Long: `
Trains a run for each combination of settings (method: grid), or for each of a number of
random draws (method: random), and prints a table of all, the best first. FILE is in
YAML, with the words of W&B's sweeps:

  config: cartpole.yaml
  method: random
  trials: 20
  seeds: 1..3
  metric: {name: episode.return, goal: maximize}
  parameters:
    agent.learning_rate: {min: 1e-4, max: 1e-2, distribution: log_uniform_values}
    agent.learning_epochs: {min: 2, max: 10}
    models.mlp: {values: [[32, 32], [64, 64]]}

The metric is the figure at the end of training, a mean over the trial's seeds. Runs are
ordinary runs in a folder for each trial; the table is also in results.csv and
results.json. Ctrl-C saves all; gorl train --resume FOLDER goes on.`,
		Example: `
gorl sweep sweep.yaml
gorl sweep sweep.yaml --jobs 4 --name rates --set trainer.timesteps=2000`,
		Args: commandline.Arguments(1, 1, "the file of a sweep"),
	}
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "configuration of all runs, a YAML `file`, instead of config:")
	flags.BoolVar(&f.check, "check", false, "check everything, print the trials, and do not train")
	f.registerRun(c, "sweep")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f.console = consoleOf(cmd)
		s, err := readSweep(args[0])
		if err != nil {
			return commandline.Usagef("%s: %w", args[0], err)
		}
		b, err := s.batch()
		if err != nil {
			return commandline.Usagef("%s: %w", args[0], err)
		}
		if f.config = cmp.Or(f.config, s.Config); f.config == "" {
			return commandline.Usagef("%s has no config: want the configuration that all runs share, there or with "+
				"--config", args[0])
		}
		shared, err := f.configuration()
		if err != nil {
			return err
		}
		trainer := shared.Section("trainer") // whose name is for single runs
		trainer["name"] = cmp.Or(s.Name, strings.TrimPrefix(textOf(trainer["name"])+"-sweep", "-"))
		if f.check {
			for _, r := range b.Runs {
				fmt.Fprintf(f.stdout, "%s: seed %d, %v\n", r.Name, r.Seed, r.Settings)
			}
		}
		return f.startBatch(cmd.Context(), b, shared)
	}
	return c
}

// readSweep reads the file of a sweep.
func readSweep(path string) (*sweepConfig, error) {
	dict, err := runfile.Read(path)
	if err != nil {
		return nil, err
	}
	s := &sweepConfig{Method: "grid", Seeds: 1, Seed: 1}
	s.Metric.Name, s.Metric.Goal = "episode.return", "maximize"
	err = config.Merge(s, dict, config.Options{Hints: map[string]string{
		"program": "a sweep trains with gorl itself: leave it out, and give config: FILE",
		"command": "a sweep trains with gorl itself: leave it out, and give config: FILE",
		"run_cap": "W&B's limit is trials here", "early_terminate": "gorl sweep trains every run to its end; a " +
			"population (docs/pbt.md) ends poor members early",
	}})
	if err != nil {
		return nil, err
	}
	refuse := func(key string, given any, reason string) {
		err = errors.Join(err, &config.Error{Path: key, Given: given, Reason: reason})
	}
	if s.Method != "grid" && s.Method != "random" {
		refuse("method", s.Method, "want grid (every combination of values) or random (a number of trials)")
	}
	if goal := s.Metric.Goal; goal != "maximize" && goal != "minimize" {
		refuse("metric.goal", goal, "want maximize or minimize")
	}
	if len(s.Parameters) == 0 {
		refuse("parameters", s.Parameters, "want settings with their values, for instance "+
			"agent.learning_rate: {values: [1e-4, 1e-3]}")
	}
	return s, err
}

// parameter reads the values of a setting.
func (s *sweepConfig) parameter(key string) (p sweepParameter, err error) {
	given := s.Parameters[key]
	wrong := func(reason string) (sweepParameter, error) {
		return p, &config.Error{Path: "parameters." + key, Given: given, Reason: reason}
	}
	switch given := given.(type) {
	case []any:
		p.Values = given
	case map[string]any:
		if err := config.Merge(&p, given, config.Options{Prefix: "parameters." + key}); err != nil {
			return p, err
		}
		_, low := given["min"].(int)
		_, high := given["max"].(int)
		p.whole = low && high
		if p.Value != nil {
			p.Values = []any{p.Value}
		}
	default:
		return wrong("want {values: [...]}, {value: ...} or {min: ..., max: ...}")
	}
	distributions := []string{"uniform", "log_uniform_values", "int_uniform"}
	isRange := p.Min != nil && p.Max != nil
	switch {
	case (len(p.Values) > 0) == (p.Min != nil || p.Max != nil) || (p.Min == nil) != (p.Max == nil):
		return wrong("want either values, or min and max")
	case isRange && s.Method == "grid":
		return wrong("a grid needs values: [...]; method: random draws from a range")
	case p.Distribution != "" && !slices.Contains(distributions, p.Distribution):
		return wrong("distribution: " + config.Among(p.Distribution, distributions))
	case isRange && (!(*p.Min <= *p.Max) || p.Distribution == "log_uniform_values" && *p.Min <= 0):
		return wrong("want min below max, and above 0 for log_uniform_values")
	}
	return p, nil
}

// draw returns a value of the setting.
func (p *sweepParameter) draw(random *rand.Rand) any {
	if len(p.Values) > 0 {
		return p.Values[random.IntN(len(p.Values))]
	}
	space := explore.Parameter{Sample: explore.Range{Low: *p.Min, High: *p.Max,
		Log: p.Distribution == "log_uniform_values"}}
	if p.Distribution == "int_uniform" || p.Distribution == "" && p.whole {
		space.Rule = explore.Integer
		return int(space.Draw(random))
	}
	return space.Draw(random)
}

// batch returns the runs of the sweep: for each trial and seed one.
func (s *sweepConfig) batch() (*batch, error) {
	seeds, err := seedsOf(s.Seeds)
	if err != nil {
		return nil, err
	}
	keys := slices.Sorted(maps.Keys(s.Parameters))
	parameters, trials := make([]sweepParameter, len(keys)), 1
	var errs []error
	for i, key := range keys {
		parameters[i], err = s.parameter(key)
		errs = append(errs, err)
		trials = min(trials*max(len(parameters[i].Values), 1), maxRuns+1)
	}
	if s.Method == "random" {
		trials = s.Trials
	}
	if trials < 1 || trials > maxRuns/len(seeds) {
		errs = append(errs, &config.Error{Path: "trials", Given: trials, Reason: fmt.Sprintf(
			"want 1 or more, and at most %d runs in all; method: random needs it", maxRuns)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	b := &batch{Metric: s.Metric.Name, Lowest: s.Metric.Goal == "minimize"}
	random := rand.New(rand.NewPCG(uint64(s.Seed), 0))
	for trial := range trials {
		settings, rest := map[string]any{}, trial
		for i := len(keys) - 1; i >= 0; i-- { // the last key changes fastest
			if p := &parameters[i]; s.Method == "random" {
				settings[keys[i]] = p.draw(random)
			} else {
				settings[keys[i]], rest = p.Values[rest%len(p.Values)], rest/len(p.Values)
			}
		}
		point := fmt.Sprintf("trial-%03d", trial+1)
		for _, seed := range seeds {
			r := batchRun{Name: point, Point: point, Seed: seed, Settings: settings}
			if len(seeds) > 1 {
				r.Name = filepath.Join(point, fmt.Sprintf("seed-%d", seed))
			}
			b.Runs = append(b.Runs, r)
		}
	}
	return b, nil
}
