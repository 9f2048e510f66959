//go:build unix && !linux

package launch

import "syscall"

// ownGroup puts a child into a process group of its own, out of reach of the terminal's Ctrl-C.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
