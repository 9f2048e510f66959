// Package report draws a population's journal: one HTML page that needs no other file, and PNG files for documents.
//
// The page shows who descends from whom, and the objective and the hyperparameters over environment steps, with the
// path of the best member's weights in front. Below follow the architectures of networks that evolve, the best
// schedule, the members, and every event. The page can be made while the population trains. [WritePNG] draws the
// objective and the hyperparameters in one picture.
//
// Two kinds of pictures share their colours. Curves (curves.go) are panels of tracking/plot. Lanes (lanes.go), in
// which every member has a line of its own, are drawn on gonum/plot's canvas: the lineage (lineage.go) and the
// architectures (architectures.go). What all of them show is taken from the history once (facts.go).
package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// The names of the files that [Write] makes.
const (
	PageFile          = "report.html"
	LineageFile       = "lineage.png"
	ArchitecturesFile = "architectures.png" // only if networks evolve
)

// Options are the settings of a page.
type Options struct {
	// Title is the page's. Default: "Population of N".
	Title string
	// MaxEvents is the greatest number of rows in the table of events. Default 2000. If a run has more events, the
	// page leaves out members that were merely kept, then the oldest events. Each event takes about 200 bytes.
	MaxEvents int
}

// Write puts a report into the folder dir: report.html, lineage.png and, if networks evolve, architectures.png. It
// creates dir if needed. Each file holds the old content or the new one, even after an error or a crash. The history
// is usually that of journal.ReadHistory; one without members is an error.
func Write(dir string, history *journal.History, opt Options) error {
	f, err := gather(history)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := f.page(&page, opt); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	pictures := map[string]func() plot.Picture{LineageFile: f.lineage}
	if f.evolves {
		pictures[ArchitecturesFile] = f.architectures
	}
	for name, picture := range pictures {
		if err := picture().WritePNG(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	// The page is last: once it is there, so are the pictures.
	err = durable.WriteFile(filepath.Join(dir, PageFile), func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WritePNG draws the population in one picture at path: the objective and each hyperparameter over environment steps,
// as on the page of a report. It replaces the file atomically. events are the whole journal; a journal without members
// is an error.
func WritePNG(path string, events []journal.Event) error {
	history, err := journal.NewHistory(events)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	f, err := gather(history)
	if err != nil {
		return err
	}
	panels := []plot.Panel{f.objective()}
	for _, key := range f.keys {
		panels = append(panels, f.hyperparameter(key))
	}
	title := fmt.Sprintf("population of %d, coloured by founding member", f.Run.Members)
	if err := plot.WritePNG(path, title, panels, 0); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
