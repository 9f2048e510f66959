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

// WriteFile replaces the file at path, or creates it. It calls write with a temporary file in the same folder, syncs
// the file, renames it to path, and syncs the folder. After an error, or a crash at any moment, path has its old
// contents or all of the new ones.
func WriteFile(path string, write func(w io.Writer) error) error {
	if err := durable.WriteFile(path, write); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// readFile reads a whole file of at most limit bytes.
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

// verifyData compares a data file with its manifest.
func verifyData(fsys durable.FS, path string, m Manifest) error {
	return copyData(io.Discard, fsys, path, m)
}

// readData reads a data file and compares it with its manifest.
func readData(fsys durable.FS, path string, m Manifest) (*Snapshot, error) {
	var data bytes.Buffer
	if err := copyData(&data, fsys, path, m); err != nil {
		return nil, err
	}
	snap, err := decode(data.Bytes())
	if err != nil {
		return nil, asDamaged(path, err)
	}
	return snap, nil
}

// copyData copies a data file to w. It returns a DamagedError unless the file has the size and the checksum of its
// manifest. It compares the size first, before it takes memory.
func copyData(w io.Writer, fsys durable.FS, path string, m Manifest) error {
	damaged := func(reason string, args ...any) error {
		return &DamagedError{Path: path, Reason: fmt.Sprintf(reason, args...)}
	}
	info, err := fsys.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &DamagedError{Path: path, Reason: "the data file is missing", Err: err}
	case err != nil:
		return asDamaged(path, err)
	case info.Size() < m.Size:
		return damaged("it is truncated: %d bytes of %d", info.Size(), m.Size)
	case info.Size() > m.Size || !info.Mode().IsRegular():
		return damaged("it is another file than was saved: %d bytes of %d", info.Size(), m.Size)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return asDamaged(path, err)
	}
	if buffer, ok := w.(*bytes.Buffer); ok {
		buffer.Grow(int(m.Size))
	}
	sum := sha256.New()
	n, err := io.CopyN(io.MultiWriter(w, sum), f, m.Size)
	closed := f.Close()
	switch {
	case errors.Is(err, io.EOF):
		return damaged("it is truncated: %d bytes of %d", n, m.Size)
	case err != nil || closed != nil:
		return asDamaged(path, errors.Join(err, closed))
	case hex.EncodeToString(sum.Sum(nil)) != m.SHA256:
		return damaged("its contents were altered: the checksum is not the manifest's")
	}
	return nil
}
