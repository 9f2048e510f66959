// Command pbt_scale measures what a decision costs as a population grows: real populations in a real workspace, whose
// members are synthetic and train in no time. First all members are in one process and wait for each other. Then each
// takes part as a process of its own does, in turns. Member 0 shares no cache with the others, so that its turn costs
// what the turn of a real process costs. At last the page of the population is made.
//
//	go run ./benchmarks/pbt_scale                         # the table of docs/pbt-cluster.md
//	go run ./benchmarks/pbt_scale -members 1000 -keep x   # leaves the workspace in x, for gorl serve x
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/simulate"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

var (
	members   = flag.String("members", "10,100,1000", "sizes of populations, comma-separated")
	intervals = flag.Int("intervals", 5, "intervals of each population")
	dir       = flag.String("dir", "", "where the workspaces are made; default: the folder for temporary files")
	keep      = flag.String("keep", "", "folder that keeps the last workspace")
	skip      = flag.Bool("skip-one", false, "without the population in one process")
)

func main() { compare.Main(run) }

const intervalSteps = 10_000

func run(ctx context.Context) error {
	var rows [][]string
	for _, text := range strings.Split(*members, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-members: %w", err)
		}
		row := []string{text}
		for _, measure := range []func(context.Context, string, int) ([]string, error){together, apart} {
			folder, err := os.MkdirTemp(*dir, "pbt_scale-*")
			if err == nil {
				var cells []string
				cells, err = measure(ctx, folder, n)
				row = append(row, cells...)
			}
			if err != nil {
				return err
			}
			if *keep != "" {
				if err := os.RemoveAll(*keep); err != nil {
					return err
				}
				err = os.Rename(folder, *keep)
			} else {
				err = os.RemoveAll(folder)
			}
			if err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	return tracking.Table(os.Stdout, []string{"members", "one process: CPU ms a decision", "wall ms", "files",
		"processes: CPU ms a decision", "wall ms", "read calls", "write calls", "CPU ms without new records", "files",
		"MB", "journals MB", "page: CPU ms", "page MB"}, rows)
}

// options are a population of n synthetic members, whose learning rate and entropy bonus are tuned.
func options(n int) (pbt.Options, error) {
	opt := pbt.Options{Members: n, IntervalSteps: intervalSteps, TotalSteps: int64(*intervals) * intervalSteps, Seed: 1,
		Strategy: strategy.DefaultSampleFactory(),
		Explore: explore.Mutation{Rate: 0.5, Rules: explore.Rules{"learning_rate": explore.MutateFloat,
			"entropy_loss_scale": explore.MutateFloat}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-2, Log: true},
			"entropy_loss_scale": {Low: 1e-4, High: 1e-1, Log: true}}}
	return simulate.Config{Options: opt, Model: simulate.Model{Landscapes: simulate.Landscapes(opt, 0.5, -0.3, 0.5),
		Noise: 0.02, Luck: 0.2}}.Population()
}

// together measures a population in one process.
func together(ctx context.Context, folder string, n int) ([]string, error) {
	if *skip {
		return []string{"-", "-", "-"}, nil
	}
	opt, err := options(n)
	if err != nil {
		return nil, err
	}
	opt.Directory = folder
	p, err := pbt.New(opt)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	before := now()
	if _, err := p.Train(ctx); err != nil {
		return nil, err
	}
	used := now().since(before)
	decisions := float64(n * *intervals)
	files, _, err := size(folder)
	return []string{ms(used.cpu, decisions), ms(used.wall, decisions), fmt.Sprint(files)}, err
}

// apart measures a population of processes.
func apart(ctx context.Context, folder string, n int) ([]string, error) {
	opt, err := options(n)
	if err != nil {
		return nil, err
	}
	opt.Asynchronous = true
	shared, err := workspace.OpenFolder(folder, n, workspace.FolderOptions{LeaseTTL: 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	own, err := workspace.OpenFolder(folder, n, workspace.FolderOptions{LeaseTTL: 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	all := make([]*pbt.Population, n)
	for i := range all {
		place := pbt.ProcessOptions{Member: i, Store: shared, Slice: 1, Heartbeat: 23 * time.Hour,
			Silence: 24 * time.Hour}
		if i == 0 {
			place.Store = own
		}
		if all[i], err = pbt.Join(ctx, opt, place); err != nil {
			return nil, err
		}
		defer all[i].Close()
	}
	var first, others usage
	for interval := range *intervals {
		fmt.Fprintf(os.Stderr, "%d members, interval %d of %d\n", n, interval+1, *intervals)
		for i := range n {
			at := (i + 1) % n // member 0 is the last in each interval: all others have published
			before := now()
			if _, err := all[at].Train(ctx); err != nil && !errors.Is(err, pbt.ErrYield) {
				return nil, err
			}
			used := now().since(before)
			if at == 0 {
				first = first.plus(used)
			} else {
				others = others.plus(used)
			}
		}
	}
	turns := float64(*intervals)
	files, bytes, err := size(folder)
	if err != nil {
		return nil, err
	}
	_, journals, err := size(folder, journal.File)
	if err != nil {
		return nil, err
	}
	before := now()
	h, err := journal.ReadHistory(folder)
	if err != nil {
		return nil, err
	}
	p, err := report.Of(h, report.Options{})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	used := now().since(before)
	return []string{ms(first.cpu, turns), ms(first.wall, turns), each(first.reads, turns), each(first.writes, turns),
		ms(others.cpu, turns*float64(n-1)), fmt.Sprint(files), mb(bytes), mb(journals), ms(used.cpu, 1),
		mb(int64(len(text)))}, err
}

// usage is what this process has used: time, and calls that read and write.
type usage struct {
	cpu, wall     time.Duration
	reads, writes float64
}

func now() (u usage) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	u.wall = time.Since(began)
	text, _ := os.ReadFile("/proc/self/io") // elsewhere than on Linux there are no counts
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		count, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "syscr":
			u.reads = count
		case "syscw":
			u.writes = count
		}
	}
	return u
}

var began = time.Now()

func (u usage) since(b usage) usage {
	return usage{u.cpu - b.cpu, u.wall - b.wall, u.reads - b.reads, u.writes - b.writes}
}

func (u usage) plus(b usage) usage {
	return usage{u.cpu + b.cpu, u.wall + b.wall, u.reads + b.reads, u.writes + b.writes}
}

// size counts the files of a folder and their bytes; names restricts it to files with these names.
func size(folder string, names ...string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || len(names) > 0 && e.Name() != names[0] {
			return err
		}
		info, err := e.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	return files, bytes, err
}

func ms(d time.Duration, n float64) string { return fmt.Sprintf("%.3g", 1000*d.Seconds()/n) }
func each(count, n float64) string         { return fmt.Sprintf("%.0f", count/n) }
func mb(bytes int64) string                { return fmt.Sprintf("%.3g", float64(bytes)/1e6) }
