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
