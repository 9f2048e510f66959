package filelock

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Exclusive(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if _, err := Exclusive(path); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), path) {
			t.Errorf("a second lock: %v", err)
		}
		if _, err := Exclusive(filepath.Join(path, "below")); err == nil || errors.Is(err, ErrHeld) {
			t.Errorf("a lock below a file: %v", err)
		}
		if _, err := Exclusive(filepath.Join(filepath.Dir(path), "absent", "lock")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a lock in no folder: %v", err)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = Exclusive(path); err != nil {
		t.Fatal("a lock that was released:", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
