package pbt

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/internal/folderlock"
)

// lockDirectory makes sure that one population at a time uses dir.
func lockDirectory(dir string) (unlock func() error, err error) {
	unlock, err = folderlock.Take(dir, "lock")
	switch {
	case errors.Is(err, folderlock.ErrInUse):
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	return unlock, nil
}
