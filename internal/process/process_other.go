//go:build !unix

package process

// This file stands in for process_unix.go and the group files where there are no process groups and signals: processes
// are ended without being asked to save, so that they continue from their last checkpoint.

import "syscall"

// ownGroup is nothing special: the child begins like any other.
func ownGroup() *syscall.SysProcAttr { return nil }

// Confine does nothing: there are no such limits here.
func Confine(uint64) error { return nil }

// Terminate ends the process: this system has no signal to ask it.
func (p *Process) Terminate() { p.Kill() }

// Kill ends the process at once.
func (p *Process) Kill() { _ = p.command.Process.Kill() }
