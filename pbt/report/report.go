// Package report makes the page of a population: the lineage with the reasons of copies, the objective and the
// hyperparameters over environment steps with the path of the best weights in front, the hyperparameter schedule of the
// best member, the members, and every event.
// The page can be made while the population trains. gorl serve shows the same page live.
//
// What the page shows is taken from the history once (facts.go) and written as JSON (population.go). The page
// (folder page) draws it.
package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// PageFile is the name of the file that [Write] makes.
const PageFile = "report.html"

// Options are the settings of a page.
type Options struct {
	// Title is the page's. Default: "Population of N".
	Title string
	// MaxEvents is the greatest number of rows in the table of events. Default 2000. If a run has more events, the
	// page leaves out members that were merely kept, then the oldest events. Each event takes about 200 bytes.
	MaxEvents int
}

// Write puts the page report.html into the folder dir, which it creates if needed. The page needs no other file and no
// network. The file holds the old content or the new one, even after an error or a crash. The history is usually that
// of journal.ReadHistory; one without members is an error.
func Write(dir string, history *journal.History, opt Options) error {
	p, err := Of(history, opt)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	err = durable.WriteFile(filepath.Join(dir, PageFile), func(w io.Writer) error {
		return WritePage(w, p.Title, map[string]any{"populations": map[string]*Population{p.Title: p}})
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
