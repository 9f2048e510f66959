// Package report draws a population's journal: one HTML page that needs no other file, and the same pictures as PNG
// files.
//
// The page shows who descends from whom, the objective and the hyperparameters over environment steps with the path
// of the best member's weights in front, the architectures of networks that evolve, who copied whom, the best
// schedule, and every event. It can be made while the population trains. [WritePNG] draws the objective and the
// hyperparameters in one picture.
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
	PageFile            = "report.html"
	LineageFile         = "lineage.png"
	ObjectiveFile       = "objective.png"
	HyperparametersFile = "hyperparameters.png"
	ArchitecturesFile   = "architectures.png" // where networks evolve
)

// Options are the settings of a page.
type Options struct {
	// Title is the page's. Default: "Population of N".
	Title string
	// MaxEvents is the greatest number of rows in the table of events. With more a page of a long run has all of its
	// events and is larger, about 200 bytes for each; with fewer, members that were merely kept are left out first,
	// then the oldest events. Set it where a run has more events than 2000 and the early ones are wanted. Default
	// 2000.
	MaxEvents int
}

// Write puts a report into the folder dir, which it makes where it is missing: report.html, lineage.png, objective.png,
// hyperparameters.png and, where networks evolve, architectures.png. Each file holds the old content or the new one,
// also after an error or a crash. The history is usually that of journal.ReadHistory; one without members is an error.
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
