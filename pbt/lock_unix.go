//go:build unix

package pbt

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDirectory makes sure that one population at a time uses dir. The lock ends with the process, however that ends.
func lockDirectory(dir string) (unlock func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir, err)
	}
	return file.Close, nil
}
