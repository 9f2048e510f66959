package runfile

import (
	"os"
	"path/filepath"
	"slices"
)

// Folder says what a folder holds.
type Folder struct {
	// Run is true if the folder holds checkpoints or tracked values of a single agent. An evolution's folder holds
	// checkpoints, too.
	Run bool
	// Population is true if the folder holds a population, with a folder for each member.
	Population bool
}

// In inspects a folder. A folder that is missing, or in which a run failed before it stored anything, holds nothing.
func In(dir string) (f Folder) {
	checkpoints := filepath.Join(dir, "checkpoints")
	f.Run = filled(dir, "scalars.jsonl") || filled(checkpoints, "") || filled(filepath.Join(checkpoints, "best"), "")
	f.Population = filled(filepath.Join(dir, "000"), "journal.jsonl")
	return f
}

// Batch is the name of the file that describes several runs of one configuration, in the folder of their folders.
const Batch = "runs.yaml"

// Named returns the name of the run in a folder for trackers, and the group that it belongs to. A run of a batch, such
// as walker/seed-1, is walker-seed-1 of the group walker. Other runs have the name of the folder and no group. dir is
// an absolute path.
func Named(dir string) (name, group string) {
	name = filepath.Base(dir)
	if above := filepath.Dir(dir); filled(above, Batch) {
		group = filepath.Base(above)
		return group + "-" + name, group
	}
	return name, ""
}

// filled reports whether dir has a file of the given name that is not empty. If name is "", any such file counts.
func filled(dir, name string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && info.Mode().IsRegular() && info.Size() > 0 && (name == "" || name == e.Name())
	})
}
