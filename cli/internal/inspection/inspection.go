// Package inspection describes what files and folders of training hold: checkpoints of gorl's and of skrl's, files of
// PyTorch, NumPy and safetensors, runs, populations, and clips of reference motion. It executes nothing that it reads,
// and writes no files.
package inspection

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Options say how much is looked at.
type Options struct {
	// Stats computes the least, mean and greatest value of every tensor.
	Stats bool
	// Tensor chooses tensors by name; nil takes all. Totals are of all tensors in any case.
	Tensor func(name string) bool
}

// Report is what a path holds.
type Report struct {
	Path string `json:"path"`
	// Kind is for people, e.g. "run" or "population".
	Kind string `json:"kind"`
	// Checkpoints are all in a folder.
	Checkpoints []Stored `json:"checkpoints,omitempty"`
	// Checkpoint is the file, or the one of the folder that is looked at closely: the best, else the latest.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Population is what the journal tells.
	Population *Population `json:"population,omitempty"`
	// Clip is what a clip of reference motion is, and what is wrong with it.
	Clip *motions.Report `json:"clip,omitempty"`
}

// Damaged are the checkpoints that are not what they should be.
func (r *Report) Damaged() (list []Stored) {
	for _, s := range r.Checkpoints {
		if s.State == Damaged {
			list = append(list, s)
		}
	}
	return list
}

// Of describes a path: a checkpoint's data file or manifest, also without its extension; a .pt, .npz or .safetensors
// file of any program; a clip of reference motion; a journal; the folder of a run, of its checkpoints, of a population,
// or a population's workspace.
func Of(path string, o Options) (*Report, error) {
	path, info, err := meant(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folder(path, o)
	}
	if filepath.Ext(path) == filepath.Ext(journal.File) {
		return population(path, o)
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

// folder looks at a population or at checkpoints.
func folder(dir string, o Options) (*Report, error) {
	for _, sign := range []string{filepath.Join("000", journal.File)} {
		if _, err := os.Stat(filepath.Join(dir, sign)); err == nil {
			return population(dir, o)
		}
	}
	stored, err := list(dir, check)
	if err != nil {
		return nil, err
	}
	r := &Report{Path: dir, Kind: "folder of checkpoints", Checkpoints: stored}
	if _, err := os.Stat(filepath.Join(dir, checkpoints)); err == nil {
		r.Kind = "run"
	}
	if len(stored) == 0 {
		return nil, fmt.Errorf("inspection: %s has no checkpoints: want a run, a folder of checkpoints, a population, or a "+
			"file", dir)
	}
	if chosen, ok := choose(stored); ok {
		r.Checkpoint, err = file(filepath.Join(dir, filepath.FromSlash(chosen.File)), o)
	}
	return r, err
}

const (
	checkpoints    = "checkpoints" // a run's folder of them
	best           = "best"        // and that of the best in it, or in a population's folder
	dataSuffix     = ".safetensors"
	manifestSuffix = ".json"
)
