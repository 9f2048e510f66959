//go:build unix

package folderlock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTake(t *testing.T) {
	dir := t.TempDir()
	release, err := Take(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(dir, "lock"); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time gave %v", err)
	}
	if other, err := Take(dir, "other"); err != nil || other() != nil {
		t.Errorf("another name gave %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	if _, err := Take(filepath.Join(dir, "none"), "lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there gave %v", err)
	}
}
