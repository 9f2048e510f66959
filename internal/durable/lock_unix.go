//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Lock takes the lock that the named file in a folder stands for; the file is made, and stays. It ends with the
// process, however that ends, or by release.
//
// Some file systems have no locks, such as Lustre without its option flock and NFS without its lock service. On these
// Lock logs a warning by slog and succeeds: clusters use them, and the lock only guards against starting a run twice.
func Lock(dir, name string) (release func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch {
	case err == nil:
	case errors.Is(err, syscall.EWOULDBLOCK):
		file.Close()
		return nil, fmt.Errorf("%s is %w", file.Name(), ErrInUse)
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOTSUP),
		errors.Is(err, syscall.ENOSYS):
		slog.Warn(fmt.Sprintf("the file system of %s has no locks: nothing keeps a second process from working in the "+
			"folder at the same time; start none, or choose a folder on a local disk", dir), "flock", err)
		return file.Close, nil
	default:
		file.Close()
		return nil, fmt.Errorf("locking %s failed, so a second process could work in the folder at the same time; "+
			"check the file system, or choose another folder: %w", file.Name(), err)
	}
	return func() error {
		// Not left to Close: a process that is being started at this moment has the file, too, until its program
		// begins.
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		return file.Close()
	}, nil
}

// Locks looks at the locks that processes of this machine hold, without taking one. held reports whether the file is
// among them; it never does on systems without /proc/locks, and for locks of other machines.
func Locks() (held func(fs.FileInfo) bool) {
	text, _ := os.ReadFile("/proc/locks")
	inodes := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
		if fields := strings.Fields(line); len(fields) > 5 && fields[1] == "FLOCK" {
			inodes[fields[5][strings.LastIndexByte(fields[5], ':')+1:]] = true
		}
	}
	return func(info fs.FileInfo) bool {
		stat, ok := info.Sys().(*syscall.Stat_t)
		return ok && inodes[fmt.Sprint(stat.Ino)]
	}
}

// flock is the system call; tests replace it.
var flock = syscall.Flock
