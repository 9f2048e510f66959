package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/durable"
)

// ErrNone is the error of a store without a valid snapshot.
var ErrNone = errors.New("checkpoint: no valid snapshot")

// ErrUncommitted is wrapped by the DamagedError of a data file without a manifest: its save was interrupted, or the
// file is not a store's snapshot.
var ErrUncommitted = errors.New("no manifest")

// DamagedError is the error of a file that is not a valid snapshot: truncated, altered, of another kind, or unreadable.
type DamagedError struct {
	// Path is the path of the file.
	Path string
	// Reason says what is wrong.
	Reason string
	// Err is the underlying error, or nil.
	Err error
}

// Error names the file and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint: %s is damaged: %s", e.Path, e.Reason)
}

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// asDamaged returns err as a DamagedError. It is err itself if that is one.
func asDamaged(path string, err error) *DamagedError {
	if d, ok := errors.AsType[*DamagedError](err); ok {
		return d
	}
	return &DamagedError{Path: path, Reason: err.Error(), Err: err}
}

func uncommitted(path string) *DamagedError {
	return &DamagedError{Path: path, Err: ErrUncommitted,
		Reason: "it has no manifest: its save was interrupted, or it is not a snapshot of this store"}
}

// Saved is a snapshot that was read from a store.
type Saved struct {
	// Path is the path of the data file.
	Path string
	// Manifest is the snapshot's manifest.
	Manifest Manifest
	// Snapshot belongs to the caller. Its arrays lie in one block of memory.
	Snapshot *Snapshot
}

// list returns the readable manifests, the latest first, and the damage that shows without reading data: unreadable
// manifests, and data files without a manifest.
func (s *Store) list() (manifests []Manifest, damaged []*DamagedError, err error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, nil, ignoreMissing(err)
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
			damaged = append(damaged, uncommitted(path))
		case strings.HasSuffix(name, manifestSuffix):
			m, err := readManifest(s.fs, path)
			switch {
			case err == nil:
				manifests = append(manifests, m)
			case !errors.Is(err, fs.ErrNotExist): // otherwise another store has deleted it since the listing
				damaged = append(damaged, asDamaged(path, err))
			}
		}
	}
	slices.SortFunc(manifests, func(a, b Manifest) int {
		return cmp.Or(cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Step, a.Step),
			cmp.Compare(b.WrittenAt, a.WrittenAt), cmp.Compare(a.File, b.File))
	})
	return manifests, damaged, nil
}

// readManifest reads and verifies the manifest at path.
func readManifest(fsys durable.FS, path string) (Manifest, error) {
	text, err := readFile(fsys, path, maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	m, err := decodeManifest(text)
	if err != nil {
		return Manifest{}, asDamaged(path, err)
	}
	if want := strings.TrimSuffix(filepath.Base(path), manifestSuffix) + dataSuffix; m.File != want {
		return Manifest{}, asDamaged(path, fmt.Errorf("it is the manifest of %q, not of %q", m.File, want))
	}
	return m, nil
}

// List returns the manifests of all snapshots, the latest first, and the damaged files. It does not read the data, so
// it finds only damage that shows without it.
func (s *Store) List() ([]Manifest, []*DamagedError, error) {
	manifests, damaged, err := s.list()
	if err != nil {
		err = fmt.Errorf("checkpoint: %w", err)
	}
	return manifests, damaged, err
}

// Latest returns the valid snapshot that was saved last. The second result lists the damaged ones that Latest passed
// over, for the caller to report. If no snapshot is valid the error is ErrNone.
func (s *Store) Latest() (*Saved, []*DamagedError, error) {
	manifests, damaged, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range manifests {
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

// Best returns the best snapshot, as [Store.SaveBest] saved it. Results are those of Latest.
func (s *Store) Best() (*Saved, []*DamagedError, error) {
	best := &Store{dir: filepath.Join(s.dir, bestFolder), fs: s.fs}
	return best.Latest()
}

// Load reads one snapshot by the path of its data file or of its manifest. A missing file is fs.ErrNotExist. A file
// that is not valid is a *DamagedError.
func Load(path string) (*Saved, error) { return load(durable.OS, path) }

// Load is the function Load on the store's file system. A path without a directory is one in the store's directory.
func (s *Store) Load(path string) (*Saved, error) {
	if filepath.Base(path) == path {
		path = filepath.Join(s.dir, path)
	}
	return load(s.fs, path)
}

func load(fsys durable.FS, path string) (*Saved, error) {
	data, m, err := locate(fsys, path)
	if err != nil {
		return nil, err
	}
	snap, err := readData(fsys, data, m)
	if err != nil {
		return nil, err
	}
	return &Saved{Path: data, Manifest: m, Snapshot: snap}, nil
}

// ReadManifest reads the manifest of a snapshot by the path of either file. It does not look at the data. Errors are
// those of [Load].
func ReadManifest(path string) (Manifest, error) {
	if base, isData := strings.CutSuffix(path, dataSuffix); isData {
		path = base + manifestSuffix
	}
	m, err := readManifest(durable.OS, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("checkpoint: %w", err)
	} else if err != nil {
		err = asDamaged(path, err)
	}
	return m, err
}

// Verify compares a snapshot's data with its manifest, by the path of either file, and returns the manifest. It needs
// little memory: the data passes through a small buffer. Errors are those of [Load].
func Verify(path string) (Manifest, error) {
	data, m, err := locate(durable.OS, path)
	if err != nil {
		return Manifest{}, err
	}
	return m, verifyData(durable.OS, data, m)
}

// locate returns the path of a snapshot's data file, and its manifest.
func locate(fsys durable.FS, path string) (data string, m Manifest, err error) {
	info, err := fsys.Stat(path)
	base, known := strings.CutSuffix(path, manifestSuffix)
	if !known {
		base, known = strings.CutSuffix(path, dataSuffix)
	}
	switch {
	case !known && err == nil && info.IsDir():
		return "", m, fmt.Errorf("checkpoint: %s is a folder: want a file in it (%s), or open it with NewStore", path,
			dataSuffix)
	case !known:
		return "", m, fmt.Errorf("checkpoint: %s is not a snapshot: want a %s file or its %s manifest%s", path,
			dataSuffix, manifestSuffix, hintPickle(path))
	case err != nil:
		return "", m, fmt.Errorf("checkpoint: %w", err)
	}
	data, manifest := base+dataSuffix, base+manifestSuffix
	m, err = readManifest(fsys, manifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", m, uncommitted(data)
	case err != nil:
		return "", m, asDamaged(manifest, err)
	}
	return data, m, nil
}

func hintPickle(path string) string {
	switch filepath.Ext(path) {
	case ".pt", ".pth", ".pkl", ".pickle", ".ckpt":
		return "; PyTorch's own files are pickles. `gorl convert --from skrl --like CONFIG.yaml " +
			filepath.Base(path) +
			" agent_0.safetensors` makes a checkpoint of one of skrl's (in Go: checkpoint/skrl), and gorl convert " +
			"(checkpoint/convert) reads the tensors of any other, without executing them"
	}
	return ""
}
