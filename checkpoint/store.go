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
	// Keep is the number of newest snapshots kept; older ones are deleted, after the newest has been verified.
	// 0, the default, keeps all.
	Keep int
	// WrittenBy is recorded in every manifest. Default "gorl".
	WrittenBy string
}

// Store keeps snapshots in a directory, each as a data file "<name>.safetensors" and a manifest "<name>.json".
//
// The manifest is the commit: it is renamed into place after the data is durable, and names the data's size and
// SHA-256. A process that dies at any moment, or a machine that loses power, leaves every snapshot that Save has
// reported, and at worst some leftovers that a later Save removes. A file is never written over. Several stores,
// in one process or several, may write to one directory.
//
// A Store may be used by several goroutines.
type Store struct {
	dir string
	opt Options
	fs  durable.FS
	mu  sync.Mutex
}

// Saved is a snapshot read back from a store.
type Saved struct {
	// Path of the data file.
	Path string
	// Manifest is what the store knows of it.
	Manifest Manifest
	// Snapshot is its contents, the caller's. Its arrays lie in one block of memory.
	Snapshot *Snapshot
}

// NewStore opens a directory of snapshots, creating it where it does not exist. A negative Keep is an error.
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
// on where the name is taken. Names are letters, digits, '.', '_' and '-'. When Save returns without an error the
// snapshot is durable. When it returns a path and an error, the snapshot is in place but something after it failed:
// making the directory durable, or removing old snapshots.
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
	if err != nil {
		if path == "" {
			return "", fmt.Errorf("checkpoint: saving %q in %s: %w", name, s.dir, err)
		}
		return path, fmt.Errorf("checkpoint: %s is saved, but: %w", path, err)
	}
	return path, nil
}

// SaveBest saves a snapshot as the best so far, in the folder "best", where it replaces the one before once it is
// verified. Arguments and results are Save's.
func (s *Store) SaveBest(name string, step int64, snap *Snapshot) (path string, err error) {
	opt := s.opt
	opt.Keep = 1
	best, err := newStore(filepath.Join(s.dir, bestFolder), opt, s.fs)
	if err != nil {
		return "", err
	}
	s.mu.Lock() // for one after the other, as Save
	defer s.mu.Unlock()
	return best.Save(name, step, snap)
}

// Best returns the best snapshot, as Latest does the latest.
func (s *Store) Best() (*Saved, []*DamagedError, error) {
	best := &Store{dir: filepath.Join(s.dir, bestFolder), fs: s.fs}
	return best.Latest()
}

// bestFolder is the folder of the best snapshot in a store's.
const bestFolder = "best"

func checkName(name string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	if name == "" || len(name) > 128 || name[0] == '.' || strings.ContainsFunc(name, bad) || strings.Contains(name,
		durable.Temporary) {
		return fmt.Errorf("checkpoint: %.140q cannot name a snapshot; use up to 128 letters, digits, '.', '_' and '-'", name)
	}
	return nil
}

// save does the work of Save. What happens on disk, in this order, and what a crash after each step leaves:
//
//  1. Files that processes which have ended left at steps 2 to 4 and 7 are deleted; the temporary manifest proves
//     whose the data is. A name that they held is free again.
//  2. The data is written and synced under a temporary name in the store's folder. A crash leaves a file that no
//     reader looks at.
//  3. The manifest, with the data's size and SHA-256, is written and synced under a temporary name. A crash leaves
//     two.
//  4. The data gets its name, by a link, so that no file is ever written over; a taken name gives the next one,
//     "<name>-2". A crash leaves data without a manifest, which readers report as uncommitted ([ErrUncommitted]).
//  5. The manifest is renamed to its name. This commits the snapshot: readers now find it.
//  6. The folder is synced, so that both names survive a power failure. Only then does Save return without an error.
//  7. Where there are more than Keep snapshots, the new one is read back and verified, and the oldest are deleted,
//     each with its manifest first. A crash leaves data without a manifest.
func (s *Store) save(name string, step int64, snap *Snapshot) (path string, err error) {
	fsys := s.fs
	swept := s.sweep()
	listing, err := s.list()
	if err != nil {
		return "", err
	}
	data, size, sum, err := durable.WriteAside(fsys, filepath.Join(s.dir, name+dataSuffix), func(w io.Writer) error {
		return EncodeSafetensors(w, snap)
	})
	if err != nil {
		return "", err
	}
	defer fsys.Remove(data) // by then the data has its own name, or is not wanted

	now := time.Now()
	m := Manifest{
		Format: manifestFormat, Version: manifestVersion, Name: name, Step: step, Sequence: listing.nextSequence(now),
		Size: size, SHA256: hex.EncodeToString(sum), WrittenBy: s.opt.WrittenBy,
		WrittenAt: now.UTC().Format(time.RFC3339), Arrays: len(snap.Arrays), Values: summary(snap.Values),
	}
	if m, err = s.publish(m, data); err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, m.File)
	if err := fsys.SyncDir(s.dir); err != nil {
		return path, err
	}
	return path, errors.Join(s.retain(m), swept)
}

// publish gives the synced data file its name and commits it by its manifest, which it returns.
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
		// After a power cut the same data may have the name already, without a manifest: it is committed now.
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
		// Written before the data has its name, the manifest's temporary file says whose the data is, should this
		// process die in between: see sweep.
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
		if err := s.claim(data, target); err != nil {
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

// claim gives the data its name unless another file has it.
func (s *Store) claim(data, target string) error {
	err := s.fs.Link(data, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: look first. Two writers that do so at the same moment are told apart by the
	// checksum in the manifest.
	if taken, err := s.exists(target); err != nil || taken {
		return errors.Join(err, fs.ErrExist)
	}
	return s.fs.Rename(data, target)
}

// exists reports whether any of the files is there.
func (s *Store) exists(paths ...string) (bool, error) {
	for _, path := range paths {
		if _, err := s.fs.Stat(path); err == nil {
			return true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}
