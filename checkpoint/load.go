package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// ErrNone is returned where a store holds no valid snapshot.
var ErrNone = errors.New("checkpoint: no valid snapshot")

// ErrUncommitted is wrapped in the DamagedError for a data file without a manifest: its save was interrupted, or it
// is not a snapshot of a store at all.
var ErrUncommitted = errors.New("no manifest")

// DamagedError says that a file is not the valid snapshot it should be: truncated, altered, of another kind, or
// not readable.
type DamagedError struct {
	// Path of the file.
	Path string
	// Reason in words.
	Reason string
	// Err is the underlying error, or nil.
	Err error
}

// Error names the file and the reason.
func (e *DamagedError) Error() string {
	if e.Err != nil && e.Reason == "" {
		return fmt.Sprintf("checkpoint: %s is damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("checkpoint: %s is damaged: %s", e.Path, e.Reason)
}

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// listing is what a store's directory holds.
type listing struct {
	// manifests are those that could be read, the latest first.
	manifests []Manifest
	// damaged are those that could not, and data files without one.
	damaged []*DamagedError
}

// nextSequence returns a number above all in the listing. It is the time in microseconds unless the clock has gone
// back, so that it is also above that of a manifest which could not be read.
func (l listing) nextSequence(now time.Time) int64 {
	next := now.UnixMicro()
	if len(l.manifests) > 0 {
		next = max(next, l.manifests[0].Sequence+1)
	}
	return next
}

// list reads the manifests.
func (s *Store) list() (listing, error) {
	var l listing
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = !e.IsDir()
	}
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(s.dir, name)
		base, isData := strings.CutSuffix(name, dataSuffix)
		switch {
		case e.IsDir():
		case isData && !names[base+manifestSuffix]:
			l.damaged = append(l.damaged, uncommitted(path))
		case strings.HasSuffix(name, manifestSuffix):
			m, err := readManifest(s.fs, path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted by another store since the listing
			}
			if err != nil {
				l.damaged = append(l.damaged, asDamaged(path, err))
				continue
			}
			l.manifests = append(l.manifests, m)
		}
	}
	slices.SortFunc(l.manifests, func(a, b Manifest) int {
		return cmp.Or(cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Step, a.Step), cmp.Compare(b.WrittenAt, a.WrittenAt),
			cmp.Compare(a.File, b.File))
	})
	return l, nil
}

func uncommitted(path string) *DamagedError {
	return &DamagedError{Path: path, Err: ErrUncommitted,
		Reason: "it has no manifest: its save was interrupted, or it is not a snapshot of this store"}
}

func asDamaged(path string, err error) *DamagedError {
	var d *DamagedError
	if errors.As(err, &d) {
		return d
	}
	return &DamagedError{Path: path, Reason: err.Error(), Err: err}
}

