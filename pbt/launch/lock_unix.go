//go:build unix

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder makes sure that one launcher at a time works in dir. The lock ends with the process, however that ends.
func lockFolder(dir string) (unlock func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "launcher.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return func() error { return nil }, fmt.Errorf("launch: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return func() error { return nil }, fmt.Errorf("launch: another launcher runs the population in %s; end it or choose another pbt.workspace: %w", dir, err)
	}
	return file.Close, nil
}
