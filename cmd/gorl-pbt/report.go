package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/tracking"
)

func init() {
	register(command{
		name:      "report",
		arguments: "DIR",
		summary:   "make a page and pictures of a population's journal",
		about: `
Writes what a population's journal tells: report.html, a page that needs nothing
beside itself, and lineage.png, objective.png and hyperparameters.png.

DIR is the folder of a population of one process (with journal.jsonl), the
workspace of one of many (with 000, 001, ...), or a journal. The population may
still be training.`,
		examples: `
gorl-pbt report runs/population
gorl-pbt report -out /tmp/walkers -title "Four walkers" -open runs/train/pbt_workspace`,
		define: func(flags *flag.FlagSet) func(invocation) error {
			out := flags.String("out", "", "`folder` of the report (default: the folder report in DIR)")
			title := flags.String("title", "", "`text` at the top of the page")
			events := flags.Int("events", 0, "greatest `number` of events in the page's table (default 2000)")
			show := flags.Bool("open", false, "open the page in a browser")
			return func(i invocation) error {
				history, dir, err := i.history()
				if err != nil {
					return err
				}
				if *out == "" {
					*out = filepath.Join(dir, "report")
				}
				if err := report.Write(*out, history, report.Options{Title: *title, MaxEvents: *events}); err != nil {
					return err
				}
				page := filepath.Join(*out, report.PageFile)
				rows := [][]string{
					{page, "everything, on one page"},
					{filepath.Join(*out, report.LineageFile), "who descends from whom"},
					{filepath.Join(*out, report.ObjectiveFile), "the objective of all members"},
					{filepath.Join(*out, report.HyperparametersFile), "the hyperparameters of all members"},
				}
				if slices.ContainsFunc(history.Events, func(e pbt.Event) bool { return e.Architecture != "" || e.Mutation != "" }) {
					rows = append(rows, []string{filepath.Join(*out, report.ArchitecturesFile), "the networks of all members"})
				}
				if err := tracking.Table(i.stdout, []string{"written", "what it is"}, rows); err != nil {
					return err
				}
				if *show {
					return browse(page)
				}
				return nil
			}
		},
	})
}

// history reads the journal of the population that the only argument names; dir is the folder it is in.
func (i invocation) history() (history *pbt.History, dir string, err error) {
	if len(i.args) != 1 {
		return nil, "", usageError(fmt.Sprintf("%d arguments: want the population's folder", len(i.args)))
	}
	dir = i.args[0]
	var events []pbt.Event
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, "", err
	case !info.IsDir():
		events, err = pbt.ReadJournal(dir)
		dir = filepath.Dir(dir)
	default:
		if events, err = pbt.ReadJournal(filepath.Join(dir, pbt.JournalFile)); errors.Is(err, fs.ErrNotExist) {
			events, err = pbt.ReadWorkspace(dir)
		}
	}
	if err != nil {
		return nil, "", err
	}
	if len(events) == 0 {
		return nil, "", fmt.Errorf("the journal in %s is empty: the population has not begun to train", dir)
	}
	history, err = pbt.NewHistory(events)
	return history, dir, err
}

// browse opens a page as the user's desktop does.
func browse(page string) error {
	path, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	if err := exec.Command(opener[0], append(opener[1:], path)...).Run(); err != nil {
		return fmt.Errorf("no browser could be opened (%w); the page is %s", err, page)
	}
	return nil
}
