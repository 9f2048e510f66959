//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock takes the lock that the named file in a folder stands for; the file is made, and stays. It ends with the
// process, however that ends, or by release. Where the system has no such locks Lock does nothing.
func Lock(dir, name string) (release func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		file.Close()
		return nil, fmt.Errorf("%s is %w", file.Name(), ErrInUse)
	}
	return func() error {
		// Not left to Close: a process that is being started at this moment has the file, too, until its program
		// begins.
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		return file.Close()
	}, nil // other errors are a file system's that knows no locks
}
