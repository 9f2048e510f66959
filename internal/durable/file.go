package durable

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// WriteFile replaces the file at path, or creates it, by what write writes. It writes a temporary file in the same
// folder, syncs it, renames it to path and syncs the folder. After an error, or a crash at any moment, path has its old
// contents or all of the new ones; a crash may leave the temporary file behind. The error names the path.
func WriteFile(path string, write func(w io.Writer) error) error {
	temp, _, _, err := WriteAside(OS, path, func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err == nil {
		if err = OS.Rename(temp, path); err != nil {
			OS.Remove(temp)
		}
	}
	if err == nil {
		err = OS.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteAside writes and syncs a temporary file in the folder of path, and returns its name, size and SHA-256. After an
// error it removes the file as far as it can.
func WriteAside(fsys FS, path string, write func(w io.Writer) error) (temp string, size int64, sum []byte, err error) {
	temp = TemporaryName(path)
	f, err := fsys.Create(temp)
	if err != nil {
		return "", 0, nil, err
	}
	w := &summing{w: f, sum: sha256.New()}
	if err = write(w); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		fsys.Remove(temp)
		return "", 0, nil, err
	}
	return temp, w.size, w.sum.Sum(nil), nil
}

// summing counts and hashes what passes through it.
type summing struct {
	w    io.Writer
	sum  hash.Hash
	size int64
}

func (s *summing) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	return n, err
}

// MkdirAll makes a folder and its parents if they are missing, and syncs the folders that hold their names.
func MkdirAll(dir string, permissions fs.FileMode) error { return mkdirAll(dir, permissions, SyncDir) }

func mkdirAll(dir string, permissions fs.FileMode, sync func(dir string) error) error {
	dir = filepath.Clean(dir)
	named := []string{filepath.Dir(dir)} // even if dir exists: the process that made it may have ended before the sync
	for at := named[0]; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		named = append(named, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, permissions); err != nil {
		return err
	}
	for _, at := range named {
		// a folder that may be passed and not read
		if err := sync(at); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// SyncDir makes the names in a folder durable. It does nothing on Windows and on file systems that cannot sync folders.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return SyncOpened(d)
}

// SyncOpened is [SyncDir] of a folder that is open. It closes the folder.
func SyncOpened(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
