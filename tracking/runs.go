package tracking

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FindRuns lists the experiment folders at and below a folder: those with [ScalarsFile], another *.jsonl, an event
// file or a *.csv, in the order of their names. The folder may be a link, and so may experiment folders that lie
// directly in it; other links are not followed. Folders whose names begin with a dot are passed over.
func FindRuns(root string) ([]string, error) {
	runs, err := findRuns(root, root)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	return runs, nil
}

func findRuns(root, dir string) (runs []string, err error) {
	entries, err := os.ReadDir(dir) // which follows a link
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

// ReadRun reads the scalars of an experiment folder: of its JSON lines, which have double precision; without any, of
// its event files one after another; without those, of its *.csv. Where a later event file continues from a step,
// what the earlier ones have from there on is left out, since the run was resumed before it. A folder without such
// files is fs.ErrNotExist. Scalars before a damaged place are returned together with the error.
func ReadRun(dir string) ([]Scalar, error) {
	files, err := runFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("tracking: %s has no *.jsonl, event file or *.csv: %w", dir, fs.ErrNotExist)
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

// runFiles are the files that a folder's scalars are read from.
func runFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return choose(dir, entries), nil
}

// choose returns the files to read a folder's scalars from: [ScalarsFile] if it is there, else all other JSON lines,
// else all event files, else all CSV tables. A population's journal, whose name begins with "journal", is left out,
// and so is a table that does not begin as [CSV] does.
func choose(dir string, entries []fs.DirEntry) []string {
	var lines, events, tables []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch name := e.Name(); {
		case e.IsDir():
		case name == ScalarsFile && regular(path):
			return []string{path}
		case strings.Contains(name, "tfevents") && regular(path):
			events = append(events, path)
		case strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, "journal") && regular(path):
			lines = append(lines, path)
		case strings.HasSuffix(name, ".csv") && regular(path) && beginsAsCSV(path):
			tables = append(tables, path)
		}
	}
	for _, files := range [][]string{lines, events} {
		if len(files) > 0 {
			return files
		}
	}
	return tables
}

// regular reports whether a path leads to a regular file, maybe by a link. Others are not opened: reading a pipe may
// never end.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// beginsAsCSV reports whether the first line is [CSV]'s.
func beginsAsCSV(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64)
	n, _ := file.Read(head) // of a regular file; an empty one has no header
	line, _, _ := bytes.Cut(head[:n], []byte{'\n'})
	_, err = csvFormat.parse(line, 1)
	return err == nil
}