// readManifest reads and verifies the manifest at path.
func readManifest(fsys durable.FS, path string) (Manifest, error) {
	text, err := readFile(fsys, path, maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	m, err := decodeManifest(text)
	if err != nil {
		return Manifest{}, &DamagedError{Path: path, Reason: err.Error(), Err: err}
	}
	if want := strings.TrimSuffix(filepath.Base(path), manifestSuffix) + dataSuffix; m.File != want {
		return Manifest{}, &DamagedError{Path: path, Reason: fmt.Sprintf("it is the manifest of %q, not of %q", m.File, want)}
	}
	return m, nil
}

// List returns the manifests of all snapshots, the latest first, and what is damaged among them as far as that shows
// without reading the data.
func (s *Store) List() ([]Manifest, []*DamagedError, error) {
	l, err := s.list()
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	return l.manifests, l.damaged, nil
}

// Latest returns the snapshot saved last of those that are valid. Everything damaged that it passed over on the way is
// in the second result, for the caller to report. Where nothing valid is left the error is ErrNone.
func (s *Store) Latest() (*Saved, []*DamagedError, error) {
	l, err := s.list()
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	damaged := l.damaged
	for _, m := range l.manifests {
		path := filepath.Join(s.dir, m.File)
		snap, err := readData(s.fs, path, m)
		if err == nil {
			return &Saved{Path: path, Manifest: m, Snapshot: snap}, damaged, nil
		}
		damaged = append(damaged, asDamaged(path, err))
	}
	if len(damaged) > 0 {
		return nil, damaged, fmt.Errorf("%w in %s: %d damaged, the first: %w", ErrNone, s.dir, len(damaged), damaged[0])
	}
	return nil, nil, fmt.Errorf("%w in %s", ErrNone, s.dir)
}

// Load reads one snapshot by the path of its data file or of its manifest, wherever they lie. A file that is not there
// is fs.ErrNotExist; one that is not valid a *DamagedError.
func Load(path string) (*Saved, error) { return load(durable.OS, path) }

// Load is the function Load on the store's file system. A path without a directory is looked up in the store's.
func (s *Store) Load(path string) (*Saved, error) {
	if filepath.Base(path) == path {
		path = filepath.Join(s.dir, path)
	}
	return load(s.fs, path)
}

// ReadManifest reads the manifest of a snapshot by the path of either file, without looking at the data. A manifest
// that is not there is fs.ErrNotExist; one that is not valid a *DamagedError.
func ReadManifest(path string) (Manifest, error) {
	if base, isData := strings.CutSuffix(path, dataSuffix); isData {
		path = base + manifestSuffix
	}
	m, err := readManifest(durable.OS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("checkpoint: %w", err)
	}
	if err != nil {
		return m, asDamaged(path, err)
	}
	return m, nil
}

// Verify holds a snapshot's data against its manifest, by the path of either file, and returns the manifest. It is for
// callers that need to know that the snapshot is valid and not what is in it: the data passes through a small buffer.
// Errors are [Load]'s.
func Verify(path string) (Manifest, error) {
	fsys := durable.OS
	data, m, err := find(fsys, path)
	if err != nil {
		return Manifest{}, err
	}
	return m, verifyData(fsys, data, m)
}

func load(fsys durable.FS, path string) (*Saved, error) {
	data, m, err := find(fsys, path)
	if err != nil {
		return nil, err
	}
	snap, err := readData(fsys, data, m)
	if err != nil {
		return nil, asDamaged(data, err)
	}
	return &Saved{Path: data, Manifest: m, Snapshot: snap}, nil
}

// find returns the path of a snapshot's data file, and its manifest.
func find(fsys durable.FS, path string) (data string, m Manifest, err error) {
	info, err := fsys.Stat(path)
	base, isManifest := strings.CutSuffix(path, manifestSuffix)
	if !isManifest {
		var isData bool
		if base, isData = strings.CutSuffix(path, dataSuffix); !isData {
			if err == nil && info.IsDir() {
				return "", m, fmt.Errorf("checkpoint: %s is a folder: want a file in it (%s), or open it with NewStore", path,
					dataSuffix)
			}
			return "", m, fmt.Errorf("checkpoint: %s is not a snapshot: want a %s file or its %s manifest%s", path, dataSuffix,
				manifestSuffix, pickleHint(path))
		}
	}
	if err != nil {
		return "", m, fmt.Errorf("checkpoint: %w", err)
	}
	data, manifest := base+dataSuffix, base+manifestSuffix
	m, err = readManifest(fsys, manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return "", m, uncommitted(data)
	}
	if err != nil {
		return "", m, asDamaged(manifest, err)
	}
	return data, m, nil
}

func pickleHint(path string) string {
	switch filepath.Ext(path) {
	case ".pt", ".pth", ".pkl", ".pickle", ".ckpt":
		return "; PyTorch's own files are pickles: gorl convert (in Go: checkpoint/skrl for those of skrl, checkpoint/convert for any with tensors) reads them without executing them"
	}
	return ""
}
