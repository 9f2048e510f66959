//go:build unix

package launch

import "syscall"

// terminate asks the process group to end.
func (p *process) terminate() { syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM) }

// kill ends the process group at once.
func (p *process) kill() { syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
