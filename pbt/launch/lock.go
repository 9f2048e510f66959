package launch

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/internal/durable"
)

// lockFolder makes sure that one launcher at a time works in dir.
func lockFolder(dir string) (unlock func() error, err error) {
	unlock, err = durable.Lock(dir, "launcher.lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return func() error { return nil }, fmt.Errorf("launch: another launcher runs the population in %s; end it or choose another pbt.workspace: %w", dir, err)
	case err != nil:
		return func() error { return nil }, fmt.Errorf("launch: %w", err)
	}
	return unlock, nil
}
