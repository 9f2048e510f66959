package checkpoint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
)

// WriteFile replaces the file at path, or creates it, by what write writes: aside, synced, renamed, and the directory synced.
// Whatever happens meanwhile, the name has either the old contents or all of the new.
func WriteFile(path string, write func(w io.Writer) error) error {
	fsys := OS()
	temp, _, _, err := writeAside(fsys, path, write)
	if err == nil {
		if err = fsys.Rename(temp, path); err != nil {
			fsys.Remove(temp)
		}
	}
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	return nil
}

// writeAside writes and syncs a temporary file beside path, and returns its name, size and SHA-256. On error it leaves nothing
// behind if it can help it.
func writeAside(fsys FS, path string, write func(w io.Writer) error) (temp string, size int64, sum []byte, err error) {
	temp = temporaryName(path)
	f, err := fsys.Create(temp)
	if err != nil {
		return "", 0, nil, err
	}
	w := &summing{w: f, sum: sha256.New()}
	err = write(w)
	if err == nil {
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

// readFile reads a whole file of at most limit bytes. The memory grows with what is there.
func readFile(fsys FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	err = errors.Join(err, f.Close())
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return data, err
}

// readExactly reads a file that must have size bytes, which Stat is asked about before memory is.
func readExactly(fsys FS, path string, size int64) ([]byte, error) {
	f, err := openExactly(fsys, path, size)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, errors.Join(err, f.Close())
}

// openExactly opens a regular file that has this size.
func openExactly(fsys FS, path string, size int64) (File, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() != size || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: sizeError{info.Size(), size}}
	}
	return fsys.Open(path)
}

// sizeError says that a file has not the size it was written with.
type sizeError struct{ have, want int64 }

func (e sizeError) Error() string { return fmt.Sprintf("%d bytes of %d", e.have, e.want) }
