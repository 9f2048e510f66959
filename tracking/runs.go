package tracking

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FindRuns returns the experiment folders at and below a folder, in the order of their names: those with [ScalarsFile]
// or an event file. The folder may be a link, and so may experiment folders directly in it.
// Other links are not followed. Folders whose names begin with a dot are ignored.
func FindRuns(root string) ([]string, error) {
	runs, err := findRuns(root, root)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	return runs, nil
}

func findRuns(root, dir string) (runs []string, err error) {
	entries, err := os.ReadDir(dir) // follows a link
	if err != nil {
		return nil, err
	}
	if len(choose(dir, entries)) > 0 {
		runs = append(runs, dir)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			below, err := findRuns(root, path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed since
				return nil, err
			}
			runs = append(runs, below...)
		case dir == root && e.Type() == fs.ModeSymlink:
			if files, err := runFiles(path); err == nil && len(files) > 0 && !same(root, path) {
				runs = append(runs, path)
			}
		}
	}
	return runs, nil
}

// same reports whether two paths lead to one folder.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(x, y)
}

// ReadRun reads the scalars of an experiment folder. It reads [ScalarsFile], which has double precision, or else the
// event files one after another. A later event file replaces the earlier ones from its first step on, because the run
// was resumed there. A folder without such files is fs.ErrNotExist. The scalars before a damaged place are returned
// together with the error.
func ReadRun(dir string) ([]Scalar, error) {
	files, err := runFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("tracking: %s has no %s or event file: %w", dir, ScalarsFile, fs.ErrNotExist)
	}
	var scalars []Scalar
	var failures []error
	for _, path := range files {
		next, err := ReadFile(path)
		if err != nil {
			failures = append(failures, err)
		}
		from := int64(math.MaxInt64)
		for _, s := range next {
			from = min(from, s.Step)
		}
		scalars = append(slices.DeleteFunc(scalars, func(s Scalar) bool { return s.Step >= from }), next...)
	}
	return scalars, errors.Join(failures...)
}

// runFiles returns the files from which ReadRun reads a folder.
func runFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return choose(dir, entries), nil
}

// choose returns the files from which ReadRun reads a folder: [ScalarsFile], or else all event files.
func choose(dir string, entries []fs.DirEntry) (events []string) {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch name := e.Name(); {
		case name == ScalarsFile && regular(path):
			return []string{path}
		case strings.Contains(name, "tfevents") && regular(path):
			events = append(events, path)
		}
	}
	return events
}

// regular reports whether a path is a regular file, or a link to one. Other files are not opened: reading a pipe may
// block.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
