package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

// linesEvery is a variable of the environment: the part of a run between two lines of progress. A batch sets it for its
// processes.
const linesEvery = "GORL_PROGRESS_EVERY"

// mostBars is the largest number of runs that are shown as bars. More do not fit on a terminal, and get lines.
const mostBars = 20

// batch is several runs of one configuration, in folders below one folder. Each is a process of this command.
type batch struct {
	dir string
	// Metric is the figure of the points' order, and Lowest reports whether the lowest is the best. A batch of seeds
	// has no metric.
	Metric string     `yaml:"metric,omitempty"`
	Lowest bool       `yaml:"lowest,omitempty"`
	Runs   []batchRun `yaml:"runs"`
	// Configuration is what all runs share.
	Configuration map[string]any `yaml:"configuration"`
}

// batchRun is a run of a batch.
type batchRun struct {
	// Name is the folder of the run, below that of the batch. Runs of one Point differ by the seed alone.
	Name  string `yaml:"name"`
	Point string `yaml:"point,omitempty"`
	Seed  int64  `yaml:"seed"`
	// Settings are the values of this run, by dotted keys.
	Settings map[string]any `yaml:"settings,omitempty,flow"`
	Finished bool           `yaml:"finished,omitempty"`
}

// write writes the file of the batch.
func (b *batch) write() error {
	text, err := yaml.Marshal(b)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(b.dir, runfile.Batch), fmt.Appendf(nil, "# Written by %s. To go on: %[1]s train "+
		"--resume %s\n\n%s", program, process.QuoteWord(b.dir), config.Redact(string(text))))
}

// readBatch reads the file of the batch in a folder.
func readBatch(dir string) (*batch, error) {
	path := filepath.Join(dir, runfile.Batch)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &batch{dir: dir}
	if err := yaml.Unmarshal(text, b); err != nil {
		return nil, commandline.Usagef("%s: %w", path, err)
	}
	for _, r := range b.Runs {
		if !filepath.IsLocal(r.Name) {
			return nil, commandline.Usagef("%s: the run %q is not below the folder; repair its name", path, r.Name)
		}
	}
	return b, nil
}

