package durable

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
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

// MkdirAll creates a folder and its parents, and makes their names durable. It is no error if the folder exists. A
// parent that this process may not read is not synced.
func MkdirAll(path string, mode os.FileMode) error {
	path = filepath.Clean(path)
	parents := []string{filepath.Dir(path)}
	for dir := parents[0]; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, dir := range parents {
		if err := SyncDir(dir); err != nil && !errors.Is(err, os.ErrPermission) {
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
