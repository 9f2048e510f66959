package workspace

// This file uses advisory locks to notice at once that a process on this machine has died. Between machines such
// locks cannot be relied on, and the age of a lease decides instead; see lease.go.

import (
	"os"
	"strings"
	"syscall"
)

// lockDomain names the machine: the running kernel, by an identifier that is drawn at every start of it. All its
// processes see each other's advisory locks, those in containers too, and a restart ends all locks.
func lockDomain() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// lockFile takes the lock on an open file. The kernel frees it when the process ends, also by a crash or SIGKILL. It
// reports whether it could; some network file systems know no locks.
func lockFile(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// unlocked reports whether no process holds the lock on an open file. It asks for a shared lock, so that two processes
// which ask at the same moment do not take each other for the owner.
func unlocked(file *os.File) bool {
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return false
	}
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // closing the file does it, too
	return true
}
