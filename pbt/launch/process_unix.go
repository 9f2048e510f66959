//go:build unix

package launch

import "syscall"

// terminate asks the process group to end. A group that has ended cannot be asked, which is as well.
func (p *process) terminate() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM) }

// kill ends the process group at once.
func (p *process) kill() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
