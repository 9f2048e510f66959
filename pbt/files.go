package pbt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeFile replaces a file as a whole: written aside, synced, renamed, its directory synced.
func writeFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if _, err = file.Write(data); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err = errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err = syncDirectory(dir); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

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

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
