package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// Verify holds a snapshot's data against its manifest, by the path of either file, and returns the manifest. It is for whoever
// needs to know that the snapshot is valid and not what is in it: the data passes through a small buffer. Errors are [Load]'s.
func Verify(path string) (Manifest, error) {
	fsys := OS()
	data, m, err := find(fsys, path)
	if err != nil {
		return Manifest{}, err
	}
	return m, verifyData(fsys, data, m)
}

// verifyData is readVerified that keeps nothing.
func verifyData(fsys FS, path string, m Manifest) error {
	f, err := openExactly(fsys, path, m.Size)
	if err != nil {
		return unread(path, err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err == nil && n != m.Size {
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
