package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process is watched through a seccomp filter: the kernel stops its threads at each of the calls below and asks the
// parent, which lets the call through, makes it fail, or kills the process. LD_PRELOAD would miss Go's own calls.

// watched are the calls that the filter stops at: those that change files.
var watched = []uint32{
	unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE,
	unix.SYS_OPENAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT,
	unix.SYS_FLOCK, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE,
}

// mode is what happens at a call.
type mode string

const (
	record     mode = "record" // nothing: all calls are noted, with what they write
	failOnce   mode = "EIO"
	failFrom   mode = "ENOSPC"
	killAt     mode = "kill"
	noListener      = 97 // exit status of a child that could not install its filter
)

// call is a system call on a file below the root.
type call struct {
	op     string
	a, b   string // paths; b of rename and link
	flags  int64  // of open; the length of truncate
	pos    int64  // of write; -1 at the end of the file
	data   []byte // of write, when recording
	folder bool   // of unlink: it removes a folder
}

// watch runs a command and injects a fault at the n-th call, from 1, on a file below root. It returns the calls.
func watch(command *exec.Cmd, root string, m mode, n int) (calls []call, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "parent"), os.NewFile(uintptr(pair[1]), "child")
	defer ours.Close()
	command.Env = append(command.Env, childVariable+"=filter")
	command.ExtraFiles = []*os.File{theirs} // descriptor 3
	if err := command.Start(); err != nil {
		theirs.Close()
		return nil, err
	}
	theirs.Close()
	listener, err := receive(pair[0])
	if err != nil {
		return nil, errors.Join(command.Wait(), err)
	}
	defer unix.Close(listener)
	w := watcher{listener: listener, root: filepath.Clean(root), mode: m, n: n, pid: command.Process.Pid}
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); errors.Is(err, syscall.EINTR) {
			continue
		} else if err != nil {
			return nil, errors.Join(err, command.Process.Kill(), command.Wait())
		}
		if ready[0].Revents&unix.POLLIN == 0 { // all threads have ended
			break
		}
		if err := w.answer(); err != nil {
			return nil, errors.Join(err, command.Process.Kill(), command.Wait())
		}
	}
	return w.calls, command.Wait()
}

// receive returns the descriptor that the child has sent.
func receive(socket int) (int, error) {
	data, control := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, k, _, _, err := unix.Recvmsg(socket, data, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:k])
	if err != nil || len(messages) == 0 {
		return 0, errors.Join(err, errNoFilter)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// errNoFilter says that this system does not let a process filter its system calls.
var errNoFilter = errors.New("the child could not install a seccomp filter")

// filterAndExec installs the filter, sends its listener to the parent, and becomes the program. It does not return.
func filterAndExec() {
	runtime.LockOSThread()
	os.Unsetenv(childVariable)
	n := len(watched)
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for i, number := range watched {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(n - i),
			K: number})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	environment := append(os.Environ(), childVariable+"=gorl")
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		os.Exit(noListener)
	}
	// Once it is asked about a call, the parent answers, whatever signals arrive meanwhile: no call is counted twice.
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		os.Exit(noListener)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		os.Exit(noListener)
	}
	_ = syscall.Close(3)
	_ = syscall.Exec("/proc/self/exe", os.Args, environment)
	os.Exit(noListener)
}

// question is the kernel's struct seccomp_notif, and reply its struct seccomp_notif_resp.
type question struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// watcher answers the kernel's questions about one process.
type watcher struct {
	listener int
	root     string
	mode     mode
	n, pid   int
	calls    []call
}

// answer answers one question.
func (w *watcher) answer() error {
	var q question
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
		uintptr(unsafe.Pointer(&q))); errno != 0 {
		if errno == unix.ENOENT || errno == unix.EINTR { // the thread has ended
			return nil
		}
		return errno
	}
	r := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	c, changes, err := w.decode(&q)
	if err != nil {
		return err
	}
	if changes && (c.a == w.root || strings.HasPrefix(c.a, w.root+"/")) {
		w.calls = append(w.calls, c)
		switch i := len(w.calls); {
		case w.mode == killAt && i == w.n:
			return syscall.Kill(w.pid, syscall.SIGKILL) // the call waits for an answer, and is never made
		case w.mode == failOnce && i == w.n:
			r.flags, r.errno = 0, -int32(unix.EIO)
		case w.mode == failFrom && i >= w.n:
			r.flags, r.errno = 0, -int32(unix.ENOSPC)
		}
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
		uintptr(unsafe.Pointer(&r)))
	if errno != 0 && errno != unix.ENOENT && errno != unix.EINTR {
		return errno
	}
	return nil
}

