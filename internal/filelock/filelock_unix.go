//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Exclusive takes the lock that the file at path stands for, which is made where it is missing and stays. The lock ends with
// release or with the process, however that ends. An error is [ErrHeld], the file system's, or that of one that has no locks.
// Where the system has no locks that end with the process, nothing is locked.
func Exclusive(path string) (release func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrHeld
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return file.Close, nil
}
