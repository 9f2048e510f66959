//go:build !unix

package launch

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }

// terminate ends the process: this system has no signal to ask it.
func (p *process) terminate() { p.kill() }

// kill ends the process at once.
func (p *process) kill() { _ = p.command.Process.Kill() }
