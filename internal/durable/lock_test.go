//go:build unix

package durable

import (
	"bytes"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	release := must.Get(Lock(dir, "lock"))(t)
	_, err := Lock(dir, "lock")
	must.Not(t, !errors.Is(err, ErrInUse), "a second time gave %v", err)
	must.Do(t, must.Get(Lock(dir, "other"))(t)())
	must.Do(t, release())
	must.Do(t, must.Get(Lock(dir, "lock"))(t)())
}

// A file system without locks is warned of; any other failure is an error, and no lock.
func TestLockFails(t *testing.T) {
	defer func(f func(int, int) error, l *slog.Logger) { flock = f; slog.SetDefault(l) }(flock, slog.Default())
	for number, works := range map[syscall.Errno]bool{syscall.ENOLCK: true, syscall.ENOSYS: true, syscall.EIO: false} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		calls := 0
		flock = func(int, int) error {
			if calls++; calls == 1 {
				return syscall.EINTR
			}
			return number
		}
		release, err := Lock(t.TempDir(), "lock")
		must.Is(t, calls, 2, "calls, the second after EINTR")
		if works {
			must.Do(t, errors.Join(err, release()))
			must.Not(t, !strings.Contains(log.String(), "has no locks"), "%v: the log has %q", number, log.String())
		} else {
			must.Not(t, !errors.Is(err, number) || errors.Is(err, ErrInUse), "%v: %v", number, err)
		}
	}
}

// What is started while a lock is held does not keep it beyond its release, even before its program begins.
func TestLockBesideStarts(t *testing.T) {
	dir := t.TempDir()
	var ended atomic.Bool
	var starts sync.WaitGroup
	for range 4 {
		starts.Go(func() {
			for !ended.Load() {
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer starts.Wait()
	defer ended.Store(true)
	for range 3000 {
		must.Do(t, must.Get(Lock(dir, "lock"))(t)())
	}
}
