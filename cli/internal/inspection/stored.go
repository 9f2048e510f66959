package inspection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// State is the result of checking a checkpoint against its manifest.
type State string

const (
	// Verified is a checkpoint whose data has the size and the SHA-256 of its manifest.
	Verified State = "verified"
	// Damaged is a checkpoint whose data differs from its manifest, or that cannot be read.
	Damaged State = "damaged"
	// Unverified is a readable file without a manifest to compare it with: another program's, a policy alone, or a
	// checkpoint whose save was interrupted.
	Unverified State = "unverified"
)

// Stored is one checkpoint's file.
type Stored struct {
	// File is its path, in a folder's list relative to the folder, with slashes.
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

// load reads a checkpoint and checks it. The snapshot is nil where it is damaged.
func load(file string) (Stored, *checkpoint.Snapshot, error) {
	saved, err := checkpoint.Load(file)
	if err == nil {
		return committed(saved.Path, saved.Manifest), saved.Snapshot, nil
	}
	return uncommitted(file, err)
}

// check checks a checkpoint as load does, without keeping its contents in memory.
func check(file string) (Stored, error) {
	m, err := checkpoint.Verify(file)
	if err == nil {
		return committed(file, m), nil
	}
	s, _, err := uncommitted(file, err)
	return s, err
}

// glance describes a checkpoint by its manifest alone. It does not read the data, so it does not notice damage there.
func glance(file string) (Stored, error) {
	m, err := checkpoint.ReadManifest(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{File: file, State: Unverified}, nil
	}
	if err != nil {
		s, _, err := uncommitted(file, err)
		return s, err
	}
	return committed(file, m), nil
}

// committed describes a checkpoint by its manifest. file may be the manifest or the data.
func committed(file string, m checkpoint.Manifest) Stored {
	file = strings.TrimSuffix(file, manifestSuffix)
	if !strings.HasSuffix(file, dataSuffix) {
		file += dataSuffix
	}
	return Stored{File: file, State: Verified, Bytes: m.Size, Step: m.Step, WrittenAt: m.WrittenAt, WrittenBy: m.WrittenBy,
		SHA256: m.SHA256, sequence: m.Sequence}
}

// uncommitted says of a file why no checkpoint could be loaded from it, given that error: it is damaged, or it has no
// manifest and is read as it is. Any other error is returned.
func uncommitted(file string, err error) (Stored, *checkpoint.Snapshot, error) {
	s := size(file)
	var damaged *checkpoint.DamagedError
	switch {
	case errors.Is(err, checkpoint.ErrUncommitted):
		return unverified(s)
	case errors.As(err, &damaged):
		s.State, s.Reason = Damaged, damaged.Reason
		if name := filepath.Base(damaged.Path); name != filepath.Base(file) {
			s.Reason = name + ": " + s.Reason
		}
		m, e := checkpoint.ReadManifest(file)
		if e == nil {
			s.Step, s.WrittenAt, s.WrittenBy, s.SHA256, s.sequence = m.Step, m.WrittenAt, m.WrittenBy, m.SHA256, m.Sequence
		}
		if errors.Is(err, fs.ErrNotExist) && errors.Is(e, fs.ErrNotExist) { // its training has removed it just now
			return s, nil, err
		}
		return s, nil, nil
	}
	return s, nil, err
}

// size returns what is known of a file without a manifest.
func size(path string) Stored {
	s := Stored{File: path, State: Unverified}
	if info, err := os.Stat(path); err == nil {
		s.Bytes = info.Size()
	}
	return s
}

// unverified reads a safetensors file that has no manifest.
func unverified(s Stored) (Stored, *checkpoint.Snapshot, error) {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return s, nil, fmt.Errorf("inspection: %w", err)
	}
	snap, err := checkpoint.DecodeSafetensors(data)
	if err != nil {
		s.State, s.Reason = Damaged, strings.TrimPrefix(err.Error(), "checkpoint: ")
		return s, nil, nil
	}
	return s, snap, nil
}

// list checks all checkpoints below a folder and returns them by folder, then in the order in which they were saved,
// then by name. Checkpoints that are removed meanwhile are left out: training keeps only so many and removes the
// oldest.
func list(dir string, check func(file string) (Stored, error)) ([]Stored, error) {
	var files []string
	err := walk(dir, func(file string) {
		if base, manifest := strings.CutSuffix(file, manifestSuffix); manifest {
			if _, err := os.Stat(base + dataSuffix); err == nil {
				return // found by the data
			}
			if _, err := checkpoint.ReadManifest(file); err != nil {
				return // of something else
			}
		}
		files = append(files, file)
	})
	if err != nil {
		return nil, err
	}
	stored := make([]Stored, 0, len(files))
	for _, f := range files {
		s, err := check(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.File, err = filepath.Rel(dir, f); err != nil {
			return nil, err
		}
		s.File = filepath.ToSlash(s.File)
		stored = append(stored, s)
	}
	slices.SortStableFunc(stored, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(path.Dir(a.File), path.Dir(b.File)), cmp.Compare(a.sequence, b.sequence),
			naturally(a.File, b.File))
	})
	return stored, nil
}

// isBest reports whether a checkpoint is in a folder "best".
func isBest(s Stored) bool { return slices.Contains(strings.Split(path.Dir(s.File), "/"), best) }

// choose returns the newest verified checkpoint in a folder "best", or without one the newest verified of all.
func choose(stored []Stored) (chosen Stored, ok bool) {
	for _, s := range stored {
		if s.State != Verified {
			continue
		}
		if !ok || isBest(s) && !isBest(chosen) || isBest(s) == isBest(chosen) && s.sequence > chosen.sequence {
			chosen, ok = s, true
		}
	}
	return chosen, ok
}

// preferred returns the checkpoints in one member's folder of the best, which a population across processes keeps.
// Without a verified checkpoint there, or for a negative member, it returns all of stored.
func preferred(stored []Stored, member int) []Stored {
	if member < 0 {
		return stored
	}
	mine := fmt.Sprintf("%s/%03d", best, member)
	if !slices.ContainsFunc(stored, func(s Stored) bool { return path.Dir(s.File) == mine && s.State == Verified }) {
		return stored
	}
	return slices.DeleteFunc(slices.Clone(stored), func(s Stored) bool { return path.Dir(s.File) != mine })
}
