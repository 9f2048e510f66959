package gymnasium

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// futexNumber is the number of the system call futex. The children need it, see layout.
const futexNumber = syscall.SYS_FUTEX

// futexWait sleeps while *word is value, for at most d. It may return early, so the caller looks at the word again.
func futexWait(word *uint32, value uint32, d time.Duration) {
	timeout := syscall.NsecToTimespec(int64(d))
	const wait = 0
	// Any return, of an error too, has the caller look at the word again.
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wait, uintptr(value),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
}

// futexWake wakes all that sleep on word, in other processes too. The futex must be a shared one (no
// FUTEX_PRIVATE_FLAG) for that.
func futexWake(word *uint32) {
	const wake, all = 1, 1<<31 - 1
	_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wake, all, 0, 0, 0)
}

// anonymousFile returns an empty file in memory without a name. Nothing of it stays when the processes that have it
// are gone.
func anonymousFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("gorl-gymnasium", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "memory"), nil
}

// mapFile sets the size of a file in bytes and maps all of it for reading and writing. Where the system allows it,
// the size is then sealed: a child that shrank the file would make this process die of SIGBUS.
func mapFile(f *os.File, size int) ([]byte, error) {
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	_, _ = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// unmap gives memory back that mapFile mapped. Slices of it must not be used afterwards.
func unmap(memory []byte) error { return syscall.Munmap(memory) }

// killMarked kills the processes that have mark ("NAME=value") in their environment. What a child started may have
// left its process group, so Process.Kill does not reach it. Processes started meanwhile are found in a next round.
// There are at most 20 rounds, because a process that the system does not end yet is found again.
func killMarked(mark string) {
	wanted := []byte("\x00" + mark + "\x00")
	for found, rounds := true, 0; found && rounds < 20; rounds++ {
		found = false
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			b, err := os.ReadFile(path) // of this user's processes alone
			if err != nil || !bytes.Contains(append([]byte{0}, b...), wanted) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
}

// processState returns Linux's letter for the state of a process, 0 if there is no such process. 'T' is stopped, 't'
// stopped by a debugger. 'Z' has ended, and its parent has not asked how.
func processState(pid int) byte {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	// The letter follows the name in parentheses, and the name may itself contain parentheses and spaces.
	at := bytes.LastIndexByte(b, ')') + len(") ")
	if err != nil || at >= len(b) {
		return 0
	}
	return b[at]
}

// stopped reports whether a process has been stopped by a signal.
func stopped(pid int) bool {
	state := processState(pid)
	return state == 'T' || state == 't'
}

// alive reports whether process pid is running. A process that has ended is not alive, even if its parent has not
// asked how it ended.
func alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && processState(pid) != 'Z'
}
