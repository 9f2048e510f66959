package pbt

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/internal/durable"
)

// lockDirectory makes sure that one population at a time uses dir.
func lockDirectory(dir string) (unlock func() error, err error) {
	unlock, err = durable.Lock(dir, "lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return nil, fmt.Errorf("pbt: %s is in use by another population; end it or choose another directory: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("pbt: lock: %w", err)
	}
	return unlock, nil
}
