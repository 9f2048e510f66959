//go:build unix

package process

import "syscall"

// Terminate asks the process group to end. The error of a group that has ended already is ignored.
func (p *Process) Terminate() { _ = syscall.Kill(-p.PID(), syscall.SIGTERM) }

// Kill ends the process group at once.
func (p *Process) Kill() { _ = syscall.Kill(-p.PID(), syscall.SIGKILL) }