// of returns the configuration of a run.
func (b *batch) of(r batchRun) (runfile.Sections, error) {
	c := runfile.Sections(config.Clone(b.Configuration).(map[string]any))
	c["seed"] = r.Seed
	for key, value := range r.Settings {
		if err := c.SetValue(key, value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// begin makes the folder of a new batch. It checks every configuration without its environment, and the first as
// --check does.
// With --check it prints the first one of a batch of seeds.
func (b *batch) begin(ctx context.Context, f *trainFlags) error {
	stdout := f.stdout
	if !f.check || b.Metric != "" {
		stdout = io.Discard
	}
	for i, r := range b.Runs {
		c, err := b.of(r)
		if err == nil {
			err = check(c)
		}
		switch {
		case err != nil:
		case i == 0:
			first := trainFlags{check: true, checks: checkFlags{mode: checkSettings}, out: b.dir, name: "check",
				console: console{stdout: stdout, stderr: io.Discard, given: func(string) bool { return false }}}
			err = first.trainSingle(ctx, c, together{})
		case len(r.Settings) > 0: // otherwise it differs from the first by the seed alone
			err = trainers.Check(c.Of(runfile.Trainers), spaces.Set{})
		}
		if err != nil {
			return wrong(fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	if f.check {
		return nil
	}
	if err := b.write(); err != nil {
		return err
	}
	return runfile.Record(b.dir, nil, runfile.Start{})
}

// jobsFor returns the number of processes side by side by default: one for each core and GiB of memory, but one alone
// if the runs share a GPU.
func (b *batch) jobsFor() int {
	for _, section := range []string{"agent", "environment"} {
		device := textOf(runfile.Sections(b.Configuration).Section(section)["device"])
		if device != "" && device != "cpu" {
			return 1
		}
	}
	jobs := runtime.GOMAXPROCS(0)
	for jobs > 1 && capacity.Check("processes", float64(jobs)*(1<<30)) != nil {
		jobs--
	}
	return jobs
}

// train trains the runs that are not finished, f.jobs of them side by side, and prints the table.
func (b *batch) train(ctx context.Context, f *trainFlags) (err error) {
	release, err := durable.Lock(b.dir, "lock")
	if errors.Is(err, durable.ErrInUse) {
		return commandline.Usagef("%s is being trained by another process; wait for its end", b.dir)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	jobs := min(cmp.Or(f.jobs, b.jobsFor()), len(b.Runs))
	if f.given("timesteps") { // to train all for longer
		runfile.Sections(b.Configuration).Section("trainer")["timesteps"] = f.timesteps
		for i := range b.Runs {
			b.Runs[i].Finished = false
		}
		if err := b.write(); err != nil {
			return err
		}
	}
	stderr := f.stderr
	if len(b.Runs) > mostBars {
		stderr = struct{ io.Writer }{stderr} // which is not known as a terminal
	}
	display := progress.New(stderr, progress.Options{Silent: f.quiet, LineEvery: 0.25})
	defer display.Wait()
	display.Printf("%s: %d runs, %d side by side", b.dir, len(b.Runs), jobs)
	slots := make(chan struct{}, jobs)
	var mu sync.Mutex
	var all sync.WaitGroup
	var failures []error
	var told sync.Map
	for i := range b.Runs {
		r := &b.Runs[i]
		if r.Finished {
			continue
		}
		select {
		case <-ctx.Done():
		case slots <- struct{}{}:
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			child := &batchProcess{name: r.Name, display: display, say: func(line string) {
				if _, again := told.LoadOrStore(line, true); !again { // runs of one configuration have the same notes
					display.Printf("%s: %s", r.Name, line)
				}
			}}
			err := child.train(ctx, b, *r, jobs)
			mu.Lock()
			defer mu.Unlock()
			if r.Finished = err == nil; r.Finished {
				err = b.write()
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				failures = append(failures, fmt.Errorf("%s: %w", r.Name, err))
			}
		})
	}
	all.Wait()
	display.Wait()
	unfinished := slices.DeleteFunc(slices.Clone(b.Runs), func(r batchRun) bool { return r.Finished })
	switch goOn := fmt.Sprintf("%s train --resume %s", program, process.QuoteWord(b.dir)); {
	case len(failures) > 0:
		return fmt.Errorf("%d of %d runs have not finished; %s continues these:\n%w", len(unfinished),
			len(b.Runs), goOn, errors.Join(failures...))
	case len(unfinished) > 0:
		return &commandline.StoppedError{Err: fmt.Errorf("stopped with %d of %d runs finished; all are saved in %s. "+
			"Go on with: %s", len(b.Runs)-len(unfinished), len(b.Runs), b.dir, goOn)}
	case f.quiet:
		if err := b.report(io.Discard); err != nil { // which writes files, too
			return err
		}
		_, err = fmt.Fprintln(f.stdout, b.dir)
		return err
	}
	return b.report(f.stdout)
}

// batchProcess is the process of a run, and what it shows.
type batchProcess struct {
	name    string
	display tracking.Progress
	say     func(line string)
	bar     tracking.Bar
	last    string
}

// train starts the process and waits for it. The error of a stopped process is context.Canceled.
func (p *batchProcess) train(ctx context.Context, b *batch, r batchRun, jobs int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := b.of(r)
	if err != nil {
		return err
	}
	dir, o := filepath.Join(b.dir, r.Name), process.Options{Grace: 30 * time.Second}
	if holdsRun(dir) {
		o.Argv = []string{self, "train", "--resume", dir}
		if n, ok := config.Whole(c.Section("trainer")["timesteps"]); ok {
			o.Argv = append(o.Argv, "--timesteps", strconv.Itoa(n))
		}
	} else {
		o.Argv = []string{self, "train", "--config", "-", "--out", filepath.Dir(dir), "--name", filepath.Base(dir)}
		if o.Stdin, err = yaml.Marshal(map[string]any(c)); err != nil {
			return err
		}
	}
	o.Env = append(os.Environ(), linesEvery+"=0.01")
	if os.Getenv("GOMAXPROCS") == "" {
		o.Env = append(o.Env, fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.GOMAXPROCS(0)/jobs)))
	}
	tail := process.Tail{Each: func(line string) { p.show(line, dir) }}
	o.Stdout, o.Stderr = io.Discard, &tail
	child, err := process.Start(o)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, child.Terminate)
	exit := <-child.Done()
	stop()
	if p.bar != nil {
		p.bar.Finish(p.last)
	}
	switch {
	case exit.Status == 0:
		return nil
	case exit.Status == commandline.Stopped || ctx.Err() != nil:
		return context.Canceled
	}
	lines := tail.Lines()
	return fmt.Errorf("%s; its last lines:\n\t%s", exit, strings.Join(lines[max(0, len(lines)-4):], "\n\t"))
}

// progressLine matches a line of package progress.
var progressLine = regexp.MustCompile(
	`^\S.*? +\d+ %  (\d+)/(\d+)(?:  \S+ environment steps/s)?(?:  (?:ETA|in) \S+)?(?:  (.*))?$`)

// show shows a line of the process: its progress as a bar, other lines as they are. The process's own headings and
// errors are left out, because the batch has its own.
func (p *batchProcess) show(line, dir string) {
	if m := progressLine.FindStringSubmatch(line); m != nil {
		done, _ := strconv.ParseInt(m[1], 10, 64)
		total, _ := strconv.ParseInt(m[2], 10, 64)
		if p.bar == nil {
			p.bar = p.display.Bar(p.name, total)
		}
		p.last = m[3]
		p.bar.Set(done, p.last)
	} else if line != "" && !strings.HasPrefix(line, dir+": ") && !strings.HasPrefix(line, filepath.Base(os.Args[0])) {
		p.say(line)
	}
}
