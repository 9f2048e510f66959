// Package report makes a population's journal visible: one HTML page that needs nothing beside itself, and the same
// pictures as PNG files.
//
// The page has who descends from whom, the objective and the hyperparameters over time with the way of the best
// member's weights in front, the architectures of networks that evolve, who copied whom, the best schedule, and every event. It can be made while the population
// trains.
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

// The names of the files that Write makes.
const (
	PageFile            = "report.html"
	LineageFile         = "lineage.png"
	ObjectiveFile       = "objective.png"
	HyperparametersFile = "hyperparameters.png"
	ArchitecturesFile   = "architectures.png" // where networks evolve
)

// Options say what a report is like.
type Options struct {
	// Title is the page's. Default: "Population of N".
	Title string
	// MaxEvents bounds the table of events: where there are more, members that were merely kept are left out first, then
	// the oldest. Default 2000.
	MaxEvents int
}

// Write puts a report into the folder dir, which it makes where it is missing: report.html, lineage.png, objective.png,
// hyperparameters.png and, where networks evolve, architectures.png. Each file holds the old content or the new one, whatever happens. History is usually
// journal.NewHistory of journal.Read; a journal without members is an error.
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
	pictures := map[string]func() plot.Picture{
		LineageFile: f.lineage, ObjectiveFile: f.objectivePicture, HyperparametersFile: f.hyperparameterPictures,
	}
	if f.evolves {
		pictures[ArchitecturesFile] = f.evolution
	}
	for name, picture := range pictures {
		if err := picture().WritePNG(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := durable.WriteFile(filepath.Join(dir, PageFile), func(w io.Writer) error { _, err := page.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteHTML writes the page alone.
func WriteHTML(w io.Writer, history *journal.History, opt Options) error {
	f, err := gather(history)
	if err != nil {
		return err
	}
	return f.page(w, opt)
}
