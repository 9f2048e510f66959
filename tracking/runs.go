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

// FindRuns lists the experiment folders at and below a folder: those with [ScalarsFile], another *.jsonl, an event file or a
// *.csv, in the order of their names. Folders whose names begin with a dot are passed over.
func FindRuns(root string) ([]string, error) {
	var runs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if files, err := runFiles(path); err != nil {
			return err
		} else if len(files) > 0 {
			runs = append(runs, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	return runs, nil
}

// ReadRun reads the scalars of an experiment folder: of its JSON lines, which have double precision; without any, of its
// event files one after another; without those, of its *.csv. Where a later event file continues from a step, what the
// earlier ones have from there on is left out, since the run was resumed before it. A folder without such files is
// fs.ErrNotExist. Scalars before a damaged place are returned together with the error.
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

// runFiles are those of the best kind that a folder has; of JSON lines that named [ScalarsFile] alone, if there is one. A
// population's journal is none, nor is a table that does not begin as [CSV] does.
func runFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var lines, events, tables []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch name := e.Name(); {
		case e.IsDir():
		case name == ScalarsFile:
			return []string{path}, nil
		case strings.Contains(name, "tfevents"):
			events = append(events, path)
		case strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, "journal"):
			lines = append(lines, path)
		case strings.HasSuffix(name, ".csv") && beginsAsCSV(path):
			tables = append(tables, path)
		}
	}
	for _, files := range [][]string{lines, events} {
		if len(files) > 0 {
			return files, nil
		}
	}
	return tables, nil
}

// beginsAsCSV says whether the first line is [CSV]'s.
func beginsAsCSV(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64)
	n, _ := file.Read(head) // of a regular file; an empty one has no header
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return checkCSVHeader(strings.TrimSuffix(line, "\r")) == nil
}
