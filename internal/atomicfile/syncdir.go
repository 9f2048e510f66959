package atomicfile

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// SyncDir makes the names in a folder durable, where folders can be synced: Windows cannot, and some file systems need no
// such thing, or know none.
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

// SyncOpened is [SyncDir] of a folder that is open, which it closes.
func SyncOpened(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