// decode returns the call that a thread is about to make, and whether it can change a file.
func (w *watcher) decode(q *question) (c call, changes bool, err error) {
	a, pid := q.args, int(q.pid)
	file := func(i int) string { return link(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(a[i]))) }
	name := func(folder, path int) string {
		var text string
		if text, err = readString(pid, a[path]); err != nil || filepath.IsAbs(text) {
			return filepath.Clean(text)
		}
		if int32(a[folder]) == unix.AT_FDCWD {
			return filepath.Join(link(fmt.Sprintf("/proc/%d/cwd", pid)), text)
		}
		return filepath.Join(file(folder), text)
	}
	switch q.number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE:
		c = call{op: "write", a: file(0)}
		switch {
		case w.mode != record || !strings.HasPrefix(c.a, w.root+"/"):
		case q.number != unix.SYS_WRITE && q.number != unix.SYS_PWRITE64:
			return c, true, fmt.Errorf("%s was written by system call %d, which cannot be recorded", c.a, q.number)
		default:
			c.data = make([]byte, a[2])
			if err := readMemory(pid, a[1], c.data); err != nil {
				return c, true, err
			}
			if c.pos = int64(a[3]); q.number == unix.SYS_WRITE {
				c.pos, err = position(pid, int(a[0]))
			}
		}
		return c, true, err
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return call{op: "fsync", a: file(0)}, true, nil
	case unix.SYS_FTRUNCATE:
		return call{op: "truncate", a: file(0), flags: int64(a[1])}, true, nil
	case unix.SYS_FLOCK:
		return call{op: "lock", a: file(0)}, a[1]&(unix.LOCK_EX|unix.LOCK_SH) != 0, nil
	case unix.SYS_OPENAT:
		c = call{op: "open", a: name(0, 1), flags: int64(a[2])}
		return c, a[2]&(unix.O_CREAT|unix.O_TRUNC) != 0, err
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return call{op: "rename", a: name(0, 1), b: name(2, 3)}, true, err
	case unix.SYS_LINKAT:
		return call{op: "link", a: name(0, 1), b: name(2, 3)}, true, err
	case unix.SYS_UNLINKAT:
		return call{op: "unlink", a: name(0, 1), folder: a[2]&unix.AT_REMOVEDIR != 0}, true, err
	case unix.SYS_MKDIRAT:
		return call{op: "mkdir", a: name(0, 1)}, true, err
	}
	return c, false, nil
}

// position returns where the next write to a descriptor goes: -1 if it appends.
func position(pid, fd int) (pos int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err != nil {
		return 0, err
	}
	var flags int64
	if _, err := fmt.Sscanf(string(text), "pos:\t%d\nflags:\t%o", &pos, &flags); err != nil {
		return 0, fmt.Errorf("fdinfo %q: %w", text, err)
	}
	if flags&unix.O_APPEND != 0 {
		return -1, nil
	}
	return pos, nil
}

// link returns where a symbolic link leads, "" if it is gone.
func link(path string) string {
	to, _ := os.Readlink(path)
	return to
}

// readString reads a C string from a thread's memory.
func readString(pid int, at uint64) (string, error) {
	var text []byte
	for page := uint64(os.Getpagesize()); len(text) < unix.PathMax; {
		part := make([]byte, page-at%page) // up to the page's end: the next one may not be there
		if err := readMemory(pid, at, part); err != nil {
			return "", err
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(text, part[:end]...)), nil
		}
		text, at = append(text, part...), at+uint64(len(part))
	}
	return "", fmt.Errorf("a path of more than %d bytes", unix.PathMax)
}

// readMemory fills data from a thread's memory.
func readMemory(pid int, at uint64, data []byte) error {
	for len(data) > 0 {
		local := []unix.Iovec{{Base: &data[0]}}
		local[0].SetLen(len(data))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(data)}}, 0)
		if err != nil {
			return fmt.Errorf("reading the memory of process %d: %w", pid, err)
		}
		data, at = data[n:], at+uint64(n)
	}
	return nil
}

// limit is how long one process may take. A training of the tests takes less than a second.
const limit = 2 * time.Minute
