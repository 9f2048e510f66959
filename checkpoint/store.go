package checkpoint

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// Options configure a Store. The zero value is usable.
type Options struct {
	// Keep is the number of snapshots to retain. Save deletes older ones after it has verified the newest. 0, the
	// default, retains all.
	Keep int
	// WrittenBy is the program's name in every manifest. Default "gorl".
	WrittenBy string
}

// Store saves snapshots in a directory. Each snapshot is a data file "<name>.safetensors" and a manifest "<name>.json".
//
// The manifest is the commit: it is renamed into place after the data is durable, and it holds the data's size and
// SHA-256. If a process dies or a machine loses power, every snapshot that Save has reported remains; a later Save
// removes the leftovers of an interrupted one. A file is never overwritten. Several stores, in one process or several,
// may write to one directory.
//
// Several goroutines may use a Store.
type Store struct {
	dir string
	opt Options
	fs  durable.FS
	mu  sync.Mutex
}

// NewStore opens a directory of snapshots and creates it if it does not exist. A negative Keep is an error.
func NewStore(dir string, opt Options) (*Store, error) { return newStore(dir, opt, durable.OS) }

func newStore(dir string, opt Options, fsys durable.FS) (*Store, error) {
	if dir == "" {
		return nil, errors.New("checkpoint: the store's directory is empty; name one")
	}
	if opt.Keep < 0 {
		return nil, fmt.Errorf("checkpoint: Keep is %d; want the number of snapshots to keep, or 0 for all", opt.Keep)
	}
	opt.WrittenBy = cmp.Or(opt.WrittenBy, "gorl")
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if err := fsys.SyncDir(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &Store{dir: dir, opt: opt, fs: fsys}, nil
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Save writes a snapshot and returns the path of its data file: "<name>.safetensors", or "<name>-2.safetensors" and so
// on if the name is taken. A name consists of letters, digits, '.', '_' and '-'. The snapshot is durable if Save
// returns no error. If Save returns a path and an error, the snapshot is in place, but a later step failed: making the
// directory durable, or deleting old snapshots.
func (s *Store) Save(name string, step int64, snap *Snapshot) (path string, err error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if snap == nil {
		return "", errors.New("checkpoint: the snapshot is nil")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path, err = s.save(name, step, snap)
	switch {
	case err == nil:
		return path, nil
	case path == "":
		return "", fmt.Errorf("checkpoint: saving %q in %s: %w", name, s.dir, err)
	}
	return path, fmt.Errorf("checkpoint: %s is saved, but: %w", path, err)
}

// SaveBest saves a snapshot in the folder "best". It replaces the previous best snapshot after the new one is verified.
// Arguments and results are those of Save.
func (s *Store) SaveBest(name string, step int64, snap *Snapshot) (path string, err error) {
	opt := s.opt
	opt.Keep = 1
	best, err := newStore(filepath.Join(s.dir, bestFolder), opt, s.fs)
	if err != nil {
		return "", err
	}
	s.mu.Lock() // one save at a time
	defer s.mu.Unlock()
	return best.Save(name, step, snap)
}

// bestFolder is the folder of the best snapshot, in the store's directory.
const bestFolder = "best"

func checkName(name string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	if name == "" || len(name) > 128 || name[0] == '.' || strings.ContainsFunc(name, bad) ||
		strings.Contains(name, durable.Temporary) {
		return fmt.Errorf("checkpoint: %.140q cannot name a snapshot; use up to 128 letters, digits, '.', '_' and '-'",
			name)
	}
	return nil
}

// save writes a snapshot in seven steps. The list says what a crash after each step leaves.
//
//  1. It deletes the leftovers of steps 2 to 4 and 7 of processes that have ended. A temporary manifest proves which
//     data belongs to it. A name that the leftovers held is free again.
//  2. It writes and syncs the data under a temporary name in the store's folder. A crash leaves a file that readers
//     ignore.
//  3. It writes and syncs the manifest, with the data's size and SHA-256, under a temporary name. A crash leaves two
//     such files.
//  4. It links the data to its name, so that no file is ever overwritten. If the name is taken it tries "<name>-2". A
//     crash leaves data without a manifest. Readers report that as uncommitted ([ErrUncommitted]).
//  5. It renames the manifest. This commits the snapshot: readers find it from now on.
//  6. It syncs the folder, so that both names survive a power failure. Only then can Save return without an error.
//  7. If there are more than Keep snapshots, it reads the new one back, verifies it, and deletes the oldest ones, each
//     with its manifest first. A crash leaves data without a manifest.
func (s *Store) save(name string, step int64, snap *Snapshot) (path string, err error) {
	fsys := s.fs
	leftovers := s.removeLeftovers()
	manifests, _, err := s.list()
	if err != nil {
		return "", err
	}
	data, size, sum, err := durable.WriteAside(fsys, filepath.Join(s.dir, name+dataSuffix), func(w io.Writer) error {
		return EncodeSafetensors(w, snap)
	})
	if err != nil {
		return "", err
	}
	defer fsys.Remove(data) // at the return the data has its own name, or is not wanted

	// The sequence is the time in microseconds, unless the clock was set back, so that it is also above the number of a
	// manifest that could not be read.
	now := time.Now()
	sequence := now.UnixMicro()
	if len(manifests) > 0 {
		sequence = max(sequence, manifests[0].Sequence+1)
	}
	m := Manifest{
		Format: manifestFormat, Version: manifestVersion, Name: name, Step: step, Sequence: sequence,
		Size: size, SHA256: hex.EncodeToString(sum), WrittenBy: s.opt.WrittenBy,
		WrittenAt: now.UTC().Format(time.RFC3339), Arrays: len(snap.Arrays), Values: summarize(snap.Values),
	}
	if m, err = s.publish(m, data); err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, m.File)
	if err := fsys.SyncDir(s.dir); err != nil {
		return path, err
	}
	return path, errors.Join(s.retain(m), leftovers)
}

// publish gives the synced data file its name, commits it by its manifest, and returns the manifest.
func (s *Store) publish(m Manifest, data string) (Manifest, error) {
	fsys := s.fs
	for n := 1; ; n++ {
		base := m.Name
		if n > 1 {
			base = fmt.Sprintf("%s-%d", m.Name, n)
		}
		m.File = base + dataSuffix
		target, manifest := filepath.Join(s.dir, m.File), filepath.Join(s.dir, base+manifestSuffix)
		taken, err := s.exists(target)
		if err != nil {
			return m, err
		}
		// A power cut may have left the same data under the name, without a manifest. publish commits that file.
		again := taken && verifyData(s.fs, target, m) == nil
		if committed, err := s.exists(manifest); err != nil {
			return m, err
		} else if committed || taken && !again {
			continue
		}
		text, err := m.encode()
		if err != nil {
			return m, err
		}
		// The temporary manifest is written before the data has its name. If this process dies in between, the manifest
		// proves whose the data is: see removeLeftovers.
		temp, _, _, err := durable.WriteAside(fsys, manifest, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return m, err
		}
		if again {
			return m, fsys.Rename(temp, manifest)
		}
		if err := s.linkData(data, target); err != nil {
			fsys.Remove(temp)
			if errors.Is(err, fs.ErrExist) {
				continue // another writer was faster
			}
			return m, err
		}
		if err := fsys.Rename(temp, manifest); err != nil {
			return m, errors.Join(err, fsys.Remove(target), fsys.Remove(temp))
		}
		return m, nil
	}
}

// linkData gives the data its name unless another file has it.
func (s *Store) linkData(data, target string) error {
	err := s.fs.Link(data, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no links, so look first. If two writers do so at the same moment, the manifest's checksum
	// shows whose data it is.
	if taken, err := s.exists(target); err != nil || taken {
		return errors.Join(err, fs.ErrExist)
	}
	return s.fs.Rename(data, target)
}

// exists reports whether the file exists.
func (s *Store) exists(path string) (bool, error) {
	_, err := s.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
