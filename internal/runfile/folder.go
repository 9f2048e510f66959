package runfile

import (
	"os"
	"path/filepath"
	"slices"
)

// Folder is what a folder holds.
type Folder struct {
	// Run is true if it holds checkpoints or tracked values of a single agent. An evolution's folder holds checkpoints,
	// too.
	Run bool
	// Population is true if it holds a population: in one process, or with a folder for each member.
	Population bool
}

// In looks at a folder. One that is missing, or in which a start has failed before anything was stored, holds nothing.
func In(dir string) (f Folder) {
	checkpoints := filepath.Join(dir, "checkpoints")
	f.Run = filled(dir, "scalars.jsonl") || filled(checkpoints, "") || filled(filepath.Join(checkpoints, "best"), "")
	f.Population = filled(dir, "journal.jsonl") || filled(dir, "state.json") ||
		filled(filepath.Join(dir, "000"), "journal.jsonl")
	return f
}

// filled reports whether a folder has a file of this name, or of any name if it is empty, with something in it.
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
