package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// retain deletes all but the newest snapshots, after it has read the saved one back. It deletes nothing if that one is
// not what was written.
func (s *Store) retain(saved Manifest) error {
	if s.opt.Keep == 0 {
		return nil
	}
	manifests, _, err := s.list()
	if err != nil || len(manifests) <= s.opt.Keep {
		return err
	}
	if err := verifyData(s.fs, filepath.Join(s.dir, saved.File), saved); err != nil {
		if errors.Is(err, fs.ErrNotExist) && s.isSuperseded(saved) {
			return nil
		}
		return err
	}
	var errs []error
	for _, old := range manifests[s.opt.Keep:] {
		if old.File != saved.File {
			errs = append(errs, s.delete(old))
		}
	}
	return errors.Join(errs...)
}

// Tidy cleans up after interrupted saves, in this folder and in the best snapshot's. It deletes temporary files of
// processes that have ended, and snapshots beyond Options.Keep. It deletes no snapshot unless the newest one is valid.
// Call Tidy when a run continues; Save does the same for its own folder.
func (s *Store) Tidy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := &Store{dir: filepath.Join(s.dir, bestFolder), opt: Options{Keep: 1}, fs: s.fs}
	if err := errors.Join(s.tidy(), best.tidy()); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

func (s *Store) tidy() error {
	if err := s.removeLeftovers(); err != nil {
		return ignoreMissing(err)
	}
	manifests, _, err := s.list()
	if err != nil || len(manifests) == 0 {
		return err
	}
	err = s.retain(manifests[0])
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
		return nil
	}
	return err
}

// isSuperseded reports whether so many snapshots are newer than m that another store may have deleted m.
func (s *Store) isSuperseded(m Manifest) bool {
	manifests, _, err := s.list()
	return err == nil && len(manifests) >= s.opt.Keep && manifests[s.opt.Keep-1].Sequence >= m.Sequence
}

// delete removes a snapshot: first its commit, then its data. Until then the renamed manifest proves whose the data is.
func (s *Store) delete(m Manifest) error {
	fsys := s.fs
	manifest := filepath.Join(s.dir, strings.TrimSuffix(m.File, dataSuffix)+manifestSuffix)
	temp := durable.TemporaryName(manifest)
	if err := fsys.Rename(manifest, temp); err != nil {
		return ignoreMissing(err) // another store has deleted it
	}
	if err := fsys.Remove(filepath.Join(s.dir, m.File)); ignoreMissing(err) != nil {
		return err
	}
	return ignoreMissing(fsys.Remove(temp))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeLeftovers removes the files of writers that have ended: temporary files, and data files that have their name
// but no manifest. The checksum in a temporary manifest proves that such a data file is a leftover.
func (s *Store) removeLeftovers() error {
	fsys := s.fs
	entries, err := fsys.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var errs []error
	now := time.Now()
	for _, e := range entries {
		name, _, isTemporary := strings.Cut(e.Name(), durable.Temporary)
		ours := strings.HasSuffix(name, dataSuffix) || strings.HasSuffix(name, manifestSuffix)
		if !isTemporary || !ours || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil || !durable.Abandoned(info, now) {
			continue // deleted since the listing, or its writer is alive
		}
		path := filepath.Join(s.dir, e.Name())
		if strings.HasSuffix(name, manifestSuffix) {
			if err := s.removeUncommitted(path, name); err != nil {
				errs = append(errs, err)
				continue // the manifest is the proof: keep it until the data is gone
			}
		}
		errs = append(errs, ignoreMissing(fsys.Remove(path)))
	}
	return errors.Join(errs...)
}

// removeUncommitted removes the data file of an abandoned temporary manifest, unless the file is another one or a
// writer has committed it.
func (s *Store) removeUncommitted(temp, manifest string) error {
	text, err := readFile(s.fs, temp, maxManifest)
	if err != nil {
		return ignoreMissing(err)
	}
	m, err := decodeManifest(text)
	if err != nil || m.File != strings.TrimSuffix(manifest, manifestSuffix)+dataSuffix {
		return nil // the writer died before the data had its name
	}
	if committed, err := s.exists(filepath.Join(s.dir, manifest)); err != nil || committed {
		return err
	}
	data := filepath.Join(s.dir, m.File)
	if err := verifyData(s.fs, data, m); err != nil {
		return nil // the file is missing, or another one
	}
	return ignoreMissing(s.fs.Remove(data))
}
