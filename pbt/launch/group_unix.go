//go:build unix && !linux

package launch

import "syscall"

// ownGroup puts a child into a process group of its own, out of reach of the terminal's Ctrl-C.
//
// No death signal is asked for here. Members outlive a launcher that SIGKILL ended, and their leases keep those of
// the next launcher from training the same members until they have ended.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
