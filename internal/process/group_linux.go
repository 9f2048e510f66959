package process

import "syscall"

// ownGroup puts a child into a process group of its own, out of reach of the terminal's Ctrl-C, and has the system
// kill it when the thread that started it ends.
//
// The group lets the launcher signal a program together with what it started, by the negative process number. The
// death signal reaches the program alone: Linux does not pass it on to the children of a child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
