//go:build unix

package durable

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir, "lock"); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time gave %v", err)
	}
	if other, err := Lock(dir, "other"); err != nil || other() != nil {
		t.Errorf("another name gave %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	if _, err := Lock(filepath.Join(dir, "none"), "lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there gave %v", err)
	}
}

// What is started while a lock is held does not keep it beyond its release, even before its program begins.
func TestLockBesideStarts(t *testing.T) {
	dir := t.TempDir()
	ended, done := make(chan struct{}), make(chan error)
	for range 4 {
		go func() {
			for {
				select {
				case <-ended:
					done <- nil
					return
				default:
				}
				if err := exec.Command("true").Run(); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for i := range 3000 {
		release, err := Lock(dir, "lock")
		if err != nil {
			t.Errorf("lock %d: %v", i, err)
			break
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	close(ended)
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
