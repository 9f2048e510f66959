package launch

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/filelock"
)

// lockFolder makes sure that one launcher at a time works in dir. The lock ends with the process, however that ends.
func lockFolder(dir string) (unlock func() error, err error) {
	unlock, err = filelock.Exclusive(filepath.Join(dir, "launcher.lock"))
	if errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("launch: another launcher runs the population in %s; end it or choose another pbt.workspace: %w", dir, err)
	} else if err != nil {
		err = fmt.Errorf("launch: %w", err)
	}
	if err != nil {
		return func() error { return nil }, err
	}
	return unlock, nil
}
