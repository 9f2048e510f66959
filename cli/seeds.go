package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// maxRuns limits the runs of a batch.
const maxRuns = 10_000

// registerRun adds the flags that gorl train and gorl sweep have in common. what is a "run" or a "sweep".
func (f *trainFlags) registerRun(c *cobra.Command, what string) {
	flags := c.Flags()
	flags.StringArrayVarP(&f.set, "set", "s", nil,
		"change a setting: `KEY=VALUE`, the key dotted through sections, the value in YAML (may be repeated)")
	flags.StringVarP(&f.out, "out", "o", "", "`folder` of all runs, instead of the configuration's (runs)")
	flags.StringVarP(&f.name, "name", "n", "", "`name` of the "+what+", its folder in that of all runs")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, and print the "+what+"'s folder only")
	flags.IntVar(&f.jobs, "jobs", 0, "`number` of runs side by side, each a process (default: one for each core and "+
		"GiB of memory; one alone if a GPU is used)")
	commandline.AtLeast(c, 1, "jobs")
}

// trainSeeds trains a run for each seed of --seeds, or continues a batch.
func (f *trainFlags) trainSeeds(ctx context.Context, ranks bool) error {
	switch {
	case f.given("timesteps") && f.timesteps < 1:
		return commandline.Usagef("--timesteps is %d; want the length of each run", f.timesteps)
	case f.seeds == "" && f.resume == "":
		return commandline.Usagef("--jobs %d is for several runs: give --seeds, for instance --seeds 1..5", f.jobs)
	case f.seeds != "" && f.given("seed"):
		return commandline.Usagef("--seed %d and --seeds %s: give one of the two", f.seed, f.seeds)
	case ranks:
		return commandline.Usagef("several seeds are processes of this machine, and cannot be ranks of a run, too; " +
			"start a run for each seed with --nproc and --seed")
	}
	if f.resume != "" {
		return f.resumeBatch(ctx)
	}
	seeds, err := parseSeeds(f.seeds)
	if err != nil {
		return commandline.Usagef("--seeds: %w", err)
	}
	c, err := f.configuration()
	if err != nil {
		return err
	}
	b := &batch{}
	for _, seed := range seeds {
		b.Runs = append(b.Runs, batchRun{Name: fmt.Sprintf("seed-%d", seed), Seed: seed})
	}
	return f.startBatch(ctx, b, c)
}

// resumeBatch trains the batch in the folder of --resume.
func (f *trainFlags) resumeBatch(ctx context.Context) error {
	for _, flag := range []string{"seeds", "seed", "config", "set", "out", "name", "env", "num-envs", "device",
		"check"} {
		if f.given(flag) {
			return commandline.Usagef("--%s does not go with --resume %s: its runs keep their seeds and "+
				"settings; start them under another --name", flag, f.resume)
		}
	}
	if !exists(f.resume, runfile.Batch) {
		return commandline.Usagef("--jobs %d: %s is no folder of several runs", f.jobs, f.resume)
	}
	b, err := readBatch(f.resume)
	if err != nil {
		return err
	}
	commandline.OutliveReaders()
	return b.train(ctx, f)
}

// startBatch begins a batch of a configuration in a new folder and trains it.
func (f *trainFlags) startBatch(ctx context.Context, b *batch, c runfile.Sections) error {
	if kind := c.Kind(); kind != runfile.Single {
		return commandline.Usagef("several runs at once are for single agents: a population trains its members side " +
			"by side itself; start a population for each seed with --seed")
	}
	trainer, class := c.Section("trainer"), strings.ToUpper(textOf(c.Section("agent")["class"]))
	directory, name, err := f.place(textOf(trainer["directory"]), textOf(trainer["name"]), class, false)
	if err != nil {
		return err
	}
	b.dir, b.Configuration = filepath.Join(directory, name), c
	if f.given("timesteps") {
		trainer["timesteps"] = f.timesteps
	}
	if err := b.begin(ctx, f); err != nil || f.check {
		return err
	}
	f.note(f.notes...)
	commandline.OutliveReaders()
	once := *f // the length is in the configuration
	once.given = func(string) bool { return false }
	return b.train(ctx, &once)
}

// parseSeeds reads seeds such as "1..5", "1,4,7" or "1..3,10".
func parseSeeds(text string) (seeds []int64, err error) {
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "..")
		from, wrong := strconv.ParseInt(first, 10, 64)
		to := from
		if isRange && wrong == nil {
			to, wrong = strconv.ParseInt(last, 10, 64)
		}
		if wrong != nil || from < 0 || to < from || to-from >= maxRuns {
			return nil, fmt.Errorf("%q is not a seed or a range of at most %d; want for instance 1..5 or 1,4,7", part,
				maxRuns)
		}
		for seed := from; seed <= to; seed++ {
			if slices.Contains(seeds, seed) {
				return nil, fmt.Errorf("seed %d is given twice; leave one out", seed)
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}

// seedsOf reads seeds from YAML: a number, a list of numbers, or a text as --seeds has.
func seedsOf(value any) ([]int64, error) {
	text := fmt.Sprint(value)
	if list, ok := value.([]any); ok {
		text = strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
	}
	seeds, err := parseSeeds(text)
	if err != nil {
		return nil, &config.Error{Path: "seeds", Given: value, Reason: err.Error()}
	}
	return seeds, nil
}
