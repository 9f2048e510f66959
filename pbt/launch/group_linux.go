package launch

import "syscall"

// ownGroup puts a child into a process group of its own, out of reach of the terminal's Ctrl-C, and has the system
// kill it when the thread that started it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
