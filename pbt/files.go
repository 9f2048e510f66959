package pbt

import (
	"errors"
	"fmt"
	"os"
)

// appendFile adds data to a file's end and syncs it.
func appendFile(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
