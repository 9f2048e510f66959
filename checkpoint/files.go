package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gorl-dev/gorl/internal/durable"
)

// WriteFile replaces the file at path, or creates it, by what write writes: it writes a temporary file in the same
// folder, syncs it, renames it to path and syncs the folder. After an error, or a crash at any moment, path has its old
// contents or all of the new ones.
func WriteFile(path string, write func(w io.Writer) error) error {
	if err := durable.WriteFile(path, write); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// readFile reads a whole file of at most limit bytes. The memory grows with what is there.
func readFile(fsys durable.FS, path string, limit int64) ([]byte, error) {
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

// openExactly opens a regular file that has this size.
func openExactly(fsys durable.FS, path string, size int64) (durable.File, error) {
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

// verifyData holds a data file against its manifest.
func verifyData(fsys durable.FS, path string, m Manifest) error {
	return copyData(io.Discard, fsys, path, m)
}

// readData reads a data file and holds it against its manifest.
func readData(fsys durable.FS, path string, m Manifest) (*Snapshot, error) {
	var data bytes.Buffer
	if err := copyData(&data, fsys, path, m); err != nil {
		return nil, err
	}
	snap, err := decode(data.Bytes())
	if err != nil {
		return nil, &DamagedError{Path: path, Reason: err.Error(), Err: err}
	}
	return snap, nil
}

// copyData copies a data file to w, and returns an error where it has not the size and the checksum of its manifest.
// The size is compared first, before there is memory for it.
func copyData(w io.Writer, fsys durable.FS, path string, m Manifest) error {
	f, err := openExactly(fsys, path, m.Size)
	if err != nil {
		return unread(path, err)
	}
	if buffer, ok := w.(*bytes.Buffer); ok {
		buffer.Grow(int(m.Size))
	}
	sum := sha256.New()
	n, err := io.CopyN(io.MultiWriter(w, sum), f, m.Size)
	if errors.Is(err, io.EOF) {
		err = sizeError{n, m.Size}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return unread(path, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return altered(path)
	}
	return nil
}

// unread is the error of a data file that could not be read whole.
func unread(path string, err error) *DamagedError {
	d := &DamagedError{Path: path, Reason: err.Error(), Err: err}
	var size sizeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Reason = "the data file is missing"
	case errors.As(err, &size) && size.have < size.want:
		d.Reason = fmt.Sprintf("it is truncated: %v", size)
	case errors.As(err, &size):
		d.Reason = fmt.Sprintf("it is another file than was saved: %v", size)
	}
	return d
}

func altered(path string) *DamagedError {
	return &DamagedError{Path: path, Reason: "its contents were altered: the checksum is not the manifest's"}
}
