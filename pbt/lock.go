package pbt

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/filelock"
)

// lockDirectory makes sure that one population at a time uses dir. The lock ends with the process, however that ends.
func lockDirectory(dir string) (unlock func() error, err error) {
	unlock, err = filelock.Exclusive(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	return unlock, nil
}
