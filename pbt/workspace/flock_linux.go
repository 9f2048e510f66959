package workspace

import (
	"os"
	"strings"
	"syscall"
)

// lockDomain names what shares advisory locks for certain: the running kernel, containers and all.
func lockDomain() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// lockFile takes the lock on an open file, which ends with the process, however that ends. It reports whether it could.
func lockFile(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// unlocked reports whether nobody holds the lock on an open file.
func unlocked(file *os.File) bool {
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return false
	}
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // closing the file does it, too
	return true
}
