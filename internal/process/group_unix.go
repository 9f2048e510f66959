//go:build unix && !linux

package process

import "syscall"

// ownGroup puts a child into a process group of its own, out of reach of the terminal's Ctrl-C.
//
// No death signal is asked for here. Programs outlive a launcher that SIGKILL ended; the leases of members keep those
// of the next launcher from training the same members until they have ended.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
