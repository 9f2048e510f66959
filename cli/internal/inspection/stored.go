package inspection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// State is the result of comparing a checkpoint with its manifest.
type State string

const (
	// Verified means that the data has the size and the SHA-256 of its manifest.
	Verified State = "verified"
	// Damaged means that the data differs from its manifest, or cannot be read.
	Damaged State = "damaged"
	// Unverified means that the file has no manifest: it is another program's, a policy alone, or its save was
	// interrupted.
	Unverified State = "unverified"
)

const (
	checkpoints    = "checkpoints" // the folder of a run's checkpoints
	best           = "best"        // the folder of the best one, in checkpoints or in a population's folder
	dataSuffix     = ".safetensors"
	manifestSuffix = ".json"
)

// Stored is one checkpoint's file.
type Stored struct {
	// File is its path. In a folder's list the path is relative to the folder, with slashes.
	File  string `json:"file"`
	State State  `json:"state"`
	// Reason says what is damaged.
	Reason string `json:"reason,omitempty"`
	// Bytes is the size of the data file.
	Bytes int64 `json:"bytes"`
	// Step, WrittenAt, WrittenBy and SHA256 are the manifest's.
	Step      int64  `json:"step"`
	WrittenAt string `json:"written_at,omitempty"`
	WrittenBy string `json:"written_by,omitempty"`
	SHA256    string `json:"sha256,omitempty"`

	sequence int64
}

// stored describes a checkpoint by its manifest, or by the error of reading it: the file is damaged, or has no
// manifest. Any other error is returned, also that of a checkpoint that its training has just removed.
func stored(file string, m checkpoint.Manifest, err error) (Stored, error) {
	s := Stored{File: file, State: Verified}
	var damaged *checkpoint.DamagedError
	switch {
	case err == nil:
		s.File = strings.TrimSuffix(strings.TrimSuffix(file, manifestSuffix), dataSuffix) + dataSuffix
	case errors.Is(err, checkpoint.ErrUncommitted):
		s.State = Unverified
	case errors.As(err, &damaged):
		s.State, s.Reason = Damaged, damaged.Reason
		if name := filepath.Base(damaged.Path); name != filepath.Base(file) {
			s.Reason = name + ": " + s.Reason
		}
		var missing error
		m, missing = checkpoint.ReadManifest(file)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist) {
			return s, err
		}
	default:
		return s, err
	}
	if info, err := os.Stat(s.File); err == nil {
		s.Bytes = info.Size()
	}
	s.Step, s.WrittenAt, s.WrittenBy, s.SHA256, s.sequence = m.Step, m.WrittenAt, m.WrittenBy, m.SHA256, m.Sequence
	return s, nil
}

// check compares a checkpoint with its manifest. A file without one must be readable.
func check(file string) (Stored, error) {
	m, err := checkpoint.Verify(file)
	if errors.Is(err, checkpoint.ErrUncommitted) {
		data, unread := os.ReadFile(file)
		if unread != nil {
			return Stored{}, fmt.Errorf("inspection: %w", unread)
		}
		if _, e := checkpoint.DecodeSafetensors(data); e != nil {
			err = &checkpoint.DamagedError{Path: file, Reason: strings.TrimPrefix(e.Error(), "checkpoint: ")}
		}
	}
	return stored(file, m, err)
}

// glance describes a checkpoint by its manifest alone. It does not read the data, so it does not notice damage there.
func glance(file string) (Stored, error) {
	m, err := checkpoint.ReadManifest(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = checkpoint.ErrUncommitted
	}
	return stored(file, m, err)
}

// list describes all checkpoints below a folder by a function, and returns them by folder, then in the order in which
// they were saved, then by name. Training removes old checkpoints meanwhile; list leaves them out.
func list(dir string, describe func(file string) (Stored, error)) (all []Stored, err error) {
	err = walk(dir, nil, func(file string) error {
		if base, manifest := strings.CutSuffix(file, manifestSuffix); manifest {
			if _, err := os.Stat(base + dataSuffix); err == nil {
				return nil // found by the data
			}
			if _, err := checkpoint.ReadManifest(file); err != nil {
				return nil // another JSON file
			}
		}
		s, err := describe(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			s.File, err = filepath.Rel(dir, file)
			s.File = filepath.ToSlash(s.File)
			all = append(all, s)
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(path.Dir(a.File), path.Dir(b.File)), cmp.Compare(a.sequence, b.sequence),
			Naturally(a.File, b.File))
	})
	return all, err
}

// walk visits the files below a folder that have a checkpoint's extension. The folder, and the folders in which runs
// keep checkpoints, may be links. walk skips other links to folders, files that are not regular, files that are removed
// meanwhile, and names that begin with a dot. above are the folders above dir: a link to one of them is skipped.
func walk(dir string, above []fs.FileInfo, visit func(path string) error) error {
	self, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("inspection: %w", err)
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, self) }) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("inspection: %w", err)
	}
	above = append(slices.Clone(above), self)
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // follows a link
		switch {
		case err != nil || strings.HasPrefix(name, "."): // removed, or a link to nowhere
			continue
		case info.IsDir() && (e.IsDir() || name == checkpoints || name == best):
			err = walk(path, above, visit)
		case info.Mode().IsRegular() && (strings.HasSuffix(name, dataSuffix) ||
			strings.HasSuffix(name, manifestSuffix)):
			err = visit(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parts cuts a name into numbers and single other characters.
var parts = regexp.MustCompile(`(?s)[0-9]+|.`)

// Naturally compares names by their numbers: net.2 comes before net.10.
func Naturally(a, b string) int {
	return slices.CompareFunc(parts.FindAllString(a, -1), parts.FindAllString(b, -1), func(x, y string) int {
		if min(x[0], y[0]) < '0' || max(x[0], y[0]) > '9' {
			return strings.Compare(x, y)
		}
		m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(len(x), len(y)))
	})
}
