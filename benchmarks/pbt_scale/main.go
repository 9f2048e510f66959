// Command pbt_scale measures what a decision costs as a population grows: real populations in a real workspace, whose
// members are synthetic and train in no time. First all members are in one process and wait for each other. Then each
// takes part as a process of its own does, in turns. Member 0 shares no cache with the others, so that its turn costs
// what the turn of a real process costs. At last the page of the population is made.
//
//	go run ./benchmarks/pbt_scale                         # the table of docs/pbt-cluster.md
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
	"slices"
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
)

func main() { compare.Main(run) }

const intervalSteps = 10_000

func run(ctx context.Context) {
	var rows [][]string
	for text := range strings.SplitSeq(*members, ",") {
		n := compare.Must(strconv.Atoi(text))
		rows = append(rows, slices.Concat([]string{text}, together(ctx, n), apart(ctx, n)))
	}
	compare.Check(tracking.Table(os.Stdout, []string{"members", "one process: CPU ms a decision",
		"processes: CPU ms a decision", "read calls", "files", "page: CPU ms", "page MB"}, rows))
}

// options are a population of n synthetic members, whose learning rate and entropy bonus are tuned.
func options(n int) pbt.Options {
	opt := pbt.Options{Members: n, IntervalSteps: intervalSteps, TotalSteps: int64(*intervals) * intervalSteps, Seed: 1,
		Strategy: strategy.DefaultSampleFactory(),
		Explore: explore.Mutation{Rate: 0.5, Rules: explore.Rules{"learning_rate": explore.MutateFloat,
			"entropy_loss_scale": explore.MutateFloat}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-2, Log: true},
			"entropy_loss_scale": {Low: 1e-4, High: 1e-1, Log: true}}}
	return compare.Must(simulate.Config{Options: opt, Model: simulate.Model{
		Landscapes: simulate.Landscapes(opt, 0.5, -0.3, 0.5), Noise: 0.02, Luck: 0.2}}.Population())
}

// together measures a population of n members in one process.
func together(ctx context.Context, n int) []string {
	opt := options(n)
	opt.Directory = compare.Must(os.MkdirTemp("", "pbt_scale-*"))
	defer os.RemoveAll(opt.Directory)
	p := compare.Must(pbt.New(opt))
	defer p.Close()
	before := now()
	compare.Must(p.Train(ctx))
	decisions := n * *intervals
	return []string{ms(now().since(before).cpu, float64(decisions))}
}

// apart measures a population of n processes.
func apart(ctx context.Context, n int) []string {
	folder := compare.Must(os.MkdirTemp("", "pbt_scale-*"))
	defer os.RemoveAll(folder)
	opt := options(n)
	opt.Asynchronous = true
	shared := compare.Must(workspace.OpenFolder(folder, n, workspace.FolderOptions{LeaseTTL: 24 * time.Hour}))
	own := compare.Must(workspace.OpenFolder(folder, n, workspace.FolderOptions{LeaseTTL: 24 * time.Hour}))
	all := make([]*pbt.Population, n)
	for i := range all {
		place := pbt.ProcessOptions{Member: i, Store: shared, Slice: 1, Heartbeat: 23 * time.Hour,
			Silence: 24 * time.Hour}
		if i == 0 {
			place.Store = own
		}
		all[i] = compare.Must(pbt.Join(ctx, opt, place))
		defer all[i].Close()
	}
	var first usage
	for interval := range *intervals {
		fmt.Fprintf(os.Stderr, "%d members, interval %d of %d\n", n, interval+1, *intervals)
		for i := range n {
			at := (i + 1) % n // member 0 is the last in each interval: all others have published
			before := now()
			if _, err := all[at].Train(ctx); !errors.Is(err, pbt.ErrYield) {
				compare.Check(err)
			}
			if used := now().since(before); at == 0 {
				first.cpu, first.reads = first.cpu+used.cpu, first.reads+used.reads
			}
		}
	}
	turns := float64(*intervals)
	files := 0
	compare.Check(filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	}))
	before := now()
	page := compare.Must(report.Of(compare.Must(journal.ReadHistory(folder)), report.Options{}))
	text := compare.Must(json.Marshal(page))
	return []string{ms(first.cpu, turns), fmt.Sprintf("%.0f", first.reads/turns), fmt.Sprint(files),
		ms(now().since(before).cpu, 1), fmt.Sprintf("%.3g", float64(len(text))/1e6)}
}

// usage is what this process has used: CPU time, and calls that read.
type usage struct {
	cpu   time.Duration
	reads float64
}

func now() (u usage) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	text, _ := os.ReadFile("/proc/self/io") // elsewhere than on Linux there are no counts
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "syscr: "); ok {
			u.reads, _ = strconv.ParseFloat(strings.TrimSpace(count), 64)
		}
	}
	return u
}

func (u usage) since(b usage) usage { return usage{u.cpu - b.cpu, u.reads - b.reads} }

func ms(d time.Duration, n float64) string { return fmt.Sprintf("%.3g", 1000*d.Seconds()/n) }
