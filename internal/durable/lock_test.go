//go:build unix

package durable

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir, "lock")
	must.Do(t, err)
	if _, err := Lock(dir, "lock"); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time gave %v", err)
	}
	if other, err := Lock(dir, "other"); err != nil || other() != nil {
		t.Errorf("another name gave %v", err)
	}
	must.Do(t, release())
	again, err := Lock(dir, "lock")
	must.Do(t, err)
	must.Do(t, again())
	if _, err := Lock(filepath.Join(dir, "none"), "lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there gave %v", err)
	}
}

// A file system without locks is warned of; any other failure is an error, and no lock.
func TestLockFails(t *testing.T) {
	defer func(f func(int, int) error, l *slog.Logger) { flock = f; slog.SetDefault(l) }(flock, slog.Default())
	for number, works := range map[syscall.Errno]bool{syscall.ENOLCK: true, syscall.EOPNOTSUPP: true,
		syscall.ENOSYS: true,
		syscall.EIO:    false, syscall.EPERM: false, syscall.EBADF: false} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		calls := 0
		flock = func(int, int) error {
			if calls++; calls == 1 {
				return syscall.EINTR
			}
			return number
		}
		dir := t.TempDir()
		release, err := Lock(dir, "lock")
		switch {
		case calls != 2:
			t.Errorf("%v: %d calls, want another after EINTR", number, calls)
		case works && (err != nil || !strings.Contains(log.String(), "has no locks") ||
			!strings.Contains(log.String(), dir)):
			t.Errorf("%v: %v, and the log has %q", number, err, log.String())
		case works:
			must.Do(t, release())
		case !errors.Is(err, number) || release != nil || errors.Is(err, ErrInUse) ||
			!strings.Contains(err.Error(), "choose another folder"):
			t.Errorf("%v: %v", number, err)
		}
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
		must.Do(t, <-done)
	}
}
