// Package inspection describes what files and folders of training hold: checkpoints of gorl and of skrl, files of
// PyTorch, NumPy and safetensors, runs, populations, clips of reference motion, and models of MuJoCo. It executes
// nothing that it reads, and writes no files.
//
// Read [Of] first. stored.go finds and checks the checkpoints of a folder, find.go chooses one of them, checkpoint.go
// describes one closely, text.go prints a report.
package inspection

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
)

// Options choose what is described.
type Options struct {
	// Tensor chooses tensors by name. nil takes all. Totals are of all tensors in any case.
	Tensor func(name string) bool
	// Body are the settings with which a model is read.
	Body mujoco.BodyConfig
}

// Report is what a path holds.
type Report struct {
	Path string `json:"path"`
	// Kind is for people, for example "run" or "population".
	Kind string `json:"kind"`
	// Starts are the starts of a run, with the settings that they changed.
	Starts []runfile.Start `json:"starts,omitempty"`
	// Checkpoints are all checkpoints of a folder.
	Checkpoints []Stored `json:"checkpoints,omitempty"`
	// Checkpoint is the file, or the best checkpoint of the folder, or without a best one the latest.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Population is what the journal records, as the page of gorl serve has it.
	Population *report.Population `json:"population,omitempty"`
	// Clip describes a clip of reference motion and its faults.
	Clip *motions.Report `json:"clip,omitempty"`
	// Model describes an MJCF file.
	Model *mujoco.ModelReport `json:"model,omitempty"`
}

// Damaged returns the number of checkpoints that differ from their manifests or cannot be read.
func (r *Report) Damaged() (n int) {
	for _, s := range r.Checkpoints {
		if s.State == Damaged {
			n++
		}
	}
	return n
}

// Of describes a path: a checkpoint's data file or manifest, also without its extension; a .pt, .npz or .safetensors
// file of any program; a clip of reference motion; an MJCF file; a journal; the folder of a run, of its checkpoints or
// of a population.
func Of(path string, o Options) (*Report, error) {
	path, info, err := existing(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folder(path, o)
	}
	if filepath.Ext(path) == filepath.Ext(journal.File) {
		p, err := population(path)
		return &Report{Path: path, Kind: "journal of a population", Population: p}, err
	}
	if filepath.Ext(path) == ".xml" {
		m, err := mujoco.InspectModel(path, o.Body)
		return &Report{Path: path, Kind: "model of MuJoCo", Model: m}, err
	}
	if r, err := clip(path); r != nil || err != nil {
		return r, err
	}
	c, err := file(path, o)
	if err != nil {
		return nil, err
	}
	return &Report{Path: path, Kind: c.Kind, Checkpoint: c}, nil
}

// folder describes a run, a population, or a folder of checkpoints.
func folder(dir string, o Options) (r *Report, err error) {
	r = &Report{Path: dir, Kind: "folder of checkpoints"}
	if _, err := os.Stat(filepath.Join(dir, "000", journal.File)); err == nil {
		r.Kind = "population"
		if r.Population, err = population(dir); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(filepath.Join(dir, checkpoints)); err == nil {
		r.Kind = "run"
	}
	if r.Starts, err = runfile.Starts(dir); err != nil {
		return nil, fmt.Errorf("inspection: %w", err)
	}
	if r.Checkpoints, err = list(dir, check); err != nil {
		return nil, err
	}
	if len(r.Checkpoints) == 0 && r.Population == nil {
		return nil, fmt.Errorf("inspection: %s has no checkpoints: want a run, a folder of checkpoints, a "+
			"population, or a file", dir)
	}
	if chosen, ok := choose(preferred(r.Checkpoints, bestMember(dir))); ok {
		r.Checkpoint, err = file(filepath.Join(dir, filepath.FromSlash(chosen.File)), o)
	}
	return r, err
}

// clip describes a clip of reference motion. It returns nil if the path is not a clip: files of JSON and NumPy may be
// clips or checkpoints.
func clip(path string) (*Report, error) {
	ext := filepath.Ext(path)
	ambiguous := ext == manifestSuffix || ext == ".npz"
	if !ambiguous && !slices.Contains([]string{".bvh", ".csv", ".pkl", ".txt"}, ext) {
		return nil, nil
	}
	c, err := motions.Load(path)
	switch {
	case err == nil:
		return &Report{Path: path, Kind: "clip of reference motion", Clip: motions.Check(c)}, nil
	case ambiguous:
		return nil, nil
	}
	return nil, err
}
